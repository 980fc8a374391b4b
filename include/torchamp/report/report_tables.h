// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/data_table.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/report.h>
#include <torchamp/report/report_charts.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// A table as text, the header first; every row has as many cells.
using TextRows = std::vector<std::vector<std::string>>;

inline void add_metric_rows(TextRows& rows, const Report& report,
                            std::vector<Metric> Variant::*metrics) {
  for (const std::string& id : ids_of(report, metrics)) {
    std::vector<std::string> row{""};
    for (const Variant& variant : report.variants) {
      const Metric* metric = find_metric(variant.*metrics, id);
      if (metric != nullptr && row[0].empty()) row[0] = metric->label;
      row.push_back(metric != nullptr ? metric->text() : Metric{}.absent);
    }
    rows.push_back(std::move(row));
  }
}

/// The metrics and then the phases, a column for each variant.
inline TextRows metric_rows(const Report& report) {
  TextRows rows{{""}};
  for (const Variant& variant : report.variants) rows[0].push_back(variant.label);
  add_metric_rows(rows, report, &Variant::metrics);
  add_metric_rows(rows, report, &Variant::phases);
  return rows;
}

inline TextRows comparison_rows(const Report& report) {
  TextRows rows{{"round by round", "ratio", "interval", "rounds", "stable"}};
  for (const Comparison& comparison : report.comparisons) {
    const auto ratio = [](double value) { return format(value, Unit::Ratio); };
    rows.push_back({comparison.label + ", " + find_variant(report, comparison.variant)->label +
                        " / " + find_variant(report, comparison.baseline)->label,
                    ratio(comparison.ratio),
                    ratio(comparison.low) + " to " + ratio(comparison.high) + " (" +
                        format_number(100 * comparison.confidence) + " %)",
                    format_number(static_cast<double>(comparison.rounds)),
                    comparison.stable ? "yes" : "no"});
  }
  return rows;
}

inline TextRows text_rows(const DataTable& table) {
  TextRows rows(1);
  for (const DataTable::Column& column : table.columns()) rows[0].push_back(column.label);
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    rows.emplace_back();
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      rows.back().push_back(table.text_at(row, i));
    }
  }
  return rows;
}

inline TextRows text_rows(const std::vector<Metric>& metrics) {
  TextRows rows{{"", "value"}};
  for (const Metric& metric : metrics) rows.push_back({metric.label, metric.text()});
  return rows;
}

inline TextRows text_rows(const std::vector<Fact>& facts) {
  TextRows rows{{"", "here"}};
  for (const Fact& fact : facts) rows.push_back({fact.label, fact.value});
  return rows;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
