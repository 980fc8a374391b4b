// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/step_context.h>
#include <torchamp/detail/libtorch.h>
#include <torchamp/probe/timer.h>

#include <c10/core/Device.h>

#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A phase of one step, in seconds. Of a nested one the name has those around it: "forward/head".
struct PhaseTime {
  std::string name;
  double seconds;
};

/// The context of one step that takes its time and that of its phases.   Threads: one at a time.
template <class Clock = std::chrono::steady_clock>
class StepTimer : public StepContext {
 public:
  /// Host sync: as `Timer`.
  explicit StepTimer(c10::Device device)
      : device_(device), timer_(device, TimerOptions().warmup(0)) {}

  /// Calls `step(*this)` and returns what it returns. Once only.
  /// Host sync: waits for the device before and after. Phases are measured as laps of a `Timer`:
  /// without waiting, where the device's events tell the time.
  template <class Step>
  auto time(Step&& step) {
    detail::synchronize(device_);
    const auto start = Clock::now();
    auto result = std::forward<Step>(step)(static_cast<StepContext&>(*this));
    detail::synchronize(device_);
    seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
    for (const PhaseTimes& phase : timer_.phases()) {
      phases_.push_back({phase.path, phase.total_seconds});
    }
    return result;
  }

  /// Of the whole step.
  double seconds() const { return seconds_; }
  /// In the order in which they began first, each followed by those inside of it.
  const std::vector<PhaseTime>& phases() const { return phases_; }

 private:
  /// Laps can't be moved, but be made in place.
  struct Open {
    Open(BasicTimer<Clock>& timer, const char* name) : lap(timer.phase(name)) {}
    typename BasicTimer<Clock>::Lap lap;
  };

  void begin_phase(const char* name) override { open_.emplace_back(timer_, name); }
  void end_phase() noexcept override { open_.pop_back(); }

  c10::Device device_;
  BasicTimer<Clock> timer_;
  double seconds_ = 0;
  std::vector<PhaseTime> phases_;
  std::deque<Open> open_;  // after the timer: ends first
};

}  // namespace v0
}  // namespace torchamp
