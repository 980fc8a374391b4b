// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/bar_chart.h>
#include <torchamp/report/chart.h>
#include <torchamp/report/histogram.h>
#include <torchamp/report/line_chart.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/report.h>
#include <torchamp/report/svg.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What a report has to show: "time", the step and its phases; "memory", the metrics in bytes; and
/// "series-" and the id for each id of series. Without the charts that would be empty, and
/// without those of the sections.
std::vector<Chart> charts_of(const Report& report);

/// Draws a chart of any kind.   Throws: [E29] if `check_chart` refuses it; nothing is written.
void write_svg(const Chart& chart, std::ostream& out, const SvgOptions& options = {});

namespace detail {

/// The ids of items of all variants, in the order in which they first come.
template <class Items>
std::vector<std::string> ids_of(const Report& report, Items Variant::*items) {
  std::vector<std::string> ids;
  for (const Variant& variant : report.variants) {
    for (const auto& item : variant.*items) {
      if (std::find(ids.begin(), ids.end(), item.id) == ids.end()) ids.push_back(item.id);
    }
  }
  return ids;
}

/// Adds a group of bars; nothing if no variant has a value.
inline void add_group(BarChart& chart, const Report& report, std::vector<Metric> Variant::*metrics,
                      const std::string& id) {
  std::string label;
  std::vector<std::optional<double>> values;
  bool any = false;
  for (const Variant& variant : report.variants) {
    const Metric* metric = find_metric(variant.*metrics, id);
    if (metric != nullptr && label.empty()) label = metric->label;
    values.push_back(metric != nullptr ? metric->value : std::nullopt);
    any = any || values.back().has_value();
  }
  if (!any) return;
  chart.groups.push_back(label);
  for (std::size_t i = 0; i < values.size(); ++i) chart.bars[i].values.push_back(values[i]);
}

inline BarChart empty_bar_chart(const Report& report) {
  BarChart chart;
  for (const Variant& variant : report.variants) chart.bars.push_back({variant.label, {}});
  return chart;
}

}  // namespace detail

inline std::vector<Chart> charts_of(const Report& report) {
  std::vector<Chart> charts;

  BarChart time = detail::empty_bar_chart(report);
  time.id = "time";
  time.title = "Time of a step, and of its phases";
  time.label = "time";
  time.unit = Unit::Seconds;
  detail::add_group(time, report, &Variant::metrics, "step_seconds");
  for (const std::string& id : detail::ids_of(report, &Variant::phases)) {
    detail::add_group(time, report, &Variant::phases, id);
  }
  if (!time.groups.empty()) charts.push_back(std::move(time));

  BarChart memory = detail::empty_bar_chart(report);
  memory.id = "memory";
  memory.title = "Memory";
  memory.label = "memory";
  memory.unit = Unit::Bytes;
  for (const std::string& id : detail::ids_of(report, &Variant::metrics)) {
    for (const Variant& variant : report.variants) {
      const Metric* metric = find_metric(variant.metrics, id);
      if (metric == nullptr || metric->unit != Unit::Bytes) continue;
      detail::add_group(memory, report, &Variant::metrics, id);
      break;
    }
  }
  if (!memory.groups.empty()) charts.push_back(std::move(memory));

  for (const std::string& id : detail::ids_of(report, &Variant::series)) {
    LineChart lines;
    lines.id = "series-" + id;
    for (std::size_t n = 0; n < report.variants.size(); ++n) {
      for (const Series& series : report.variants[n].series) {
        if (series.id != id || series.size() == 0) continue;
        lines.lines.push_back(series);
        lines.names.push_back(report.variants[n].label);
        lines.styles.push_back(n);
      }
    }
    if (lines.lines.empty()) continue;
    lines.title = lines.lines[0].label + " by " + lines.lines[0].x_label;
    charts.push_back(std::move(lines));
  }
  return charts;
}

inline void write_svg(const Chart& chart, std::ostream& out, const SvgOptions& options) {
  std::visit([&](const auto& kind) { write_svg(kind, out, options); }, chart);
}

}  // namespace v0
}  // namespace torchamp
