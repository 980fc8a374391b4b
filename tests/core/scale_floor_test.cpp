// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/scale_floor.h>

#include "support/doctest.h"

#include <optional>
#include <random>

using torchamp::ConstantLossScale;
using torchamp::DynamicLossScale;
using torchamp::GradScalerOptions;
using torchamp::ScaleFloor;

namespace {

/// Scale 8, halved by an overflow, doubled after two good steps.
const DynamicLossScale policy(GradScalerOptions().init_scale(8).growth_interval(2));

ScaleFloor floor_of(const DynamicLossScale& of) {
  ScaleFloor floor;
  floor.set(of.initial());
  return floor;
}

}  // namespace

TEST_CASE("The floor follows the scale as long as every outcome is known") {
  auto floor = floor_of(policy);
  CHECK(floor.value() == 8);

  floor.move(policy, true);
  CHECK(floor.value() == 4);
  floor.move(policy, false);
  floor.move(policy, false);
  CHECK(floor.value() == 8);
}

TEST_CASE("Of an unknown outcome the worse is assumed") {
  auto floor = floor_of(policy);

  floor.move(policy, std::nullopt);

  CHECK(floor.value() == 4);
}

TEST_CASE("An unknown outcome uses up hysteresis as an overflow does") {
  const DynamicLossScale patient(GradScalerOptions().init_scale(8).hysteresis(3));
  auto floor = floor_of(patient);

  floor.move(patient, true);
  floor.move(patient, std::nullopt);
  CHECK(floor.value() == 8);
  floor.move(patient, std::nullopt);
  CHECK(floor.value() == 4);
}

TEST_CASE("A constant scale's floor stays") {
  const ConstantLossScale constant(GradScalerOptions().init_scale(8));
  ScaleFloor floor;
  floor.set(constant.initial());

  floor.move(constant, std::nullopt);
  floor.move(constant, true);

  CHECK(floor.value() == 8);
}

TEST_CASE("A lowered growth interval does not let the floor grow before the scale does") {
  const DynamicLossScale slow(GradScalerOptions().init_scale(8).growth_interval(4));
  auto floor = floor_of(slow);
  for (int i = 0; i < 3; ++i) floor.move(slow, false);

  floor.limit_growth_tracker(2);  // three good steps count as one from now on

  floor.move(slow, false);
  CHECK(floor.value() == 8);
  floor.move(slow, false);
  floor.move(slow, false);
  CHECK(floor.value() == 16);
}

TEST_CASE("A scale that was heard of is lowered by the moves since, as if all had overflowed") {
  const DynamicLossScale rule(GradScalerOptions().init_scale(2).hysteresis(3));
  auto floor = floor_of(rule);

  floor.learn(rule, 64, 2);

  CHECK(floor.value() == 16);
}

TEST_CASE("The floor is never above the scale, whatever is known of it") {
  std::mt19937 random(1);
  for (const int hysteresis : {1, 3}) {
    for (const bool consecutive : {false, true}) {
      const DynamicLossScale rule(GradScalerOptions()
                                      .init_scale(8)
                                      .growth_interval(3)
                                      .hysteresis(hysteresis)
                                      .consecutive_hysteresis(consecutive));
      auto floor = floor_of(rule);
      auto state = rule.initial();
      for (int i = 0; i < 2000; ++i) {
        const bool overflowed = random() % 4 == 0;
        const bool known = random() % 3 != 0;
        state = rule.next(state, overflowed);
        floor.move(rule, known ? std::optional<bool>(overflowed) : std::nullopt);
        CAPTURE(i);
        REQUIRE(floor.value() <= state.scale);
      }
    }
  }
}
