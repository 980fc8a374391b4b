// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>

#include <c10/core/Device.h>
#include <torch/arg.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

struct TimerOptions {
  /// Laps at the start that are kept apart: caches fill, memory is first taken, clocks rise.
  TORCH_ARG(int64_t, warmup) = 3;
};

/// Measures laps of wall time, in seconds, with all of the device's work in and none of what was
/// queued before.
///
///     torchamp::Timer timer(device);
///     for (auto& batch : *loader) timer.lap([&] { train_step(batch); });
///     // timer.laps(): seconds a step, warm-up apart
///
/// Threads: one at a time. `Clock` can be replaced, for tests.
template <class Clock = std::chrono::steady_clock>
class BasicTimer {
 public:
  static_assert(Clock::is_steady, "a clock that can be set would measure laps that never were");

  /// Throws: [E08] for a negative warm-up.
  explicit BasicTimer(c10::Device device, const TimerOptions& options = {})
      : device_(device), warmup_(options.warmup()) {
    TORCHAMP_CHECK(E08, warmup_ >= 0, "Timer: warmup is ", warmup_, " laps; choose 0 or more");
  }

  /// Host sync: waits for the device.   Throws: [E13] if a lap is running; it goes on.
  void start();

  /// Ends the lap and returns its seconds.
  /// Host sync: waits for the device.   Throws: [E13] if no lap is running.
  double stop();

  /// Times one call. If it throws, there is no lap.   Host sync: waits for the device twice.
  template <class Function>
  double lap(Function&& function);

  /// Seconds of each lap after the warm-up, in order.
  const std::vector<double>& laps() const { return laps_; }
  /// Seconds of each lap of the warm-up, in order.
  const std::vector<double>& warmup_laps() const { return warmup_laps_; }

 private:
  c10::Device device_;
  int64_t warmup_;
  bool running_ = false;
  typename Clock::time_point start_{};
  std::vector<double> laps_;
  std::vector<double> warmup_laps_;
};

using Timer = BasicTimer<>;

template <class Clock>
void BasicTimer<Clock>::start() {
  TORCHAMP_CHECK(E13, !running_, "Timer::start(): a lap is running; call stop() first");
  detail::synchronize(device_);
  running_ = true;
  start_ = Clock::now();
}

template <class Clock>
double BasicTimer<Clock>::stop() {
  TORCHAMP_CHECK(E13, running_, "Timer::stop(): no lap is running; call start() first");
  detail::synchronize(device_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  running_ = false;
  const bool warming_up = static_cast<int64_t>(warmup_laps_.size()) < warmup_;
  (warming_up ? warmup_laps_ : laps_).push_back(seconds);
  return seconds;
}

template <class Clock>
template <class Function>
double BasicTimer<Clock>::lap(Function&& function) {
  start();
  try {
    std::forward<Function>(function)();
  } catch (...) {
    running_ = false;
    throw;
  }
  return stop();
}

}  // namespace v0
}  // namespace torchamp
