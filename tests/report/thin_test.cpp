// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/thin.h>

#include "support/doctest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using torchamp::detail::means_of;
using torchamp::detail::thin;
using Indices = std::vector<std::size_t>;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<double> steps(std::size_t count) {
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<double>(i));
  return x;
}

bool has(const Indices& kept, std::size_t index) {
  return std::find(kept.begin(), kept.end(), index) != kept.end();
}

}  // namespace

TEST_CASE("Few points are all kept") {
  CHECK(thin({}, {}, 10) == Indices{});
  CHECK(thin({1}, {1}, 1) == Indices{0});
  CHECK(thin({1, 2, 3}, {5, not_a_number, 5}, 2) == Indices{0, 1, 2});
}

TEST_CASE("Of each column the first, last, lowest and highest point are kept") {
  // Ten points a column.
  std::vector<double> y(20, 5);
  y[3] = 1;
  y[6] = 9;

  const Indices kept = thin(steps(20), y, 2);

  CHECK(kept == Indices{0, 3, 6, 9, 10, 19});
}

TEST_CASE("A hundred thousand points become few, and no peak is lost") {
  std::vector<double> y(100000, 1);
  y[54321] = 100;
  y[77777] = -100;

  const Indices kept = thin(steps(100000), y, 400);

  CHECK(kept.size() <= 4 * 400);
  CHECK(has(kept, 0));
  CHECK(has(kept, 99999));
  CHECK(has(kept, 54321));
  CHECK(has(kept, 77777));
  CHECK(std::is_sorted(kept.begin(), kept.end()));
}

TEST_CASE("A point that is not finite is kept, also where it is the only one of its kind") {
  std::vector<double> y(1000, 1);
  y[500] = not_a_number;
  y[501] = not_a_number;

  const Indices kept = thin(steps(1000), y, 10);

  CHECK(has(kept, 500));
  CHECK_FALSE(has(kept, 501));  // it makes no other gap
  CHECK(thin(steps(1000), std::vector<double>(1000, not_a_number), 10).size() == 10);
}

TEST_CASE("Points that all have one x, and those of a huge range, are thinned") {
  const double largest = (std::numeric_limits<double>::max)();

  CHECK(thin(std::vector<double>(100, 7), steps(100), 10) == Indices{0, 99});

  std::vector<double> x(100, 0);
  x.front() = -largest;
  x.back() = largest;
  const Indices kept = thin(x, steps(100), 10);
  CHECK(kept == Indices{0, 1, 98, 99});
}

TEST_CASE("Means are of so many points each, the last of the rest") {
  const auto means = means_of({0, 1, 2, 3, 4}, {1, 3, 5, 7, 9}, 2);

  CHECK(means.x == std::vector<double>{0.5, 2.5, 4});
  CHECK(means.y == std::vector<double>{2, 6, 9});
}

TEST_CASE("Means leave out what is not finite, and are NaN if nothing is left") {
  const auto means = means_of(
      {0, 1, 2, 3}, {not_a_number, 3, not_a_number, -std::numeric_limits<double>::infinity()}, 2);

  CHECK(means.y[0] == 3);
  CHECK(std::isnan(means.y[1]));
}
