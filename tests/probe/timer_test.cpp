// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/timer.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <chrono>
#include <stdexcept>
#include <vector>

namespace {

/// A clock that moves only when told to, so that no test has to sleep.
struct FakeClock {
  using rep = std::chrono::nanoseconds::rep;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<FakeClock>;
  static constexpr bool is_steady = true;

  static time_point now() { return time_point(time); }
  static inline duration time{0};
};

using FakeTimer = torchamp::BasicTimer<FakeClock>;
using torchamp::TimerOptions;

void pass_seconds(int seconds) { FakeClock::time += std::chrono::seconds(seconds); }

}  // namespace

TEST_CASE("A lap lasts from start to stop, in seconds") {
  FakeTimer timer(torch::kCPU, TimerOptions().warmup(0));
  pass_seconds(5);

  timer.start();
  pass_seconds(2);

  CHECK(timer.stop() == 2);
  CHECK(timer.laps() == std::vector<double>{2});
}

TEST_CASE("The first laps are kept apart as warm-up, three of them unless told otherwise") {
  FakeTimer timer(torch::kCPU);

  for (const int seconds : {9, 8, 7, 1, 2}) timer.lap([&] { pass_seconds(seconds); });

  CHECK(timer.warmup_laps() == std::vector<double>{9, 8, 7});
  CHECK(timer.laps() == std::vector<double>{1, 2});
}

TEST_CASE("A lap that throws is no lap, and the timer can go on") {
  FakeTimer timer(torch::kCPU, TimerOptions().warmup(0));

  CHECK_THROWS_AS(timer.lap([] { throw std::runtime_error("step failed"); }), std::runtime_error);
  timer.lap([] { pass_seconds(1); });

  CHECK(timer.laps() == std::vector<double>{1});
}

TEST_CASE("Starting twice is refused and the running lap goes on") {
  FakeTimer timer(torch::kCPU, TimerOptions().warmup(0));
  timer.start();
  pass_seconds(1);

  CHECK_ERROR(E13, timer.start());

  pass_seconds(1);
  CHECK(timer.stop() == 2);
}

TEST_CASE("Stopping a timer that does not run is refused and adds no lap") {
  FakeTimer timer(torch::kCPU, TimerOptions().warmup(0));

  CHECK_ERROR(E13, timer.stop());

  CHECK(timer.laps().empty());
}

TEST_CASE("A negative warm-up is refused") {
  CHECK_ERROR(E08, FakeTimer(torch::kCPU, TimerOptions().warmup(-1)));
}

TEST_CASE("The everyday timer runs on a steady clock and measures time that passes") {
  torchamp::Timer timer(torch::kCPU, TimerOptions().warmup(0));

  timer.lap([] { torch::ones({64, 64}).mm(torch::ones({64, 64})); });

  CHECK(timer.laps().front() > 0);
}
