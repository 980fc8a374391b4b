// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/line_chart_axes.h>

#include "support/doctest.h"

#include <limits>
#include <string>

using torchamp::LineChart;
using torchamp::Series;
using torchamp::Unit;
using torchamp::detail::Axis;

namespace {

LineChart two_lines() {
  LineChart chart{"time", "time"};
  Series one{"a", "time", Unit::Seconds};
  one.push_back(0, 0.002);
  one.push_back(3, 0.008);
  Series other = one;
  other.push_back(10, 0.004);
  other.push_back(10, std::numeric_limits<double>::infinity());
  chart.lines = {one, other};
  chart.names = {"one", "other"};
  return chart;
}

}  // namespace

TEST_CASE("The x axis goes from the least to the largest x of all lines") {
  const Axis axis = torchamp::detail::line_chart_x_axis(two_lines());

  CHECK(axis.place(0) == 0);
  CHECK(axis.place(10) == 1);
  CHECK(axis.ticks()[1].label == "2");
}

TEST_CASE("The x axis of whole steps has no ticks between them") {
  LineChart chart = two_lines();
  for (Series& line : chart.lines) line.x = {0, 1};
  chart.lines[1].y.resize(2);

  CHECK(torchamp::detail::line_chart_x_axis(chart).ticks().size() == 2);

  chart.lines[0].x[1] = 0.5;
  CHECK(torchamp::detail::line_chart_x_axis(chart).ticks().size() > 2);
}

TEST_CASE("The y axis has all values with a place on it, in the unit that fits") {
  const Axis axis = torchamp::detail::line_chart_y_axis(two_lines());

  CHECK(axis.unit_name() == "ms");
  CHECK(axis.place(0.002) >= 0);
  CHECK(axis.place(0.008) == 1);
}

TEST_CASE("The y axis leaves out what a logarithmic one has no place for") {
  LineChart chart = two_lines();
  chart.lines[0].y_scale = torchamp::AxisScale::Log10;
  chart.lines[0].unit = Unit::Plain;
  chart.lines[0].y = {0, 1};
  chart.lines[1].y = {-5, 1, 100, 1};

  const Axis axis = torchamp::detail::line_chart_y_axis(chart);

  CHECK(axis.ticks().front().label == "10⁻¹");
  CHECK(axis.ticks().back().label == "10³");
}

TEST_CASE("Means are drawn over more than 200 points, but not on a logarithmic axis") {
  LineChart chart = two_lines();
  Series& line = chart.lines[0];
  line.x.assign(200, 0);
  line.y.assign(200, 1);
  CHECK_FALSE(torchamp::detail::averaged(line));

  line.push_back(1, 1);
  CHECK(torchamp::detail::averaged(line));
  CHECK(torchamp::detail::points_in_a_mean(chart) == 3);

  line.y_scale = torchamp::AxisScale::Log2;
  CHECK_FALSE(torchamp::detail::averaged(line));
}
