// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/libtorch.h>

#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The two ends of nested laps as events on the current stream of a device, so that the host need
/// not wait until someone asks for the seconds.
///
/// An event that was read is used again; how many there are follows from how far the host is ahead
/// of the device.   Threads: one at a time.
class LapEvents {
 public:
  /// True if the device can tell the time between two events. It is tried, since LibTorch has no
  /// such question.   Host sync: waits for the current stream.
  static bool work_on(c10::Device device);

  explicit LapEvents(c10::Device device) : device_(device_with_index(device)) {}

  /// Begins a lap inside the one that is open, if there is one.   Host sync: none.
  void begin() { open_.push_back(record()); }

  /// Forgets the innermost open lap.   Host sync: none.
  void drop() noexcept { open_.pop_back(); }

  /// Ends the innermost open lap, one of `phase`. It stays open if this throws.   Host sync: none.
  void end(std::size_t phase);

  /// Calls `take(phase, seconds)` for the ended laps, in the order in which they ended: for all of
  /// them if it may wait, else up to the first that the device has not finished.
  /// Host sync: if `may_wait`, until the device has finished these laps.
  template <class Take>
  void settle(bool may_wait, Take&& take);

 private:
  struct Lap {
    std::size_t phase;
    c10::Event begin;
    c10::Event end;
  };

  c10::Event record();

  c10::Device device_;
  std::vector<c10::Event> open_;   // of open laps, the outermost first
  std::deque<Lap> ended_;          // in the order in which they ended
  std::vector<c10::Event> spare_;  // read, to be used again
};

inline bool LapEvents::work_on(c10::Device device) {
  if (device.is_cpu()) return false;
  try {
    LapEvents events(device);
    events.begin();
    events.end(0);
    events.settle(/*may_wait=*/true, [](std::size_t /*phase*/, double /*seconds*/) {});
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

inline c10::Event LapEvents::record() {
  if (spare_.empty()) spare_.emplace_back(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  c10::Event event = std::move(spare_.back());
  spare_.pop_back();
  event.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  return event;
}

inline void LapEvents::end(std::size_t phase) {
  c10::Event event = record();
  ended_.push_back(Lap{phase, std::move(open_.back()), std::move(event)});
  open_.pop_back();
}

template <class Take>
void LapEvents::settle(bool may_wait, Take&& take) {
  constexpr double seconds_per_millisecond = 1e-3;
  while (!ended_.empty()) {
    Lap& lap = ended_.front();
    if (may_wait) {  // for both: the stream may have been another one at the end
      lap.begin.synchronize();
      lap.end.synchronize();
    } else if (!lap.begin.query() || !lap.end.query()) {
      return;
    }
    take(lap.phase, seconds_per_millisecond * lap.begin.elapsedTime(lap.end));
    spare_.push_back(std::move(lap.begin));
    spare_.push_back(std::move(lap.end));
    ended_.pop_front();
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
