// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

/// A clock that moves only when told to, so that no test has to sleep, and times are exact.
struct FakeClock {
  using rep = std::chrono::nanoseconds::rep;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<FakeClock>;
  static constexpr bool is_steady = true;

  static time_point now() { return time_point(time); }
  static void pass_milliseconds(int milliseconds) {
    time += std::chrono::milliseconds(milliseconds);
  }
  static inline duration time{0};
};

inline void pass_seconds(int seconds) { FakeClock::time += std::chrono::seconds(seconds); }
