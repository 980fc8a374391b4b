// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/libtorch.h>
#include <torchamp/probe/lap_events.h>

#include <c10/core/Device.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// How the seconds of nested laps are found: with events where the device has them and they are
/// asked for, else with `Clock`, for which the host waits for the device at both ends; a CPU has
/// nothing to wait for.   Threads: one at a time.
template <class Clock>
class LapClock {
 public:
  /// Host sync: with events it waits once, to see whether the device has them.
  LapClock(c10::Device device, bool device_events) : device_(device_with_index(device)) {
    if (device_events && LapEvents::work_on(device)) events_.emplace(device);
  }

  /// Begins a lap inside the one that is open, if there is one. None is open if this throws.
  /// Host sync: waits for the device, unless it has events or is a CPU.
  void begin();

  /// Forgets the innermost open lap.
  void drop() noexcept;

  /// Ends the innermost open lap, one of `phase`. It stays open if this throws.
  /// `take(phase, seconds)` is called now, or by settle().   Host sync: as begin().
  template <class Take>
  void end(std::size_t phase, Take&& take);

  /// Calls `take(phase, seconds)` for the ended laps that have not been taken, in order: for all of
  /// them if it may wait, else for those that the device has finished.
  template <class Take>
  void settle(bool may_wait, Take&& take);

 private:
  bool waits() const { return !device_.is_cpu() && !events_; }

  c10::Device device_;
  std::vector<typename Clock::time_point> starts_;  // of open laps, unless there are events
  std::optional<LapEvents> events_;
};

template <class Clock>
void LapClock<Clock>::begin() {
  if (events_) {
    events_->begin();
    return;
  }
  starts_.emplace_back();
  try {
    if (waits()) synchronize(device_);
  } catch (...) {
    starts_.pop_back();
    throw;
  }
  starts_.back() = Clock::now();  // last, so that the lap has nothing of this in it
}

template <class Clock>
void LapClock<Clock>::drop() noexcept {
  events_ ? events_->drop() : starts_.pop_back();
}

template <class Clock>
template <class Take>
void LapClock<Clock>::end(std::size_t phase, Take&& take) {
  if (events_) {
    events_->end(phase);
    return;
  }
  if (waits()) synchronize(device_);
  take(phase, std::chrono::duration<double>(Clock::now() - starts_.back()).count());
  starts_.pop_back();
}

template <class Clock>
template <class Take>
void LapClock<Clock>::settle(bool may_wait, Take&& take) {
  if (events_) events_->settle(may_wait, std::forward<Take>(take));
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
