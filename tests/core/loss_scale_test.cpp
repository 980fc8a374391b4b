// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/loss_scale.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <limits>
#include <vector>

using torchamp::ConstantLossScale;
using torchamp::DynamicLossScale;
using torchamp::GradScalerOptions;

namespace {

/// Scale 4, doubled after two good steps, quartered by an overflow.
GradScalerOptions small_numbers() {
  return GradScalerOptions().init_scale(4).growth_factor(2).backoff_factor(0.25).growth_interval(2);
}

/// The scales after each step; true is an overflow.
std::vector<float> scales_after(const GradScalerOptions& options,
                                const std::vector<bool>& overflows) {
  const DynamicLossScale policy(options);
  auto state = policy.initial();
  std::vector<float> scales;
  for (const bool overflow : overflows) {
    state = policy.next(state, overflow);
    scales.push_back(state.scale);
  }
  return scales;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("The scale grows after an interval of good steps and backs off at an overflow") {
  const DynamicLossScale policy(small_numbers());
  auto state = policy.initial();
  CHECK(state.scale == 4);
  CHECK(state.growth_tracker == 0);

  state = policy.next(state, false);
  CHECK(state.scale == 4);
  CHECK(state.growth_tracker == 1);

  state = policy.next(state, false);
  CHECK(state.scale == 8);
  CHECK(state.growth_tracker == 0);

  state = policy.next(state, true);
  CHECK(state.scale == 2);
  CHECK(state.growth_tracker == 0);
}

TEST_CASE("An overflow starts the count of good steps again") {
  CHECK(scales_after(small_numbers(), {false, true, false, false}) ==
        std::vector<float>{4, 1, 1, 2});
}

TEST_CASE("A count beyond the interval grows too") {
  const DynamicLossScale policy(small_numbers());

  CHECK(policy.next({4, 7, 1}, false).scale == 8);
}

TEST_CASE("The scale stops at its bounds") {
  CHECK(scales_after(small_numbers().min_scale(2), {true, true}) == std::vector<float>{2, 2});
  CHECK(scales_after(small_numbers().max_scale(6).growth_interval(1), {false, false}) ==
        std::vector<float>{6, 6});
}

TEST_CASE("The scale does not grow beyond float32") {
  const auto options = small_numbers().init_scale(1e38).growth_factor(16).growth_interval(1);

  CHECK(scales_after(options, {false, false}) == std::vector<float>{1e38F, 1e38F});
}

TEST_CASE("With a hysteresis of 3 the third overflow backs off, and each one after it") {
  const auto options = small_numbers().init_scale(256).backoff_factor(0.5).hysteresis(3);

  CHECK(scales_after(options, {true, true, true, true}) == std::vector<float>{256, 256, 128, 64});
}

TEST_CASE("Growth refills the hysteresis") {
  const auto options = small_numbers().hysteresis(2).growth_interval(1);

  CHECK(scales_after(options, {true, false, true, true}) == std::vector<float>{4, 8, 8, 2});
}

TEST_CASE("Without consecutive hysteresis a good step alone forgives nothing; with it, it does") {
  const auto options = small_numbers().hysteresis(2).growth_interval(100);

  CHECK(scales_after(options, {true, false, true}).back() == 1);
  CHECK(scales_after(GradScalerOptions(options).consecutive_hysteresis(true), {true, false, true})
            .back() == 4);
}

TEST_CASE("A constant scale stays") {
  const ConstantLossScale policy(GradScalerOptions().init_scale(128));

  CHECK(policy.initial().scale == 128);
  CHECK(policy.next(policy.initial(), true).scale == 128);
  CHECK(policy.next(policy.initial(), false).scale == 128);
}

TEST_CASE("Options that make no sense are refused, each by name") {
  for (const double factor : {1.0, 0.5, -2.0, infinity, not_a_number}) {
    CAPTURE(factor);
    CHECK_ERROR(E08, DynamicLossScale(GradScalerOptions().growth_factor(factor)));
    CHECK_ERROR_SAYS("growth_factor", DynamicLossScale(GradScalerOptions().growth_factor(factor)));
  }
  for (const double factor : {0.0, 1.0, 2.0, -0.5, not_a_number}) {
    CAPTURE(factor);
    CHECK_ERROR_SAYS("backoff_factor",
                     DynamicLossScale(GradScalerOptions().backoff_factor(factor)));
  }
  CHECK_ERROR_SAYS("growth_interval", DynamicLossScale(GradScalerOptions().growth_interval(0)));
  CHECK_ERROR_SAYS("hysteresis", DynamicLossScale(GradScalerOptions().hysteresis(0)));
  CHECK_ERROR_SAYS("many_skips", DynamicLossScale(GradScalerOptions().many_skips(-1)));
  CHECK_ERROR_SAYS("many_skips_callback is empty",
                   DynamicLossScale(GradScalerOptions().on_many_skips(torchamp::ManySkips::Call)));
}

TEST_CASE("A constant policy refuses the options that only a dynamic one uses, as that does") {
  CHECK_ERROR(E08, ConstantLossScale(GradScalerOptions().growth_factor(1)));
  CHECK_ERROR(E08, ConstantLossScale(GradScalerOptions().backoff_factor(1)));
  CHECK_ERROR(E08, ConstantLossScale(GradScalerOptions().growth_interval(0)));
}

TEST_CASE("A scale that is zero, negative, infinite or not a number is refused by every policy") {
  for (const double scale : {0.0, -1.0, infinity, not_a_number}) {
    CAPTURE(scale);
    CHECK_ERROR(E08, DynamicLossScale(GradScalerOptions().init_scale(scale)));
    CHECK_ERROR_SAYS("init_scale", ConstantLossScale(GradScalerOptions().init_scale(scale)));
    CHECK_ERROR_SAYS("min_scale", DynamicLossScale(GradScalerOptions().min_scale(scale)));
    CHECK_ERROR_SAYS("max_scale", DynamicLossScale(GradScalerOptions().max_scale(scale)));
  }
}

TEST_CASE("A first scale outside its own bounds is refused") {
  CHECK_ERROR_SAYS("init_scale", DynamicLossScale(GradScalerOptions().init_scale(1).min_scale(2)));
  CHECK_ERROR_SAYS("init_scale", DynamicLossScale(GradScalerOptions().init_scale(9).max_scale(8)));
}
