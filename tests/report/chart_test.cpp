// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/chart.h>

#include "support/doctest.h"

#include <variant>
#include <vector>

TEST_CASE("One list holds charts of every kind") {
  torchamp::Histogram exponents;
  exponents.first_bin = -24;
  exponents.counts = {1, 2};

  const std::vector<torchamp::Chart> charts{torchamp::LineChart{}, torchamp::BarChart{}, exponents};

  CHECK(std::holds_alternative<torchamp::LineChart>(charts[0]));
  CHECK(std::holds_alternative<torchamp::BarChart>(charts[1]));
  CHECK(std::get<torchamp::Histogram>(charts[2]).first_bin == -24);
}
