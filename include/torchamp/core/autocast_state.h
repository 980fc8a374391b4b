// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/autocast.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/autocast_mode.h>
#include <c10/core/DeviceType.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace torchamp {
inline namespace v0 {

namespace detail {
template <class Function>
class InAutocastState;
}  // namespace detail

/// What autocast does on a thread: on or off and in which dtype, for each device, and whether casts
/// are cached. Other threads know nothing of it; capture it here and replay it there:
///
///     const auto state = torchamp::AutocastState::current();
///     std::thread worker(state.wrap([&] { output = model->forward(input); }));
///
/// A plain value: it copies, compares, and outlives the region that it was captured in. It holds
/// nothing but autocast: whether gradients are on belongs to each thread, as ever.
///
/// Caveat: the casts themselves are shared by all threads. A thread that enters or leaves its
/// outermost region drops them for all, which costs the others a new cast and nothing else: a graph
/// that is being built keeps its own. But the gradients of two casts are added up in float32, those
/// of one cast's two uses in half precision, so the last bit may depend on the threads' timing;
/// `cache_enabled(false)` in the region makes it reproducible.
class AutocastState {
 public:
  /// The state of this thread, here.   Host sync: none.
  static AutocastState current();

  /// Whether operators on `device` are autocast; false also for a device without autocast.
  bool enabled(c10::DeviceType device) const { return at(device).enabled; }
  /// To which dtype; Undefined for a device without autocast.
  at::ScalarType dtype(c10::DeviceType device) const { return at(device).dtype; }
  bool cache_enabled() const { return cache_enabled_; }

  /// The same with autocast off on every device.
  AutocastState disabled() const;

  /// A callable that runs `function` in this state, on whatever thread calls it. It takes the
  /// arguments of `function` and returns what it returns, references and move-only values too; it
  /// copies if `function` does. For std::thread, thread pools and at::parallel_for.
  template <class Function>
  detail::InAutocastState<std::decay_t<Function>> wrap(Function&& function) const;

  friend bool operator==(const AutocastState& a, const AutocastState& b) {
    return a.devices_ == b.devices_ && a.cache_enabled_ == b.cache_enabled_;
  }
  friend bool operator!=(const AutocastState& a, const AutocastState& b) { return !(a == b); }

 private:
  friend class AutocastStateGuard;

  struct Device {
    bool enabled = false;
    at::ScalarType dtype = at::ScalarType::Undefined;

    friend bool operator==(const Device& a, const Device& b) {
      return a.enabled == b.enabled && a.dtype == b.dtype;
    }
  };
  static constexpr std::size_t device_types = c10::COMPILE_TIME_MAX_DEVICE_TYPES;

  Device at(c10::DeviceType device) const {
    const auto index = static_cast<std::size_t>(device);
    return index < device_types ? devices_[index] : Device();
  }
  bool any_enabled() const;
  void set_devices() const;

  std::array<Device, device_types> devices_;
  bool cache_enabled_ = true;
};

/// Replays a state for a scope, and restores on leaving what was there, as AutocastGuard does.
///
///     void backward_of_a_checkpoint(const torchamp::AutocastState& state_of_forward) {
///       torchamp::AutocastStateGuard autocast(state_of_forward);
///       ...  // computed again in the dtypes of the first time
///     }
class AutocastStateGuard {
 public:
  /// Host sync: none.   Threads: leaves on the thread that entered.
  [[nodiscard]] explicit AutocastStateGuard(const AutocastState& state);
  ~AutocastStateGuard() noexcept;

  // A region is a scope of one thread; a copy or a moved-from one would restore twice.
  AutocastStateGuard(const AutocastStateGuard&) = delete;
  AutocastStateGuard& operator=(const AutocastStateGuard&) = delete;
  AutocastStateGuard(AutocastStateGuard&&) = delete;
  AutocastStateGuard& operator=(AutocastStateGuard&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  AutocastState outer_;
};

namespace detail {

/// What `AutocastState::wrap` returns.
template <class Function>
class InAutocastState {
 public:
  template <class F>
  InAutocastState(const AutocastState& state, F&& function)
      : state_(state), function_(std::forward<F>(function)) {}

  template <class... Arguments>
  std::invoke_result_t<Function&, Arguments...> operator()(Arguments&&... arguments) & {
    const AutocastStateGuard guard(state_);
    return std::invoke(function_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  std::invoke_result_t<const Function&, Arguments...> operator()(Arguments&&... arguments) const& {
    const AutocastStateGuard guard(state_);
    return std::invoke(function_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  std::invoke_result_t<Function, Arguments...> operator()(Arguments&&... arguments) && {
    const AutocastStateGuard guard(state_);
    return std::invoke(std::move(function_), std::forward<Arguments>(arguments)...);
  }

 private:
  AutocastState state_;
  Function function_;
};

}  // namespace detail

template <class Function>
detail::InAutocastState<std::decay_t<Function>> AutocastState::wrap(Function&& function) const {
  return {*this, std::forward<Function>(function)};
}

inline AutocastState AutocastState::current() {
  AutocastState state;
  for (std::size_t i = 0; i < device_types; ++i) {
    const auto type = static_cast<c10::DeviceType>(i);
    if (!at::autocast::is_autocast_available(type)) continue;
    state.devices_[i] = {at::autocast::is_autocast_enabled(type),
                         at::autocast::get_autocast_dtype(type)};
  }
  state.cache_enabled_ = at::autocast::is_autocast_cache_enabled();
  return state;
}

inline AutocastState AutocastState::disabled() const {
  auto state = *this;
  for (auto& device : state.devices_) device.enabled = false;
  return state;
}

inline bool AutocastState::any_enabled() const {
  for (const auto& device : devices_) {
    if (device.enabled) return true;
  }
  return false;
}

inline void AutocastState::set_devices() const {
  for (std::size_t i = 0; i < device_types; ++i) {
    const auto type = static_cast<c10::DeviceType>(i);
    if (!at::autocast::is_autocast_available(type)) continue;
    at::autocast::set_autocast_enabled(type, devices_[i].enabled);
    detail::set_autocast_dtype(type, devices_[i].dtype);
  }
}

inline AutocastStateGuard::AutocastStateGuard(const AutocastState& state)
    : outer_(AutocastState::current()) {
  state.set_devices();
  // Note [Casts without history]: where they could come up, nothing is cached, and outside a region
  // the flag says nothing about what a region opened in here would want.
  const bool safe =
      !detail::autocast_cache_loses_history || (c10::GradMode::is_enabled() && state.any_enabled());
  detail::enter_autocast(state.cache_enabled() && safe);
}

inline AutocastStateGuard::~AutocastStateGuard() noexcept {
  detail::leave_autocast();
  outer_.set_devices();
  at::autocast::set_autocast_cache_enabled(outer_.cache_enabled());
}

}  // namespace v0
}  // namespace torchamp
