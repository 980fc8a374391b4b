// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/metric.h>

#include <cstddef>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// How the values of an axis are spaced.
enum class AxisScale {
  Linear,
  Log2,   ///< doubling is one equal distance: loss scales
  Log10,  ///< tenfold is one equal distance
};

/// How one number went: a loss at each step, a time in each round.
///
///     torchamp::Series scale{"scale", "loss scale"};
///     scale.y_scale = torchamp::AxisScale::Log2;
///     scale.marked_as = "skipped step";
///     scale.push_back(0, 65536);
///     scale.push_back(1, 32768);
///     scale.mark_last();  // step 1 was skipped
///
/// Series of several variants with the same id are drawn into one chart. NaN and inf are values as
/// any other: a chart leaves a gap and says so.
struct Series {
  std::string id{};     ///< "loss": the key in JSON, the same for every variant
  std::string label{};  ///< what people read, and the title of the axis: "loss"
  Unit unit = Unit::Plain;
  AxisScale y_scale = AxisScale::Linear;
  std::string x_label = "step";
  std::vector<double> x{};           ///< ascending
  std::vector<double> y{};           ///< as many as x, in the unit above
  std::vector<std::size_t> marks{};  ///< indices into x and y of points that stand out, ascending
  std::string marked_as{};           ///< what a mark means: "skipped step"

  /// Adds a point.
  void push_back(double point_x, double point_y) {
    x.push_back(point_x);
    y.push_back(point_y);
  }
  /// Marks the point that was added last; does nothing if there is none or it is marked already.
  void mark_last() {
    if (x.empty() || (!marks.empty() && marks.back() == x.size() - 1)) return;
    marks.push_back(x.size() - 1);
  }
  std::size_t size() const { return x.size(); }
};

}  // namespace v0
}  // namespace torchamp
