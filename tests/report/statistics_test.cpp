// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/statistics.h>

#include "support/doctest.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using torchamp::median;
using torchamp::percentile;

TEST_CASE("The median is the middle value, whatever the order") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({7}) == 7);
}

TEST_CASE("The median of an even number of values is the mean of the two in the middle") {
  CHECK(median({4, 1, 3, 2}) == 2.5);
}

TEST_CASE("A percentile interpolates linearly between the nearest ranks") {
  const std::vector<double> values{50, 20, 40, 10, 30};

  CHECK(percentile(values, 0) == 10);
  CHECK(percentile(values, 25) == 20);
  CHECK(percentile(values, 95) == doctest::Approx(48));
  CHECK(percentile(values, 100) == 50);
}

TEST_CASE("A percentile keeps infinite values apart from finite ones") {
  const double infinity = std::numeric_limits<double>::infinity();

  CHECK(percentile({1, 2, infinity}, 50) == 2);
  CHECK(percentile({1, 2, infinity}, 100) == infinity);
}

TEST_CASE("Statistics refuse what has no answer, with id E14") {
  const double nan = std::nan("");

  CHECK_THROWS_WITH_AS(median({}), doctest::Contains("[torchamp.E14]"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(percentile({}, 95), doctest::Contains("no values"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(median({1, nan}), doctest::Contains("NaN"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(percentile({1}, -1), doctest::Contains("-1.0"), std::invalid_argument);
  CHECK_THROWS_AS(percentile({1}, 100.5), std::invalid_argument);
  CHECK_THROWS_AS(percentile({1}, nan), std::invalid_argument);
}
