// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/metric.h>
#include <torchamp/report/series.h>

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

// Charts as data. line_chart.h, bar_chart.h and histogram.h draw them.

/// Several series over one x axis: loss per step, scale per step.
///
/// Unit, y scale, labels of the axes and the meaning of marks are those of the first series.
struct LineChart {
  std::string id{};  ///< names the parts of the SVG; letters, digits, '_' and '-'
  std::string title{};
  std::vector<Series> lines{};       ///< the label of each is what the axis shows
  std::vector<std::string> names{};  ///< who each line is of: "FP32", "AMP bf16"; as many as lines
  /// Which colour, dash and marker each line has; empty: by its place. It lets a variant look the
  /// same in every chart.
  std::vector<std::size_t> styles{};
};

/// Bars side by side: time per phase, peak memory.
struct BarChart {
  struct Bars {
    std::string name{};                           ///< who: "FP32"
    std::vector<std::optional<double>> values{};  ///< one a group; none where there is no number
  };
  std::string id{};
  std::string title{};
  std::string label{};  ///< what the bars show: "median time"
  Unit unit = Unit::Plain;
  std::vector<std::string> groups{};  ///< "forward", "backward", …
  std::vector<Bars> bars{};
};

/// How often each of a run of whole numbers came: the exponents of gradients.
struct Histogram {
  struct Limit {
    double at;            ///< on the x axis; between two bins at a half: -14.5
    std::string label{};  ///< what begins there, and on which side: "below: subnormal in float16"
  };
  std::string id{};
  std::string title{};
  std::string x_label{};  ///< "exponent"
  std::string y_label = "values";
  bool powers_of_two = false;  ///< bin n is shown as 2 to the power of n
  int first_bin = 0;           ///< what the first count is of; the others follow one by one
  std::vector<double> counts{};
  std::vector<Limit> limits{};  ///< lines across the chart
};

using Chart = std::variant<LineChart, BarChart, Histogram>;

}  // namespace v0
}  // namespace torchamp
