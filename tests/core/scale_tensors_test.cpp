// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/scale_tensors.h>

#include "support/doctest.h"

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

using torchamp::ConstantLossScale;
using torchamp::DynamicLossScale;
using torchamp::GradScalerOptions;
using torchamp::ScaleTensors;

namespace {

torch::Tensor found(bool overflow) { return torch::full({}, overflow ? 1.0 : 0.0); }

/// Applies one rule twice, on tensors and in plain arithmetic, and compares after every step.
void check_that_both_agree(const GradScalerOptions& options) {
  const DynamicLossScale policy(options);
  auto expected = policy.initial();
  ScaleTensors tensors;
  tensors.create(torch::kCPU, expected);
  std::mt19937 random(7);
  for (int step = 0; step < 200; ++step) {
    CAPTURE(step);
    const bool overflow = random() % 4 == 0;

    expected = policy.next(expected, overflow);
    tensors.move_(policy, found(overflow), std::nullopt);

    const auto state = tensors.read();
    REQUIRE(state.scale == expected.scale);
    REQUIRE(state.growth_tracker == expected.growth_tracker);
    if (options.hysteresis() > 1) {
      REQUIRE(state.hysteresis_tracker == expected.hysteresis_tracker);
    }
  }
}

}  // namespace

TEST_CASE("The tensors are 0-dim, float32 and int32, and hold the state they were made from") {
  ScaleTensors tensors;
  CHECK_FALSE(tensors.defined());

  tensors.create(torch::kCPU, {4, 3, 2});

  CHECK(tensors.defined());
  CHECK(tensors.scale().dim() == 0);
  CHECK(tensors.scale().scalar_type() == torch::kFloat);
  CHECK(tensors.growth_tracker().scalar_type() == torch::kInt);
  CHECK(tensors.read().scale == 4);
  CHECK(tensors.read().growth_tracker == 3);
  CHECK(tensors.read().hysteresis_tracker == 2);
}

TEST_CASE("The rule on tensors is the rule in plain arithmetic") {
  const auto options = GradScalerOptions().init_scale(1024).growth_interval(3);
  check_that_both_agree(options);
  check_that_both_agree(GradScalerOptions(options).growth_factor(1.7).backoff_factor(0.3));
  check_that_both_agree(GradScalerOptions(options).min_scale(512).max_scale(2048));
  check_that_both_agree(GradScalerOptions(options).hysteresis(3));
  check_that_both_agree(GradScalerOptions(options).hysteresis(2).consecutive_hysteresis(true));
  check_that_both_agree(
      GradScalerOptions(options).hysteresis(2).growth_interval(1).growth_factor(1.7));
}

TEST_CASE("The scale does not grow beyond float32, with hysteresis or without") {
  const auto options = GradScalerOptions().init_scale(1e38).growth_factor(16).growth_interval(1);
  for (const int64_t hysteresis : {1, 2}) {
    CAPTURE(hysteresis);
    const DynamicLossScale policy(GradScalerOptions(options).hysteresis(hysteresis));
    ScaleTensors tensors;
    tensors.create(torch::kCPU, policy.initial());

    tensors.move_(policy, found(false), std::nullopt);

    CHECK(tensors.read().scale == 1e38F);
  }
}

TEST_CASE("A constant policy moves nothing") {
  const ConstantLossScale policy(GradScalerOptions().init_scale(8));
  ScaleTensors tensors;
  tensors.create(torch::kCPU, policy.initial());

  tensors.move_(policy, found(true), std::nullopt);

  CHECK(tensors.read().scale == 8);
}

TEST_CASE("The inverse is that of float64, rounded once, as torch.amp computes it") {
  ScaleTensors tensors;
  tensors.create(torch::kCPU, {3, 0, 1});
  CHECK(tensors.inverse().scalar_type() == torch::kFloat);

  std::mt19937 random(7);
  std::uniform_real_distribution<double> exponent(-30, 127);
  for (int i = 0; i < 2000; ++i) {
    const auto scale = static_cast<float>(std::exp2(exponent(random)));
    tensors.create(torch::kCPU, {scale, 0, 1});

    REQUIRE(tensors.inverse().item<float>() == static_cast<float>(1.0 / scale));
  }
}

TEST_CASE("A scale that only the device moves is not taken to be below 1 for that") {
  const DynamicLossScale policy(GradScalerOptions().init_scale(65536).growth_interval(1000));
  ScaleTensors tensors;
  tensors.create(torch::kCPU, policy.initial());

  for (int i = 0; i < 100; ++i) {
    tensors.move_(policy, found(false), std::nullopt);
    REQUIRE_FALSE(tensors.may_be_below_one());
  }
  for (int i = 0; i < 17; ++i) tensors.move_(policy, found(true), std::nullopt);
  CHECK(tensors.may_be_below_one());
}

TEST_CASE("A count beyond a lowered interval is brought below it, so that the next step grows") {
  const DynamicLossScale policy(GradScalerOptions().init_scale(4).growth_interval(2));
  ScaleTensors tensors;
  tensors.create(torch::kCPU, {4, 7, 1});

  tensors.limit_growth_tracker(2);
  tensors.move_(policy, found(false), std::nullopt);

  CHECK(tensors.read().scale == 8);
}

TEST_CASE("Tensors made in inference mode can be moved outside it") {
  ScaleTensors tensors;
  {
    c10::InferenceMode inference;
    tensors.create(torch::kCPU, {4, 0, 1});
  }

  CHECK_NOTHROW(tensors.move_(DynamicLossScale(), found(true), std::nullopt));
  CHECK(tensors.read().scale == 2);
}

TEST_CASE("A scale can be set from a number or a one-element tensor, whose storage is not shared") {
  ScaleTensors tensors;
  tensors.create(torch::kCPU, {4, 0, 1});
  tensors.set_scale(16);
  CHECK(tensors.read().scale == 16);

  auto source = torch::full({1}, 32.0);
  tensors.set_scale(source, GradScalerOptions());
  source.fill_(5);

  CHECK(tensors.read().scale == 32);
}

TEST_CASE("The host can tell that the scale is at least 1 until it may have fallen below") {
  const DynamicLossScale policy(GradScalerOptions().init_scale(2));
  ScaleTensors tensors;
  tensors.create(torch::kCPU, policy.initial());
  CHECK_FALSE(tensors.may_be_below_one());

  tensors.move_(policy, found(true), std::nullopt);  // to 1 at worst
  CHECK_FALSE(tensors.may_be_below_one());
  tensors.move_(policy, found(false), std::nullopt);
  CHECK(tensors.may_be_below_one());

  tensors.set_scale(4);
  CHECK_FALSE(tensors.may_be_below_one());
  tensors.set_scale(torch::full({}, 4.0), policy.options());  // which the host has not read
  CHECK(tensors.may_be_below_one());
  tensors.set_scale(torch::full({}, 4.0), GradScalerOptions().min_scale(2));
  CHECK_FALSE(tensors.may_be_below_one());
}

TEST_CASE("A scale that is set from a tensor keeps to the bounds, whatever its value") {
  const auto options = GradScalerOptions().init_scale(4).min_scale(2).max_scale(16);
  ScaleTensors tensors;
  tensors.create(torch::kCPU, {4, 0, 1});
  const auto set = [&](float value) {
    tensors.set_scale(torch::full({}, value), options);
    return tensors.read().scale;
  };

  CHECK(set(8) == 8);
  CHECK(set(0) == 2);
  CHECK(set(-1) == 2);
  CHECK(set(1e30F) == 16);
  CHECK(set(std::numeric_limits<float>::infinity()) == 16);
  CHECK(set(std::numeric_limits<float>::quiet_NaN()) == 2);
}
