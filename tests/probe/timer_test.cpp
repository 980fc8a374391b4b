// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/timer.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/fake_clock.h"
#include "support/fake_device.h"
#include "support/range_listener.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

using FakeTimer = torchamp::BasicTimer<FakeClock>;
using torchamp::TimerOptions;

static_assert(!std::is_copy_constructible_v<FakeTimer::Lap>);
static_assert(!std::is_move_constructible_v<FakeTimer::Lap>);

namespace {

const auto no_warmup = TimerOptions().warmup(0);

}  // namespace

TEST_CASE("A lap lasts from start to stop, in seconds") {
  FakeTimer timer(torch::kCPU, no_warmup);
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

TEST_CASE("Phases nest, and the times of each are its own") {
  FakeTimer timer(torch::kCPU, no_warmup);
  for (const int seconds : {1, 3}) {
    const auto step = timer.phase("step");
    timer.lap("forward", [&] { pass_seconds(seconds); });
    timer.lap("backward", [&] { pass_seconds(2 * seconds); });
    pass_seconds(4);
  }

  const auto phases = timer.phases();

  REQUIRE(phases.size() == 3);
  CHECK(phases[0].path == "step");
  CHECK(phases[0].count == 2);
  CHECK(phases[0].total_seconds == 7 + 13);
  CHECK(phases[1].path == "step/forward");
  CHECK(phases[1].mean_seconds == 2);
  CHECK(phases[2].path == "step/backward");
  CHECK(phases[2].max_seconds == 6);
  CHECK(timer.phase_times("step/backward").min_seconds == 2);
  CHECK(timer.laps("step/forward") == std::vector<double>{1, 3});
}

TEST_CASE("The same name inside another phase is another phase, inside itself too") {
  FakeTimer timer(torch::kCPU, no_warmup);
  timer.lap("a", [&] { timer.lap("a", [] { pass_seconds(1); }); });
  timer.lap("b", [&] { timer.lap("a", [] { pass_seconds(2); }); });

  CHECK(timer.laps("a") == std::vector<double>{1});
  CHECK(timer.laps("a/a") == std::vector<double>{1});
  CHECK(timer.laps("b/a") == std::vector<double>{2});
}

TEST_CASE("Laps without a name can have phases inside") {
  FakeTimer timer(torch::kCPU, no_warmup);

  timer.lap([&] { timer.lap("forward", [] { pass_seconds(1); }); });

  CHECK(timer.laps("lap/forward") == std::vector<double>{1});
  CHECK(timer.laps("lap") == timer.laps());
}

TEST_CASE("A lap returns what the call returns, a reference too") {
  FakeTimer timer(torch::kCPU, no_warmup);
  int number = 3;

  CHECK(timer.lap("value", [] { return std::string("text"); }) == "text");
  int& same = timer.lap("reference", [&]() -> int& { return number; });

  CHECK(&same == &number);
}

TEST_CASE("A lap can end before its scope, once") {
  FakeTimer timer(torch::kCPU, no_warmup);
  {
    auto lap = timer.phase("step");
    pass_seconds(1);
    lap.end();
    pass_seconds(5);
    CHECK_ERROR(E13, lap.end());
  }

  CHECK(timer.laps("step") == std::vector<double>{1});
}

TEST_CASE("A lap that throws is no lap, and the timer can go on") {
  FakeTimer timer(torch::kCPU, no_warmup);
  const auto fail = [] { throw std::runtime_error("step failed"); };

  CHECK_THROWS_AS(timer.lap([&] { timer.lap("forward", fail); }), std::runtime_error);
  timer.lap([] { pass_seconds(1); });

  CHECK(timer.laps() == std::vector<double>{1});
  CHECK(timer.laps("lap/forward").empty());
  CHECK(timer.phases().size() == 1);
}

TEST_CASE("A lap inside a destructor that an exception runs is a lap") {
  FakeTimer timer(torch::kCPU, no_warmup);
  struct Cleanup {
    FakeTimer& timer;
    ~Cleanup() {
      timer.lap("cleanup", [] { pass_seconds(1); });
    }
  };

  CHECK_THROWS_AS(([&] {
                    const Cleanup cleanup{timer};
                    throw std::runtime_error("step failed");
                  }()),
                  std::runtime_error);

  CHECK(timer.laps("cleanup") == std::vector<double>{1});
}

TEST_CASE("Seconds are refused while a lap runs, which goes on") {
  FakeTimer timer(torch::kCPU, no_warmup);
  {
    const auto step = timer.phase("step");
    pass_seconds(1);

    CHECK_ERROR(E13, timer.phases());
    CHECK_ERROR(E13, timer.phase_times("step"));
    CHECK_ERROR(E13, timer.laps("step"));
    CHECK_ERROR(E13, timer.warmup_laps("step"));
    CHECK_ERROR_SAYS("\"step\" is running", timer.phases());

    pass_seconds(1);
  }
  CHECK(timer.laps("step") == std::vector<double>{2});
}

TEST_CASE("Ending a lap before the one inside it is refused, and both go on") {
  FakeTimer timer(torch::kCPU, no_warmup);
  {
    auto step = timer.phase("step");
    auto forward = timer.phase("forward");
    pass_seconds(1);

    CHECK_ERROR(E13, step.end());

    pass_seconds(1);
    forward.end();
    step.end();
  }
  CHECK(timer.laps("step") == std::vector<double>{2});
  CHECK(timer.laps("step/forward") == std::vector<double>{2});
}

TEST_CASE(
    "A guard that dies before the one inside it leaves a lap that never ends, which is said") {
  FakeTimer timer(torch::kCPU, no_warmup);
  struct Holder {
    explicit Holder(FakeTimer& timer) : lap(timer.phase("step")) {}
    FakeTimer::Lap lap;
  };
  auto step = std::make_optional<Holder>(timer);
  {
    const auto forward = timer.phase("forward");
    step.reset();
  }

  CHECK_ERROR(E13, timer.phases());
  CHECK_ERROR_SAYS("its guard ended before the lap inside it", timer.phases());
}

TEST_CASE("Starting twice is refused and the running lap goes on") {
  FakeTimer timer(torch::kCPU, no_warmup);
  timer.start();
  pass_seconds(1);

  CHECK_ERROR(E13, timer.start());
  CHECK_ERROR(E13, timer.lap([] {}));

  pass_seconds(1);
  CHECK(timer.stop() == 2);
}

TEST_CASE("Stopping a timer that does not run is refused and adds no lap") {
  FakeTimer timer(torch::kCPU, no_warmup);

  CHECK_ERROR(E13, timer.stop());

  CHECK(timer.laps().empty());
}

TEST_CASE("Stopping is refused while a lap inside runs, or for a lap of a guard") {
  FakeTimer timer(torch::kCPU, no_warmup);
  timer.start();
  {
    const auto forward = timer.phase("forward");
    CHECK_ERROR(E13, timer.stop());
    pass_seconds(1);
  }
  CHECK(timer.stop() == 1);
  {
    const auto step = timer.phase("step");
    CHECK_ERROR(E13, timer.stop());
  }
  CHECK(timer.laps("step").size() == 1);
}

TEST_CASE("A negative warm-up is refused") {
  CHECK_ERROR(E08, FakeTimer(torch::kCPU, TimerOptions().warmup(-1)));
}

TEST_CASE("Phases that have only warmed up, or are not there, are refused") {
  FakeTimer timer(torch::kCPU);
  timer.lap("step", [] { pass_seconds(1); });

  CHECK_ERROR(E13, timer.phases());
  CHECK_ERROR(E13, timer.phase_times("step"));
  CHECK_ERROR(E13, timer.laps("forward"));
  CHECK(timer.warmup_laps("step") == std::vector<double>{1});
}

TEST_CASE("A phase without a proper name is refused, and no lap runs") {
  FakeTimer timer(torch::kCPU, no_warmup);

  CHECK_ERROR(E13, timer.phase("step/forward"));
  CHECK_ERROR(E13, timer.phase(""));

  CHECK(timer.phases().empty());
}

TEST_CASE("On a device with events, laps are the device's time, and reading them waits") {
  FakeDevice fake;
  FakeTimer timer(fake.device, TimerOptions().warmup(1));
  fake.queue_seconds(50);
  fake.waits();
  for (const int seconds : {9, 1, 2}) {
    const auto step = timer.phase("step");
    timer.lap("forward", [&] { fake.queue_seconds(seconds); });
    fake.queue_seconds(1);
    pass_seconds(70);
  }
  CHECK(fake.waits() == 0);

  CHECK(timer.laps("step") == std::vector<double>{2, 3});
  CHECK(timer.warmup_laps("step/forward") == std::vector<double>{9});
  CHECK(timer.laps("step/forward") == std::vector<double>{1, 2});
  CHECK(fake.waits() > 0);
}

TEST_CASE("On a device with events, stop() waits and returns the lap's seconds") {
  FakeDevice fake;
  FakeTimer timer(fake.device, no_warmup);

  timer.start();
  fake.queue_seconds(4);

  CHECK(timer.stop() == 4);
  CHECK(timer.laps() == std::vector<double>{4});
}

TEST_CASE("A long run on a device keeps few events, as it reads those that are done") {
  FakeDevice fake;
  FakeTimer timer(fake.device, no_warmup);

  for (int i = 0; i < 100; ++i) {
    timer.lap([&] { fake.queue_seconds(1); });
    fake.finish();
  }

  CHECK(fake.events() <= 4);
  CHECK(timer.laps().size() == 100);
}

TEST_CASE("Laps that were given out stay where they are when phases are added") {
  FakeTimer timer(torch::kCPU, no_warmup);
  timer.lap("a", [] { pass_seconds(1); });
  const auto* const laps = &timer.laps("a");
  for (int i = 0; i < 20; ++i) timer.lap(std::to_string(i), [] {});
  CHECK(&timer.laps("a") == laps);
}

TEST_CASE("Without device events the host waits at both ends of a lap") {
  FakeDevice fake;
  FakeTimer timer(fake.device, TimerOptions().warmup(0).device_events(false));

  timer.lap([&] { pass_seconds(2); });

  CHECK(fake.waits() == 2);
  CHECK(timer.laps() == std::vector<double>{2});
}

TEST_CASE("What a device complains about at the end of a guard is told to whoever reads") {
  FakeDevice fake;
  FakeTimer timer(fake.device, no_warmup);
  {
    const auto step = timer.phase("step");
    fake.fail_next_record();
  }

  CHECK_THROWS_AS(timer.phases(), c10::Error);
}

TEST_CASE("A lap that a device refuses to begin is not running") {
  FakeDevice fake;
  FakeTimer timer(fake.device, no_warmup);
  fake.fail_next_record();

  CHECK_THROWS_AS((void)timer.phase("step"), c10::Error);

  CHECK(timer.phases().empty());
}

TEST_CASE(
    "Laps are ranges for whatever profiler listens, also those that end early or by a throw") {
  const RangeListener listener;
  FakeTimer timer(torch::kCPU, no_warmup);

  timer.lap("step", [&] { timer.lap("forward", [] {}); });
  auto backward = timer.phase("backward");
  backward.end();
  CHECK_THROWS_AS(timer.lap("failed", [] { throw std::runtime_error("step failed"); }),
                  std::runtime_error);
  timer.start();
  timer.stop();

  CHECK(listener.heard() == std::vector<std::string>{"+step", "+forward", "-forward", "-step",
                                                     "+backward", "-backward", "+failed", "-failed",
                                                     "+lap", "-lap"});
}

TEST_CASE("A lap that a device refuses to begin is a range that has ended") {
  FakeDevice fake;
  FakeTimer timer(fake.device, no_warmup);
  const RangeListener listener;
  fake.fail_next_record();

  CHECK_THROWS_AS((void)timer.phase("step"), c10::Error);

  CHECK(listener.heard() == std::vector<std::string>{"+step", "-step"});
}

TEST_CASE("The everyday timer runs on a steady clock and measures time that passes") {
  torchamp::Timer timer(torch::kCPU, no_warmup);

  timer.lap([] { torch::ones({64, 64}).mm(torch::ones({64, 64})); });

  CHECK(timer.laps().front() > 0);
}
