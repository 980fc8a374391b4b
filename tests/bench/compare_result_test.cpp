// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/compare_result.h>

#include "support/doctest.h"

#include <cstddef>
#include <limits>

using torchamp::first_not_finite;
using torchamp::largest_difference;

TEST_CASE("The largest difference of two loss curves is told with its step") {
  const auto largest = largest_difference({3, 2, 1}, {3, 2.5, 1.25});

  CHECK(largest.difference == 0.5);
  CHECK(largest.step == 1);
}

TEST_CASE("Equal curves have no difference, and what is not finite has none") {
  const double nan = std::numeric_limits<double>::quiet_NaN();

  CHECK(largest_difference({3, 2}, {3, 2}).difference == 0);
  CHECK(largest_difference({nan, 2}, {3, 3}).difference == 1);
  CHECK(largest_difference({3, 2}, {nan, 3}).step == 1);
  CHECK(largest_difference({3, 2, 9}, {3, 2}).difference == 0);
}

TEST_CASE("The first loss that is NaN or inf is found") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();

  CHECK(first_not_finite({3, nan, infinity}) == std::size_t{1});
  CHECK(first_not_finite({-infinity}) == std::size_t{0});
  CHECK_FALSE(first_not_finite({3, 2}));
  CHECK_FALSE(first_not_finite({}));
}
