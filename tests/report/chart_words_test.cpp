// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/chart_words.h>

#include "support/doctest.h"

#include <limits>
#include <string>

using torchamp::BarChart;
using torchamp::describe;
using torchamp::Histogram;
using torchamp::LineChart;
using torchamp::Series;
using torchamp::Unit;

TEST_CASE("A line chart in words has ends, extremes, gaps and marks of each line") {
  Series loss{"loss", "loss"};
  loss.marked_as = "skipped step";
  for (const double y : {2.0, std::numeric_limits<double>::quiet_NaN(), 0.5, 1.0}) {
    loss.push_back(static_cast<double>(loss.size()), y);
  }
  loss.marks = {1};
  Series one{"loss", "loss"};
  one.push_back(3, 4);

  const LineChart chart{"loss", "", {loss, one, Series{}}, {"FP32", "AMP", "none"}};

  CHECK(
      describe(chart) ==
      "Line chart: loss by step."
      " FP32: 4 points, from 2 at step 0 to 1 at step 3, lowest 0.5 at step 2, highest 2 at step 0."
      " 1 point is NaN or inf, the first at step 1. Marked as skipped step: step 1."
      " AMP: 1 point, 4 at step 3. none: 0 points.");
  CHECK(describe(LineChart{}) == "Line chart without lines.");
}

TEST_CASE("Of many marks the first twenty are named") {
  Series line{"a", "a"};
  for (int i = 0; i < 22; ++i) {
    line.push_back(i, 1);
    line.mark_last();
  }

  const std::string words = describe(LineChart{"a", "", {line}, {"FP32"}});

  CHECK(words.find("Marked: step 0, 1, 2,") != std::string::npos);
  CHECK(words.find(", 19 and 2 more points.") != std::string::npos);
}

TEST_CASE("A bar chart in words has every number") {
  BarChart chart{"time", "", "time", Unit::Seconds};
  chart.groups = {"forward", "backward"};
  chart.bars = {{"FP32", {0.004, 0.008}}, {"AMP", {0.002, {}}}};

  CHECK(describe(chart) ==
        "Bar chart: time. forward: FP32 4.00 ms, AMP 2.00 ms."
        " backward: FP32 8.00 ms, AMP not measured.");
  CHECK(describe(BarChart{}) == "Bar chart without bars.");
}

TEST_CASE("A histogram in words has its range, its top and what lies on both sides of each limit") {
  Histogram chart{"a", "", "magnitude"};
  chart.powers_of_two = true;
  chart.first_bin = -26;
  chart.counts = {1, 0, 3, 4};
  chart.limits = {{-24.5, "0 in float16"}};

  CHECK(describe(chart) ==
        "Histogram: 8 values by magnitude, from 2 to the power of -26 to 2 to the power of -23;"
        " most, 4, at 2 to the power of -23."
        " At 2 to the power of -24.5 (0 in float16): 1 (12.5 %) below, 7 (87.5 %) above.");
  CHECK(describe(Histogram{}) == "Histogram without values.");
}

TEST_CASE("A chart of any kind describes itself") {
  CHECK(describe(torchamp::Chart(BarChart{})) == "Bar chart without bars.");
}
