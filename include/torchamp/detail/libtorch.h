// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/DeviceAccelerator.h>
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <cstdint>
#include <optional>

/// Everything that differs between the LibTorch releases that torchamp supports stands here, so
/// that no other header needs to know which one it is compiled with.
namespace torchamp {
inline namespace v0 {
namespace detail {

/// True if the LibTorch that this is compiled with is `major`.`minor` or newer.
constexpr bool libtorch_at_least(int major, int minor) {
  return TORCH_VERSION_MAJOR > major ||
         (TORCH_VERSION_MAJOR == major && TORCH_VERSION_MINOR >= minor);
}

static_assert(libtorch_at_least(2, 4), "torchamp needs LibTorch 2.4 or newer");

/// Before 2.11, autocast kept a cast that was made under no-grad and handed it, without its
/// gradient history, to a later forward pass in the same region.
inline constexpr bool autocast_cache_loses_history = !libtorch_at_least(2, 11);

/// True if this program can use a device of this type.   Host sync: none.
inline bool has_device(c10::DeviceType type) {
  if (type == c10::kCPU) return true;
  return c10::impl::hasDeviceGuardImpl(type) && c10::impl::VirtualGuardImpl(type).deviceCount() > 0;
}

/// The accelerator that this program can use now, if any.   Host sync: none.
inline std::optional<c10::DeviceType> usable_accelerator() {
  const auto type = at::getAccelerator(/*checked=*/false);
  // The answer above is about the build; whether a device is there, its guard knows.
  if (!type || !has_device(*type)) return std::nullopt;
  return *type;
}

/// False for devices that have no float64 at all.
inline bool has_float64(c10::Device device) { return !device.is_mps(); }

/// Waits until `device` has done all work queued so far.
/// Host sync: that is its purpose; nothing on a CPU. Before LibTorch 2.7: the current stream only.
inline void synchronize(c10::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  const auto index = device.has_index() ? device.index() : guard.getDevice().index();
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 7
  at::accelerator::synchronizeDevice(index);
#else
  guard.synchronizeStream(guard.getStream(c10::Device(device.type(), index)));
#endif
}

/// What the caching allocator of an accelerator holds now, in bytes.
struct AllocatorBytes {
  int64_t allocated;
  int64_t reserved;
};

/// Host sync: none. Empty on a CPU, and before LibTorch 2.9, which has no device-generic question.
inline std::optional<AllocatorBytes> allocator_bytes([[maybe_unused]] c10::Device device) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
  if (!device.is_cpu()) {
    const c10::impl::VirtualGuardImpl guard(device.type());
    const auto index = device.has_index() ? device.index() : guard.getDevice().index();
    const auto stats = at::accelerator::getDeviceStats(index);
    constexpr auto aggregate = 0;  // StatType::AGGREGATE, whose namespace moved between releases
    return AllocatorBytes{stats.allocated_bytes[aggregate].current,
                          stats.reserved_bytes[aggregate].current};
  }
#endif
  return std::nullopt;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
