// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/lap_clock.h>

#include "support/doctest.h"
#include "support/fake_clock.h"
#include "support/fake_device.h"

#include <utility>
#include <vector>

namespace {

using LapClock = torchamp::detail::LapClock<FakeClock>;
using Laps = std::vector<std::pair<std::size_t, double>>;

struct Taken {
  void operator()(std::size_t phase, double seconds) { laps.emplace_back(phase, seconds); }
  Laps laps;
};

}  // namespace

TEST_CASE("On a CPU nested laps are read from the clock and taken at once") {
  LapClock clock(torch::kCPU, /*device_events=*/true);
  Taken taken;

  clock.begin();
  pass_seconds(1);
  clock.begin();
  pass_seconds(2);
  clock.end(7, taken);
  CHECK(taken.laps == Laps{{7, 2}});
  clock.end(8, taken);

  CHECK(taken.laps == Laps{{7, 2}, {8, 3}});
}

TEST_CASE("A device with events is waited for by settle alone, and the clock is not asked") {
  FakeDevice fake;
  LapClock clock(fake.device, /*device_events=*/true);
  Taken taken;
  fake.waits();

  clock.begin();
  pass_seconds(9);
  fake.queue_seconds(2);
  clock.end(1, taken);
  CHECK(taken.laps.empty());
  CHECK(fake.waits() == 0);

  clock.settle(/*may_wait=*/true, taken);
  CHECK(taken.laps == Laps{{1, 2}});
}

TEST_CASE("Without events the host waits at both ends, and reads the clock") {
  FakeDevice fake(FakeDevice::Events::Absent);
  LapClock clock(fake.device, /*device_events=*/true);
  Taken taken;

  clock.begin();
  CHECK(fake.waits() == 1);
  pass_seconds(3);
  clock.end(1, taken);
  CHECK(fake.waits() == 1);

  CHECK(taken.laps == Laps{{1, 3}});
}

TEST_CASE("Events that are not asked for are not used") {
  FakeDevice fake;
  LapClock clock(fake.device, /*device_events=*/false);
  Taken taken;

  clock.begin();
  pass_seconds(3);
  clock.end(1, taken);

  CHECK(fake.events() == 0);
  CHECK(taken.laps == Laps{{1, 3}});
}

TEST_CASE("A dropped lap is not taken") {
  LapClock clock(torch::kCPU, /*device_events=*/true);
  Taken taken;
  clock.begin();
  clock.begin();
  pass_seconds(1);

  clock.drop();
  clock.end(1, taken);

  CHECK(taken.laps == Laps{{1, 1}});
}
