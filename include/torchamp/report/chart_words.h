// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/series.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What a chart shows, with its numbers, in sentences: for those who hear a page.
std::string describe(const LineChart& chart);
std::string describe(const BarChart& chart);
std::string describe(const Histogram& chart);
std::string describe(const Chart& chart);

namespace detail {

inline std::string counted(std::size_t count, const std::string& what) {
  return format_count(static_cast<std::int64_t>(count)) + " " + what + (count == 1 ? "" : "s");
}

/// "2 points are NaN or inf, the first at step 7."; "" if all are finite.
inline std::string describe_broken(const Series& series) {
  std::size_t broken = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!std::isfinite(series.y[i]) && ++broken == 1) first = i;
  }
  if (broken == 0) return "";
  return " " + counted(broken, "point") + (broken == 1 ? " is" : " are") +
         " NaN or inf, the first at " + series.x_label + " " + format_number(series.x[first]) + ".";
}

inline std::string describe_marks(const Series& series) {
  constexpr std::size_t most = 20;
  if (series.marks.empty()) return "";
  std::string text = " " + (series.marked_as.empty() ? "Marked" : "Marked as " + series.marked_as) +
                     ": " + series.x_label;
  for (std::size_t i = 0; i < (std::min)(most, series.marks.size()); ++i) {
    text += (i == 0 ? " " : ", ") + format_number(series.x[series.marks[i]]);
  }
  if (series.marks.size() > most)
    text += " and " + counted(series.marks.size() - most, "more point");
  return text + ".";
}

/// A line of a chart.
inline std::string describe_line(const Series& series, const std::string& name) {
  std::vector<std::size_t> finite;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (std::isfinite(series.y[i])) finite.push_back(i);
  }
  std::string text = " " + name + ": " + counted(series.size(), "point");
  const auto at = [&](std::size_t i) {
    return format(series.y[i], series.unit) + " at " + series.x_label + " " +
           format_number(series.x[i]);
  };
  if (finite.size() == 1) {
    text += ", " + at(finite.front());
  } else if (!finite.empty()) {
    const auto less = [&](std::size_t a, std::size_t b) { return series.y[a] < series.y[b]; };
    text += ", from " + at(finite.front()) + " to " + at(finite.back()) + ", lowest " +
            at(*std::min_element(finite.begin(), finite.end(), less)) + ", highest " +
            at(*std::max_element(finite.begin(), finite.end(), less));
  }
  return text + "." + describe_broken(series) + describe_marks(series);
}

}  // namespace detail

inline std::string describe(const LineChart& chart) {
  if (chart.lines.empty()) return "Line chart without lines.";
  const Series& first = chart.lines.front();
  std::string text = "Line chart: " + first.label + " by " + first.x_label + ".";
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    text += detail::describe_line(chart.lines[i], chart.names[i]);
  }
  return text;
}

inline std::string describe(const BarChart& chart) {
  if (chart.groups.empty()) return "Bar chart without bars.";
  std::string text = "Bar chart: " + chart.label + ".";
  for (std::size_t group = 0; group < chart.groups.size(); ++group) {
    text += " " + chart.groups[group] + ":";
    for (std::size_t i = 0; i < chart.bars.size(); ++i) {
      const std::optional<double>& value = chart.bars[i].values[group];
      text += (i == 0 ? " " : ", ") + chart.bars[i].name + " " +
              (value ? format(*value, chart.unit) : "not measured");
    }
    text += ".";
  }
  return text;
}

inline std::string describe(const Histogram& chart) {
  double all = 0;
  for (const double count : chart.counts) all += count;
  if (all == 0) return "Histogram without values.";
  const auto top = static_cast<int>(std::max_element(chart.counts.begin(), chart.counts.end()) -
                                    chart.counts.begin());
  const std::string power = chart.powers_of_two ? "2 to the power of " : "";
  std::string text = "Histogram: " + format_number(all) + " " + chart.y_label + " by " +
                     chart.x_label + ", from " + power + std::to_string(chart.first_bin) + " to " +
                     power +
                     std::to_string(chart.first_bin + static_cast<int>(chart.counts.size()) - 1) +
                     "; most, " + format_number(chart.counts[static_cast<std::size_t>(top)]) +
                     ", at " + power + std::to_string(chart.first_bin + top) + ".";
  for (const Histogram::Limit& limit : chart.limits) {
    double below = 0;
    for (std::size_t i = 0; i < chart.counts.size(); ++i) {
      if (chart.first_bin + static_cast<int>(i) < limit.at) below += chart.counts[i];
    }
    const auto part = [all](double count) {
      return format_number(count) + " (" + format(count / all, Unit::Fraction) + ")";
    };
    text += " At " + power + format_number(limit.at) + " (" + limit.label + "): " + part(below) +
            " below, " + part(all - below) + " above.";
  }
  return text;
}

inline std::string describe(const Chart& chart) {
  return std::visit([](const auto& kind) { return describe(kind); }, chart);
}

}  // namespace v0
}  // namespace torchamp
