// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What DeepSpeed's tests ask of its dynamic loss scale. A window there is a growth interval here.
#include <torchamp/core/grad_scaler.h>
#include <torchamp/io/archive.h>

#include "peers/one_parameter.h"
#include "support/doctest.h"

#include <limits>
#include <sstream>
#include <vector>

using torchamp::GradScalerOptions;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();
using Scales = std::vector<double>;

/// From `init_scale`, doubled after two good steps in a row, halved by an overflow.
GradScalerOptions window_of_two(double init_scale) {
  return GradScalerOptions().init_scale(init_scale).growth_interval(2).many_skips(0);
}

}  // namespace

TEST_CASE("Without overflow the scale doubles at every second step") {
  OneParameter training(window_of_two(256));

  CHECK(training.scales_after({1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) ==
        Scales{256, 512, 512, 1024, 1024, 2048, 2048, 4096, 4096, 8192});
}

TEST_CASE("With nothing but overflow the scale halves down to its lower bound, and no further") {
  const std::vector<float> overflows{infinity,     -infinity,    not_a_number, not_a_number,
                                     not_a_number, not_a_number, not_a_number, not_a_number};
  OneParameter to_one(window_of_two(16).min_scale(1)), to_two(window_of_two(16).min_scale(2));

  CHECK(to_one.scales_after(overflows) == Scales{8, 4, 2, 1, 1, 1, 1, 1});
  CHECK(to_two.scales_after(overflows) == Scales{8, 4, 2, 2, 2, 2, 2, 2});
  CHECK(to_one.scaler.skipped_steps() == 8);
  CHECK(to_one.parameter.item<float>() == 0);
}

TEST_CASE(
    "Some overflows: two quarter the scale, a window of good steps doubles it, one halves it") {
  OneParameter training(window_of_two(256));

  CHECK(training.scales_after({infinity, not_a_number}) == Scales{128, 64});
  CHECK(training.scales_after({1, 1, 1}) == Scales{64, 128, 128});
  CHECK(training.scales_after({infinity}) == Scales{64});
}

TEST_CASE("An overflow starts the window anew: it takes whole windows of good steps to grow") {
  OneParameter training(window_of_two(256));

  CHECK(training.scales_after({1, infinity, 1, infinity, 1, 1}) ==
        Scales{256, 128, 128, 64, 64, 128});
}

TEST_CASE("A hysteresis of three forgives two overflows, and backs off at the third and after") {
  OneParameter training(window_of_two(256).hysteresis(3));

  CHECK(training.scales_after({infinity, infinity, infinity, infinity}) ==
        Scales{256, 256, 128, 64});
}

TEST_CASE("A hysteresis that good steps do not refill runs out over time") {
  OneParameter training(window_of_two(256).growth_interval(100).hysteresis(3));

  CHECK(training.scales_after({infinity, 1, infinity, 1, infinity}) ==
        Scales{256, 256, 256, 256, 128});
}

TEST_CASE("A hysteresis that good steps refill never gives way to overflows that stand alone") {
  OneParameter training(
      window_of_two(256).growth_interval(100).hysteresis(2).consecutive_hysteresis(true));

  CHECK(training.scales_after({infinity, 1, infinity, 1, infinity, 1}) ==
        Scales{256, 256, 256, 256, 256, 256});
  CHECK(training.scales_after({infinity, infinity}) == Scales{256, 128});
}

TEST_CASE("What is left of the hysteresis is part of the state: one overflow spent stays spent") {
  OneParameter first(window_of_two(256).hysteresis(3)), restored(window_of_two(256).hysteresis(3));
  first.train(infinity);
  const auto state = first.scaler.state_dict();
  CHECK(state.hysteresis_tracker == 2);

  restored.scaler.load_state_dict(state);

  CHECK(restored.scales_after({infinity, infinity}) == Scales{256, 128});
}

TEST_CASE(
    "A training that goes on from a file backs off at the overflow that the first one would") {
  const auto options = window_of_two(256).growth_interval(100).hysteresis(2);
  OneParameter first(options), restored(options);
  CHECK(first.train(infinity) == 256);
  std::stringstream file;
  torch::save(first.scaler, file);

  torch::load(restored.scaler, file);

  CHECK(restored.train(infinity) == 128);
}
