// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/device.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>
#include <torch/arg.h>

#include <optional>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// Options of an autocast region. Where only the dtype matters, the dtype alone will do.
struct AutocastOptions {
  AutocastOptions() = default;
  /* implicit */ AutocastOptions(at::ScalarType dtype) : dtype_(dtype) {}

  /// float16 or bfloat16; unset: `default_dtype(device)`, in a nested region the outer one's.
  TORCH_ARG(std::optional<at::ScalarType>, dtype);
  /// False makes a region in which nothing is cast.
  TORCH_ARG(bool, enabled) = true;
  /// Whether a parameter is cast once a region; unset: as the surrounding code has it.
  TORCH_ARG(std::optional<bool>, cache_enabled);
};

/// Runs the operators of a scope in mixed precision: `torch.autocast` for C++.
///
///     {
///       torchamp::AutocastGuard autocast(device);
///       loss = F::cross_entropy(model->forward(data), target);
///     }
///     loss.backward();  // outside: backward runs in the dtypes that forward chose
///
/// Regions nest, in any dtype and also disabled; each restores on leaving what it found, also when
/// an exception passes. The state belongs to the thread: a new std::thread starts without autocast.
/// Semantics: torch.autocast, apart from the differences listed in docs/differences.md.
class AutocastGuard {
 public:
  /// Host sync: none.   Threads: leaves on the thread that entered.
  /// Throws: [E01] for a device without autocast, [E02] for a dtype that is not half precision.
  [[nodiscard]] explicit AutocastGuard(c10::DeviceType device, const AutocastOptions& options = {});
  [[nodiscard]] explicit AutocastGuard(c10::Device device, const AutocastOptions& options = {})
      : AutocastGuard(device.type(), options) {}

  ~AutocastGuard() noexcept;

  // A region is a scope of one thread; a copy or a moved-from one would restore twice.
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;
  AutocastGuard(AutocastGuard&&) = delete;
  AutocastGuard& operator=(AutocastGuard&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  static void check(c10::DeviceType device, const AutocastOptions& options);
  void set_dtype(at::ScalarType dtype) const;

  c10::DeviceType device_;
  bool outer_enabled_;
  at::ScalarType outer_dtype_;
  bool outer_cache_enabled_;
};

/// Runs the operators of a scope in the dtypes of their inputs, inside an autocast region too: for
/// the few lines that need float32 throughout. Inputs that are already half stay so; convert them.
class FullPrecisionGuard {
 public:
  /// Host sync: none.   Throws: [E01] for a device without autocast.
  [[nodiscard]] explicit FullPrecisionGuard(c10::DeviceType device)
      : region_(device, AutocastOptions().enabled(false)) {}
  [[nodiscard]] explicit FullPrecisionGuard(c10::Device device)
      : FullPrecisionGuard(device.type()) {}

  static void* operator new(std::size_t) = delete;

 private:
  AutocastGuard region_;
};

/// Calls `function` in an autocast region and returns what it returns.
/// `auto output = torchamp::autocast(device, [&] { return model->forward(input); });`
/// Host sync: none.   Throws: as AutocastGuard does.
template <class Function>
decltype(auto) autocast(c10::Device device, const AutocastOptions& options, Function&& function) {
  const AutocastGuard region(device, options);
  return std::forward<Function>(function)();
}
template <class Function>
decltype(auto) autocast(c10::Device device, Function&& function) {
  return autocast(device, AutocastOptions(), std::forward<Function>(function));
}

inline AutocastGuard::AutocastGuard(c10::DeviceType device, const AutocastOptions& options)
    : device_((check(device, options), device)),
      outer_enabled_(at::autocast::is_autocast_enabled(device)),
      outer_dtype_(at::autocast::get_autocast_dtype(device)),
      outer_cache_enabled_(at::autocast::is_autocast_cache_enabled()) {
  // Casts that a no-grad region makes must not reach a later forward pass that needs gradients.
  const bool cache_is_safe = !detail::autocast_cache_loses_history || c10::GradMode::is_enabled();

  at::autocast::set_autocast_enabled(device_, options.enabled());
  set_dtype(options.dtype().value_or(outer_dtype_));
  at::autocast::increment_nesting();
  at::autocast::set_autocast_cache_enabled(options.cache_enabled().value_or(outer_cache_enabled_) &&
                                           cache_is_safe);
}

inline AutocastGuard::~AutocastGuard() noexcept {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, outer_enabled_);
  set_dtype(outer_dtype_);
  at::autocast::set_autocast_cache_enabled(outer_cache_enabled_);
}

// Note [A cast belongs to one dtype]
// The cache maps a parameter to its cast and does not say to which dtype. A nested region of
// another dtype on the same weights would be handed the outer one's casts, and operators then
// refuse the mixture. So every change of the dtype drops the casts.
inline void AutocastGuard::set_dtype(at::ScalarType dtype) const {
  if (dtype == at::autocast::get_autocast_dtype(device_)) return;
  at::autocast::set_autocast_dtype(device_, dtype);
  at::autocast::clear_cache();
}

inline void AutocastGuard::check(c10::DeviceType device, const AutocastOptions& options) {
  TORCHAMP_CHECK(E01, at::autocast::is_autocast_available(device),
                 "AutocastGuard: ", c10::DeviceTypeName(device, /*lower_case=*/true),
                 " has no autocast in this LibTorch; use cpu, cuda, xpu, mps or another device that"
                 " at::autocast::is_autocast_available() accepts");
  if (!options.enabled() || !options.dtype()) return;
  const auto dtype = *options.dtype();
  TORCHAMP_CHECK(E02, dtype == at::kHalf || dtype == at::kBFloat16, "AutocastGuard: dtype is ",
                 dtype,
                 "; use at::kHalf or at::kBFloat16, or enabled(false) to run in full"
                 " precision");
}

}  // namespace v0
}  // namespace torchamp
