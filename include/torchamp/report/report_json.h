// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart.h>
#include <torchamp/report/check_report.h>
#include <torchamp/report/data_table.h>
#include <torchamp/report/json.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/report.h>
#include <torchamp/report/series.h>
#include <torchamp/version.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// The version of the layout that `write_json` writes, by semantic versioning; it is not
/// torchamp's.
///
/// - major: a member is gone, was renamed, or means something else. A reader must refuse it.
/// - minor: there is a new member, or a new word where words stand for kinds (units, charts). A
///   reader passes over what it does not know.
/// - patch: the same members, described or rounded better.
///
/// Which metrics, series and sections a report has is no part of the layout.
inline constexpr char report_schema_version[] = "1.0.0";

/// A report as JSON, with every point of every series.
///
/// Metrics, series and the environment are objects by id; variants, phases, comparisons and
/// sections are arrays, since their order says something. Numbers are in seconds, bytes, … as
/// "unit" says.
///
/// JSON has no NaN and no inf. A number that is one is null, and beside it stands which: a metric
/// has "non_finite": "nan", "inf" or "-inf"; a series has the indices of its points under
/// "non_finite", by the same names. In tables, bars and comparisons those names stand in place of
/// the number. A metric without a value is null with "absent", the reason.
/// Throws: [E29] if `check_report` refuses the report.
Json to_json(const Report& report);

/// Writes `to_json(report)` and a line break.   Throws: as `to_json`; nothing is written.
inline void write_json(const Report& report, std::ostream& out) { out << to_json(report) << '\n'; }

namespace detail {

/// "nan", "inf" or "-inf".
inline const char* non_finite_name(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/// The number, or its name if JSON has no such number.
inline Json number_or_name(double value) {
  return std::isfinite(value) ? Json(value) : Json(non_finite_name(value));
}

inline Json metric_json(const Metric& metric, bool with_id = false) {
  Json json = Json::object();
  if (with_id) json.set("id", metric.id);
  json.set("label", metric.label).set("unit", unit_name(metric.unit));
  if (!metric.value) return json.set("value", nullptr).set("absent", metric.absent);
  json.set("value", *metric.value);  // null if it is not finite
  if (!std::isfinite(*metric.value)) json.set("non_finite", non_finite_name(*metric.value));
  return json;
}

inline Json metrics_json(const std::vector<Metric>& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) json.set(metric.id, metric_json(metric));
  return json;
}

inline const char* axis_scale_name(AxisScale scale) {
  return scale == AxisScale::Log2 ? "log2" : scale == AxisScale::Log10 ? "log10" : "linear";
}

inline Json series_json(const Series& series) {
  Json json = Json::object();
  json.set("label", series.label)
      .set("unit", unit_name(series.unit))
      .set("y_scale", axis_scale_name(series.y_scale))
      .set("x_label", series.x_label)
      .set("x", series.x)
      .set("y", series.y);
  Json non_finite = Json::object();
  bool any = false;
  for (const char* name : {"nan", "inf", "-inf"}) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (!std::isfinite(series.y[i]) && std::string(non_finite_name(series.y[i])) == name) {
        indices.push_back(i);
      }
    }
    if (indices.empty()) continue;
    any = true;
    non_finite.set(name, indices);
  }
  if (any) json.set("non_finite", non_finite);
  return json.set("marked_as", series.marked_as).set("marks", series.marks);
}

inline Json table_json(const DataTable& table) {
  Json columns = Json::array();
  for (const DataTable::Column& column : table.columns()) {
    columns.push_back(
        Json::object().set("label", column.label).set("unit", unit_name(column.unit)));
  }
  Json rows = Json::array();
  for (const auto& row : table.rows()) {
    Json cells = Json::array();
    for (const DataTable::Cell& cell : row) {
      if (cell.number() != nullptr) {
        cells.push_back(number_or_name(*cell.number()));
      } else {
        cells.push_back(cell.text() != nullptr ? Json(*cell.text()) : Json(nullptr));
      }
    }
    rows.push_back(cells);
  }
  return Json::object().set("columns", columns).set("rows", rows);
}

struct ChartToJson {
  Json operator()(const LineChart& chart) const {
    Json lines = Json::array();
    for (std::size_t i = 0; i < chart.lines.size(); ++i) {
      lines.push_back(
          Json::object().set("name", chart.names[i]).set("series", series_json(chart.lines[i])));
    }
    return begin("lines", chart.id, chart.title).set("lines", lines);
  }
  Json operator()(const BarChart& chart) const {
    Json bars = Json::array();
    for (const BarChart::Bars& each : chart.bars) {
      Json values = Json::array();
      for (const std::optional<double>& value : each.values) {
        values.push_back(value ? number_or_name(*value) : Json(nullptr));
      }
      bars.push_back(Json::object().set("name", each.name).set("values", values));
    }
    return begin("bars", chart.id, chart.title)
        .set("label", chart.label)
        .set("unit", unit_name(chart.unit))
        .set("groups", chart.groups)
        .set("bars", bars);
  }
  Json operator()(const Histogram& chart) const {
    Json limits = Json::array();
    for (const Histogram::Limit& limit : chart.limits) {
      limits.push_back(Json::object().set("at", limit.at).set("label", limit.label));
    }
    return begin("histogram", chart.id, chart.title)
        .set("x_label", chart.x_label)
        .set("y_label", chart.y_label)
        .set("powers_of_two", chart.powers_of_two)
        .set("first_bin", chart.first_bin)
        .set("counts", chart.counts)
        .set("limits", limits);
  }

 private:
  static Json begin(const char* kind, const std::string& id, const std::string& title) {
    return Json::object().set("kind", kind).set("id", id).set("title", title);
  }
};

inline Json variant_json(const Variant& variant) {
  Json phases = Json::array();
  for (const Metric& phase : variant.phases) phases.push_back(metric_json(phase, true));
  Json series = Json::object();
  for (const Series& each : variant.series) series.set(each.id, series_json(each));
  return Json::object()
      .set("id", variant.id)
      .set("label", variant.label)
      .set("metrics", metrics_json(variant.metrics))
      .set("phases", phases)
      .set("series", series);
}

inline Json comparison_json(const Comparison& comparison) {
  return Json::object()
      .set("id", comparison.id)
      .set("label", comparison.label)
      .set("variant", comparison.variant)
      .set("baseline", comparison.baseline)
      .set("ratio", number_or_name(comparison.ratio))
      .set("low", number_or_name(comparison.low))
      .set("high", number_or_name(comparison.high))
      .set("confidence", number_or_name(comparison.confidence))
      .set("rounds", comparison.rounds)
      .set("stable", comparison.stable)
      .set("lower_is_better", comparison.lower_is_better);
}

inline Json section_json(const Section& section) {
  Json charts = Json::array();
  for (const Chart& chart : section.charts) charts.push_back(std::visit(ChartToJson{}, chart));
  return Json::object()
      .set("id", section.id)
      .set("title", section.title)
      .set("paragraphs", section.paragraphs)
      .set("metrics", metrics_json(section.metrics))
      .set("table", section.table ? table_json(*section.table) : Json(nullptr))
      .set("charts", charts);
}

}  // namespace detail

inline Json to_json(const Report& report) {
  check_report(report);
  Json environment = Json::object();
  for (const Fact& fact : report.environment) {
    environment.set(fact.id, Json::object().set("label", fact.label).set("value", fact.value));
  }
  Json variants = Json::array();
  for (const Variant& variant : report.variants) variants.push_back(detail::variant_json(variant));
  Json comparisons = Json::array();
  for (const Comparison& each : report.comparisons) {
    comparisons.push_back(detail::comparison_json(each));
  }
  Json sections = Json::array();
  for (const Section& section : report.sections) sections.push_back(detail::section_json(section));
  return Json::object()
      .set("schema",
           Json::object().set("name", "torchamp.report").set("version", report_schema_version))
      .set("torchamp", version)
      .set("title", report.title)
      .set("subtitle", report.subtitle)
      .set("verdict", report.verdict)
      .set("warnings", report.warnings)
      .set("reasons", report.reasons)
      .set("advice", report.advice)
      .set("environment", environment)
      .set("variants", variants)
      .set("comparisons", comparisons)
      .set("sections", sections);
}

}  // namespace v0
}  // namespace torchamp
