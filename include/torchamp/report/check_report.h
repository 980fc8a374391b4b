// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart.h>
#include <torchamp/report/report.h>
#include <torchamp/report/series.h>

#include <cmath>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Throws: [E29] if the report makes no sense: an id that is empty, has other signs than letters,
/// digits, '_' and '-', or is there twice; a comparison of a variant that is not there; a series or
/// chart that `check_series` or `check_chart` refuses. Every writer calls it first.
void check_report(const Report& report);

/// Throws: [E29] if there are not as many y as x, an x is not finite or less than the one before,
/// or a mark is of no point or out of order.
void check_series(const Series& series);

/// Throws: [E29] if the id is none, a line has no name or a name no line, bars have not one value a
/// group, a count or a limit is not finite, or a series is refused.
void check_chart(const Chart& chart);

namespace detail {

[[noreturn]] inline void refuse_report(const std::string& what) {
  throw std::invalid_argument("[torchamp.E29] " + what);
}

inline void check_id(const std::string& id, const std::string& of) {
  bool good = !id.empty();
  for (const char sign : id) {
    good = good && ((sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') ||
                    (sign >= '0' && sign <= '9') || sign == '_' || sign == '-');
  }
  if (!good) {
    refuse_report("check_report(): the id \"" + id + "\" of a " + of +
                  " is none; use letters, digits, '_' and '-', and put other text into the label");
  }
}

/// `items` have an id each.
template <class Items>
void check_ids(const Items& items, const std::string& of) {
  std::set<std::string> seen;
  for (const auto& item : items) {
    check_id(item.id, of);
    if (!seen.insert(item.id).second) {
      refuse_report("check_report(): the id \"" + item.id + "\" of a " + of +
                    " is there twice; give each its own");
    }
  }
}

struct ChartChecker {
  void operator()(const LineChart& chart) const {
    check_id(chart.id, "chart");
    check_count(chart.id, "name", chart.names.size(), "line", chart.lines.size());
    if (!chart.styles.empty()) {
      check_count(chart.id, "style", chart.styles.size(), "line", chart.lines.size());
    }
    for (const Series& line : chart.lines) check_series(line);
  }
  void operator()(const BarChart& chart) const {
    check_id(chart.id, "chart");
    for (const BarChart::Bars& bars : chart.bars) {
      check_count(chart.id, "value", bars.values.size(), "group", chart.groups.size());
    }
  }
  void operator()(const Histogram& chart) const {
    check_id(chart.id, "chart");
    for (const double count : chart.counts) {
      if (std::isfinite(count) && count >= 0) continue;
      refuse_report("check_chart(): the chart \"" + chart.id + "\" has the count " +
                    format_number(count) + "; counts are finite and not negative");
    }
    for (const Histogram::Limit& limit : chart.limits) {
      if (std::isfinite(limit.at)) continue;
      refuse_report("check_chart(): the chart \"" + chart.id + "\" has a limit at " +
                    format_number(limit.at) + "; a limit is a place on the x axis");
    }
  }

 private:
  static void check_count(const std::string& id, const std::string& what, std::size_t count,
                          const std::string& of, std::size_t expected) {
    if (count == expected) return;
    refuse_report("check_chart(): the chart \"" + id + "\" has " + std::to_string(count) + " " +
                  what + "s for " + std::to_string(expected) + " " + of + "s; give one " + what +
                  " a " + of);
  }
};

}  // namespace detail

inline void check_series(const Series& series) {
  const std::string begin = "check_series(): the series \"" + series.id + "\"";
  if (series.x.size() != series.y.size()) {
    detail::refuse_report(begin + " has " + std::to_string(series.x.size()) + " x and " +
                          std::to_string(series.y.size()) + " y; add points with push_back()");
  }
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.x[i]) || (i > 0 && series.x[i] < series.x[i - 1])) {
      detail::refuse_report(begin +
                            " has an x that is not finite, or less than the one before, at " +
                            std::to_string(i) + "; sort the points by x");
    }
  }
  for (std::size_t i = 0; i < series.marks.size(); ++i) {
    if (series.marks[i] >= series.size() || (i > 0 && series.marks[i] <= series.marks[i - 1])) {
      detail::refuse_report(begin + " has " + std::to_string(series.size()) +
                            " points and, at its place " + std::to_string(i) + ", the mark " +
                            std::to_string(series.marks[i]) +
                            "; marks are indices of points, each once, ascending");
    }
  }
}

inline void check_chart(const Chart& chart) { std::visit(detail::ChartChecker{}, chart); }

inline void check_report(const Report& report) {
  detail::check_ids(report.environment, "line of the environment");
  detail::check_ids(report.variants, "variant");
  detail::check_ids(report.sections, "section");
  for (const Variant& variant : report.variants) {
    detail::check_ids(variant.metrics, "metric of " + variant.id);
    detail::check_ids(variant.phases, "phase of " + variant.id);
    detail::check_ids(variant.series, "series of " + variant.id);
    for (const Series& series : variant.series) check_series(series);
  }
  for (const Comparison& comparison : report.comparisons) {
    detail::check_id(comparison.id, "comparison");
    for (const std::string& id : {comparison.variant, comparison.baseline}) {
      if (find_variant(report, id) != nullptr) continue;
      detail::refuse_report("check_report(): the comparison \"" + comparison.id +
                            "\" is of a variant \"" + id +
                            "\", and there is none with that id; name those of the report");
    }
  }
  for (const Section& section : report.sections) {
    detail::check_ids(section.metrics, "metric of the section " + section.id);
    for (const Chart& chart : section.charts) check_chart(chart);
  }
}

}  // namespace v0
}  // namespace torchamp
