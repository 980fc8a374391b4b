// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/device.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/TracerMode.h>
#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <torch/arg.h>

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
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
  /// Whether a parameter is cast once a region, however often it is used; unset: yes, in a nested
  /// region as in the outer one. Before LibTorch 2.11 unset means no: Note [Casts without history].
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
/// an exception passes. The state belongs to the thread: a new std::thread starts without autocast,
/// and `AutocastState` (core/autocast_state.h) takes it there.
/// Semantics: torch.autocast, apart from the differences listed in docs/differences.md.
///
/// Caveats
/// - A weight that is changed in a region is seen by the next region, or after
///   `AutocastGuard::drop_casts()`; `GradScaler::step()` sees to that itself.
/// - The casts of a region are shared by all threads. Regions of different dtypes that run on the
///   same weights at the same time need `cache_enabled(false)`.
/// - Tracing: open the region inside the traced function, or with `cache_enabled(false)`; a cast
///   made before is no part of the trace. Scripted modules: core/scripted_module.h.
class AutocastGuard {
 public:
  /// Host sync: none.   Threads: leaves on the thread that entered.
  /// Throws: [E01] for a device without autocast, [E02] for a dtype that is not half precision;
  /// both name what there is.
  [[nodiscard]] explicit AutocastGuard(c10::DeviceType device, const AutocastOptions& options = {});
  [[nodiscard]] explicit AutocastGuard(c10::Device device, const AutocastOptions& options = {})
      : AutocastGuard(device.type(), options) {}

  /// `AutocastGuard(device);` would declare a variable called `device`; this says so.
  template <class Never = void>
  AutocastGuard() {
    static_assert(!std::is_void_v<Never>,
                  "torchamp: AutocastGuard(device); declares a variable called device; write"
                  " AutocastGuard autocast(device);");
  }

  ~AutocastGuard() noexcept;

  // A region is a scope of one thread; a copy or a moved-from one would restore twice.
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;
  AutocastGuard(AutocastGuard&&) = delete;
  AutocastGuard& operator=(AutocastGuard&&) = delete;
  static void* operator new(std::size_t) = delete;

  /// Forgets the casts made so far, so that weights changed in a region are seen in it from now on.
  /// Harmless at any time: a graph that is being built keeps what it needs.   Host sync: none.
  static void drop_casts() { at::autocast::clear_cache(); }

 private:
  static void check(c10::DeviceType device, const AutocastOptions& options);

  c10::DeviceType device_;
  bool outer_enabled_;
  at::ScalarType outer_dtype_;
  bool outer_cache_enabled_ = true;
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
  static_assert(std::is_invocable_v<Function>,
                "torchamp: autocast() takes a function: autocast(device, [&] { return ...; })");
  const AutocastGuard region(device, options);
  return std::forward<Function>(function)();
}
template <class Function>
decltype(auto) autocast(c10::Device device, Function&& function) {
  return autocast(device, AutocastOptions(), std::forward<Function>(function));
}

namespace detail {

// Note [Casts without history]
// Before LibTorch 2.11 the cache also kept casts that were made while gradients were off, and
// handed them, without their history, to later forward passes of the same region, whose weights
// then got no gradients. Gradients are off more often than one sees: inside every
// torch::autograd::Function, for one. Nobody is told when they are switched, so there is no moment
// to forget such casts at. A callback on every operator could keep them out; measured on 2.4.1, it
// costs 0.3 us for each, a third of a small operator's time, in every region. To do without the
// cache costs nothing where each weight is used once a region, and 2 % of the time of a recurrent
// net unrolled over 16 steps. So there the cache is off, unless it is asked for by somebody who
// keeps gradients on.

/// Enters a region on this thread: counts it, and sets the cache flag. Returns the outer flag.
inline bool enter_autocast(std::optional<bool> cache_enabled) {
  const bool outer = at::autocast::is_autocast_cache_enabled();
  const bool outermost = at::autocast::increment_nesting() == 1;
  // What code without a guard left behind may be older than the weights.
  if (outermost) at::autocast::clear_cache();
  // A cast made before the trace began is not in the trace; the weight would become a constant.
  const bool tracing = at::tracer::impl::is_dispatch_enabled();
  const bool by_default = outer && !(outermost && autocast_cache_loses_history);
  at::autocast::set_autocast_cache_enabled(cache_enabled.value_or(by_default) && !tracing);
  return outer;
}

/// Leaves it; the last one out forgets all casts.
inline void leave_autocast() noexcept {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

// Note [A cast belongs to one dtype]
// The cache maps a parameter to its cast and does not say to which dtype. A nested region of
// another dtype on the same weights would be handed the outer one's casts, and operators then
// refuse the mixture. So every change of the dtype drops the casts.
inline void set_autocast_dtype(c10::DeviceType device, at::ScalarType dtype) {
  if (dtype == at::autocast::get_autocast_dtype(device)) return;
  at::autocast::set_autocast_dtype(device, dtype);
  at::autocast::clear_cache();
}

/// True if operators on `device` are being autocast now; false also where there is no autocast.
inline bool is_autocasting(c10::DeviceType device) {
  return at::autocast::is_autocast_available(device) && at::autocast::is_autocast_enabled(device);
}

/// All devices that at::autocast accepts, in words: "cpu, cuda, ...".
inline std::string autocast_device_names() {
  std::string names;
  for (int i = 0; i < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++i) {
    const auto type = static_cast<c10::DeviceType>(i);
    if (!at::autocast::is_autocast_available(type)) continue;
    if (!names.empty()) names += ", ";
    names += c10::DeviceTypeName(type, /*lower_case=*/true);
  }
  return names;
}

}  // namespace detail

inline AutocastGuard::AutocastGuard(c10::DeviceType device, const AutocastOptions& options)
    : device_((check(device, options), device)),
      outer_enabled_(at::autocast::is_autocast_enabled(device)),
      outer_dtype_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device_, options.enabled());
  detail::set_autocast_dtype(device_, options.dtype().value_or(outer_dtype_));
  outer_cache_enabled_ = detail::enter_autocast(options.cache_enabled());
}

inline AutocastGuard::~AutocastGuard() noexcept {
  detail::leave_autocast();
  at::autocast::set_autocast_enabled(device_, outer_enabled_);
  detail::set_autocast_dtype(device_, outer_dtype_);
  at::autocast::set_autocast_cache_enabled(outer_cache_enabled_);
}

inline void AutocastGuard::check(c10::DeviceType device, const AutocastOptions& options) {
  TORCHAMP_CHECK(
      E01, at::autocast::is_autocast_available(device),
      "AutocastGuard: ", c10::DeviceTypeName(device, /*lower_case=*/true),
      " has no autocast in this LibTorch; these have: ", detail::autocast_device_names());
  if (!options.enabled()) return;
  if (!detail::has_device(device)) {
    TORCH_WARN_ONCE("torchamp: AutocastGuard: there is no ",
                    c10::DeviceTypeName(device, /*lower_case=*/true),
                    " device that this program can use, so the region casts nothing; name the"
                    " device that the model is on");
  }
  if (!options.dtype()) return;
  const auto dtype = *options.dtype();
  TORCHAMP_CHECK(E02, dtype == at::kHalf || dtype == at::kBFloat16, "AutocastGuard: dtype is ",
                 dtype,
                 "; use Half or BFloat16 (torch::kHalf, torch::kBFloat16), or"
                 " AutocastOptions().enabled(false) to run in full precision");
}

}  // namespace v0
}  // namespace torchamp
