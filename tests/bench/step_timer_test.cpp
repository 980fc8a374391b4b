// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/step_timer.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/fake_clock.h"

#include <stdexcept>

using torchamp::StepContext;
using FakeStepTimer = torchamp::StepTimer<FakeClock>;

TEST_CASE("A step's time is all of it, and each phase has its own, with those around in its name") {
  FakeStepTimer timer(torch::kCPU);

  const int answer = timer.time([](StepContext& context) {
    {
      const auto forward = context.phase("forward");
      FakeClock::pass_milliseconds(2);
      context.phase("head", [] { FakeClock::pass_milliseconds(3); });
    }
    context.phase("backward", [] { FakeClock::pass_milliseconds(4); });
    FakeClock::pass_milliseconds(1);
    return 42;
  });

  CHECK(answer == 42);
  CHECK(timer.seconds() == doctest::Approx(0.010));
  REQUIRE(timer.phases().size() == 3);
  CHECK(timer.phases()[0].name == "forward");
  CHECK(timer.phases()[0].seconds == doctest::Approx(0.005));
  CHECK(timer.phases()[1].name == "forward/head");
  CHECK(timer.phases()[1].seconds == doctest::Approx(0.003));
  CHECK(timer.phases()[2].name == "backward");
  CHECK(timer.phases()[2].seconds == doctest::Approx(0.004));
}

TEST_CASE("A phase that comes several times in a step adds up") {
  FakeStepTimer timer(torch::kCPU);

  timer.time([](StepContext& context) {
    for (int i = 0; i < 3; ++i) context.phase("forward", [] { FakeClock::pass_milliseconds(2); });
    return 0;
  });

  REQUIRE(timer.phases().size() == 1);
  CHECK(timer.phases()[0].seconds == doctest::Approx(0.006));
}

TEST_CASE("A phase without a name, or with a '/' in it, is refused") {
  for (const char* name : {"", "forward/head"}) {
    FakeStepTimer timer(torch::kCPU);
    CHECK_ERROR(E13, timer.time([name](StepContext& context) {
      context.phase(name, [] {});
      return 0;
    }));
  }
}

TEST_CASE("What a step throws comes through") {
  FakeStepTimer timer(torch::kCPU);

  CHECK_THROWS_AS(timer.time([](StepContext& context) -> int {
    const auto forward = context.phase("forward");
    throw std::runtime_error("out of memory");
  }),
                  std::runtime_error);
}
