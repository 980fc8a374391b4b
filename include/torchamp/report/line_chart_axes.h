// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/axis.h>
#include <torchamp/report/chart.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/series.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// From the least to the largest x of all lines.
inline Axis line_chart_x_axis(const LineChart& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool whole = true;
  for (const Series& line : chart.lines) {
    for (const double x : line.x) {
      low = (std::min)(low, x);
      high = (std::max)(high, x);
      whole = whole && x == std::floor(x);
    }
  }
  Axis::Options axis;
  axis.whole = whole;
  axis.round_ends = false;
  return Axis(low, high, axis);
}

/// All values that have a place on it, in the unit and the scale of the first line.
inline Axis line_chart_y_axis(const LineChart& chart) {
  Axis::Options axis;
  const Unit unit = chart.lines.empty() ? Unit::Plain : chart.lines.front().unit;
  if (!chart.lines.empty()) axis.scale = chart.lines.front().y_scale;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Series& line : chart.lines) {
    for (const double y : line.y) {
      if (!std::isfinite(y) || (axis.scale != AxisScale::Linear && y <= 0)) continue;
      low = (std::min)(low, y);
      high = (std::max)(high, y);
    }
  }
  if (low <= high) axis.unit = axis_unit(unit, (std::max)(std::fabs(low), std::fabs(high)));
  axis.whole = unit == Unit::Count;
  return Axis(low, high, axis);
}

/// Whether a line has so many points that their means are drawn over them. Not on a logarithmic
/// axis: a loss scale moves in jumps, and its mean is none.
inline bool averaged(const Series& line) {
  return line.size() > 200 && line.y_scale == AxisScale::Linear;
}

/// How many points make a mean: the same for all lines.
inline std::size_t points_in_a_mean(const LineChart& chart) {
  std::size_t longest = 0;
  for (const Series& line : chart.lines) longest = (std::max)(longest, line.size());
  return (longest + 99) / 100;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
