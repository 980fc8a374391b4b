// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/DeviceAccelerator.h>
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/version.h>

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

/// Everything that differs between the LibTorch releases that torchamp supports stands here, so
/// that no other header needs to know which one it is compiled with.
namespace torchamp {
inline namespace v0 {
namespace detail {

/// "2.11.0": the LibTorch that this is compiled with.
inline constexpr const char* libtorch_version = TORCH_VERSION;

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

/// `device` itself, or the current device of its type if it names none.   Host sync: none.
inline c10::Device device_with_index(c10::Device device) {
  if (device.is_cpu() || device.has_index()) return device;
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

/// Waits until `device` has done all work queued so far.
/// Host sync: that is its purpose; nothing on a CPU. Before LibTorch 2.7: the current stream only.
inline void synchronize(c10::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 7
  guard.synchronizeDevice(device_with_index(device).index());
#else
  guard.synchronizeStream(guard.getStream(device_with_index(device)));
#endif
}

/// What the caching allocator of an accelerator holds now, in bytes.
struct AllocatorBytes {
  int64_t allocated;
  int64_t reserved;
};

/// Host sync: none. Empty on a CPU, before the device is first used, where its allocator keeps no
/// such numbers, and before LibTorch 2.9, which has no device-generic question.
inline std::optional<AllocatorBytes> allocator_bytes([[maybe_unused]] c10::Device device) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 9
  if (device.is_cpu()) return std::nullopt;
  try {
    auto* const allocator = c10::getDeviceAllocator(device.type());  // throws if there is none
    if (!allocator->initialized()) return std::nullopt;  // would throw: "did you call init?"
    const auto stats = allocator->getDeviceStats(device_with_index(device).index());
    constexpr auto aggregate = 0;  // StatType::AGGREGATE, whose namespace moved between releases
    return AllocatorBytes{stats.allocated_bytes[aggregate].current,
                          stats.reserved_bytes[aggregate].current};
  } catch (const c10::Error&) {  // such as "not implemented"
  }
#endif
  return std::nullopt;
}

inline constexpr std::string_view operator_observers_name = "torchamp::OperatorObservers";

/// The place of torchamp's observers in a thread's debug info. A `Kind` is a number in LibTorch's
/// older releases, of which LibTorch itself uses the first few, and a name in the newer ones.
template <class Kind = c10::DebugInfoKind>
inline Kind operator_observers_kind() {
  if constexpr (std::is_enum_v<Kind>) {
    return static_cast<Kind>(164);
  } else {
    return Kind(&operator_observers_name);
  }
}

/// Whether a profiler of all threads runs. `State` is torch::profiler::impl::ProfilerStateBase,
/// which most headers do not need.   Host sync: none.
template <class State, class = void>
struct GlobalProfiler {
  static bool is_running() { return State::get(/*global=*/true) != nullptr; }
};
template <class State>
struct GlobalProfiler<State, std::void_t<decltype(State::getGlobal())>> {
  static bool is_running() { return State::getGlobal() != nullptr; }
};

/// An accelerator's memory in bytes.
struct DeviceMemory {
  int64_t free;
  int64_t total;
};

/// Host sync: none. Empty on a CPU, and before LibTorch 2.10, which has no device-generic question.
inline std::optional<DeviceMemory> device_memory([[maybe_unused]] c10::Device device) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 10
  if (!device.is_cpu()) {
    const auto [free, total] = at::accelerator::getMemoryInfo(device.index());
    return DeviceMemory{static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }
#endif
  return std::nullopt;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
