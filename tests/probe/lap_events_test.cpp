// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/lap_events.h>

#include "support/doctest.h"
#include "support/fake_device.h"

#include <utility>
#include <vector>

using torchamp::detail::LapEvents;

namespace {

struct Taken {
  void operator()(std::size_t phase, double seconds) { laps.emplace_back(phase, seconds); }
  std::vector<std::pair<std::size_t, double>> laps;
};

using Laps = std::vector<std::pair<std::size_t, double>>;

}  // namespace

TEST_CASE("Events are used where a device has them") {
  CHECK_FALSE(LapEvents::work_on(torch::kCPU));
  CHECK(LapEvents::work_on(FakeDevice().device));
  CHECK_FALSE(LapEvents::work_on(FakeDevice(FakeDevice::Events::Absent).device));
}

TEST_CASE("Nested laps last from event to event, and are taken in the order of their ends") {
  FakeDevice fake;
  LapEvents events(fake.device);
  fake.queue_seconds(100);
  events.begin();
  fake.queue_seconds(1);
  events.begin();
  fake.queue_seconds(2);
  events.end(7);
  fake.queue_seconds(4);
  events.end(8);

  Taken taken;
  events.settle(/*may_wait=*/true, taken);

  CHECK(taken.laps == Laps{{7, 2}, {8, 7}});
}

TEST_CASE("The host waits for nothing before it may, and takes what is done") {
  FakeDevice fake;
  LapEvents events(fake.device);
  Taken taken;

  events.begin();
  fake.queue_seconds(1);
  events.end(1);
  events.settle(/*may_wait=*/false, taken);
  CHECK(taken.laps.empty());

  fake.finish();
  events.begin();
  fake.queue_seconds(2);
  events.end(2);
  events.settle(/*may_wait=*/false, taken);
  CHECK(taken.laps == Laps{{1, 1}});
  CHECK(fake.waits() == 0);

  events.settle(/*may_wait=*/true, taken);
  CHECK(taken.laps == Laps{{1, 1}, {2, 2}});
  CHECK(fake.waits() > 0);
}

TEST_CASE("Events are used again, so that a long run needs few") {
  FakeDevice fake;
  LapEvents events(fake.device);
  Taken taken;

  for (int i = 0; i < 100; ++i) {
    events.settle(/*may_wait=*/false, taken);
    events.begin();
    fake.queue_seconds(1);
    events.end(0);
    fake.finish();
  }

  CHECK(fake.events() == 2);
  CHECK(fake.events_made() == 2);
}

TEST_CASE("A dropped lap is never taken, and the one around it goes on") {
  FakeDevice fake;
  LapEvents events(fake.device);
  events.begin();
  events.begin();
  fake.queue_seconds(3);
  events.drop();
  events.end(5);

  Taken taken;
  events.settle(/*may_wait=*/true, taken);

  CHECK(taken.laps == Laps{{5, 3}});
}

TEST_CASE("All events go back to the device") {
  FakeDevice fake;
  {
    LapEvents events(fake.device);
    events.begin();
    events.end(0);
    events.begin();
    events.drop();
    events.begin();
  }
  CHECK(fake.events() == 0);
}
