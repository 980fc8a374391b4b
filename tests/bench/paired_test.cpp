// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/paired.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cstddef>
#include <limits>
#include <vector>

using doctest::Approx;
using torchamp::paired_ratio;

namespace {

std::vector<double> repeated(double value, std::size_t times) {
  return std::vector<double>(times, value);
}

}  // namespace

TEST_CASE("What always takes twice as long has the ratio 2, between 2 and 2") {
  const auto result = paired_ratio(repeated(6, 10), repeated(3, 10));

  CHECK(result.ratio == Approx(2));
  CHECK(result.low == Approx(2));
  CHECK(result.high == Approx(2));
  CHECK(result.rounds == 10);
  CHECK(result.stable());
}

TEST_CASE("A drift that slows down both cancels, however large") {
  const auto result = paired_ratio({2, 4, 8, 16, 32, 64, 128}, {1, 2, 4, 8, 16, 32, 64});

  CHECK(result.low == Approx(2));
  CHECK(result.high == Approx(2));
  CHECK(result.stable());
}

TEST_CASE("One round that something else disturbed moves the ratio not at all") {
  auto disturbed = repeated(2, 9);
  disturbed[4] = 1000;

  const auto result = paired_ratio(disturbed, repeated(1, 9));

  CHECK(result.ratio == Approx(2));
  CHECK(result.high == Approx(2));
}

TEST_CASE("Of six rounds the interval is from the least to the most, and 1 - 2/64 sure") {
  const auto result = paired_ratio({1, 2, 4, 8, 16, 32}, repeated(1, 6));

  CHECK(result.ratio == Approx(5.6569).epsilon(1e-4));  // halfway from 4 to 8 by ratio
  CHECK(result.low == Approx(1));
  CHECK(result.high == Approx(32));
  CHECK(result.confidence == Approx(1 - 2.0 / 64));
  CHECK_FALSE(result.too_few);
}

TEST_CASE("Of ten rounds the interval leaves out one at each end, and is 1 - 22/1024 sure") {
  const auto result = paired_ratio({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, repeated(1, 10));

  CHECK(result.low == Approx(2));
  CHECK(result.high == Approx(9));
  CHECK(result.confidence == Approx(1 - 22.0 / 1024));  // none or one of ten coins, twice
}

TEST_CASE("Less confidence gives a narrower interval") {
  const auto result = paired_ratio({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, repeated(1, 10), 0.8);

  CHECK(result.low == Approx(3));
  CHECK(result.high == Approx(8));
  CHECK(result.confidence == Approx(1 - 112.0 / 1024));
}

TEST_CASE("Hundreds of thousands of rounds are counted out as well") {
  const auto result = paired_ratio(repeated(3, 200001), repeated(1, 200001));

  CHECK(result.confidence >= 0.95);
  CHECK(result.confidence < 0.951);
}

TEST_CASE("Five rounds are too few for 95 %, and one for anything") {
  const auto five = paired_ratio(repeated(2, 5), repeated(1, 5));
  CHECK(five.too_few);
  CHECK_FALSE(five.stable());
  CHECK(five.confidence == Approx(1 - 2.0 / 32));

  const auto one = paired_ratio({2}, {1});
  CHECK(one.too_few);
  CHECK(one.ratio == Approx(2));
  CHECK(one.confidence == 0);
}

TEST_CASE("Noise is called unstable, unless that much was tolerated") {
  const std::vector<double> noisy{0.8, 1.2, 0.9, 1.1, 0.85, 1.15, 0.95, 1.05};

  CHECK(paired_ratio(noisy, repeated(1, 8)).too_wide);
  CHECK_FALSE(paired_ratio(noisy, repeated(1, 8)).stable());
  CHECK(paired_ratio(noisy, repeated(1, 8), 0.95, /*tolerance=*/0.3).stable());
}

TEST_CASE("The interval is looked at on both sides of the ratio") {
  const std::vector<double> above{1, 1, 1, 1, 1, 1.2, 1.2};  // 7 rounds: from the least to the most
  const std::vector<double> below{1, 1, 1, 1, 1, 0.8, 0.8};

  CHECK(paired_ratio(above, repeated(1, 7)).too_wide);
  CHECK(paired_ratio(below, repeated(1, 7)).too_wide);
}

TEST_CASE("A ratio that changes while it is measured is called unstable, in both directions") {
  std::vector<double> rises = repeated(1, 8);
  std::vector<double> falls = repeated(1.2, 8);
  rises.insert(rises.end(), 8, 1.2);
  falls.insert(falls.end(), 8, 1);

  CHECK(paired_ratio(rises, repeated(1, 16), 0.95, /*tolerance=*/0.15).drifted);
  CHECK(paired_ratio(falls, repeated(1, 16), 0.95, /*tolerance=*/0.15).drifted);
  CHECK_FALSE(paired_ratio(rises, repeated(1, 16), 0.95, /*tolerance=*/0.25).drifted);
  CHECK_FALSE(paired_ratio(repeated(1, 16), repeated(1, 16)).drifted);
}

TEST_CASE("What makes no ratios is refused") {
  CHECK_ERROR(E30, paired_ratio({}, {}));
  CHECK_ERROR(E30, paired_ratio({1, 2}, {1}));
  CHECK_ERROR(E30, paired_ratio({0}, {1}));
  CHECK_ERROR(E30, paired_ratio({1}, {-1}));
  CHECK_ERROR(E30, paired_ratio({std::numeric_limits<double>::infinity()}, {1}));
  CHECK_ERROR(E30, paired_ratio({std::numeric_limits<double>::quiet_NaN()}, {1}));
}
