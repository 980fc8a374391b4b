// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart.h>
#include <torchamp/report/data_table.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/series.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// The numbers behind a chart. Of lines with more than `most_rows` points only some: the first, the
/// last, others at equal distances, and as many marked ones; `chart_table_points` says of how many.
DataTable chart_table(const LineChart& chart, std::size_t most_rows = 40);
DataTable chart_table(const BarChart& chart, std::size_t most_rows = 40);
DataTable chart_table(const Histogram& chart, std::size_t most_rows = 40);
DataTable chart_table(const Chart& chart, std::size_t most_rows = 40);

/// How many rows the table of all points has.
std::size_t chart_table_points(const Chart& chart);

namespace detail {

/// What the lines of a chart have at one x.
struct LineChartRow {
  std::vector<DataTable::Cell> values;
  std::string marked;  // the names of the lines that are marked here
};

/// By x and by how many points with that x came before: a step that is there twice makes two rows.
using LineChartRows = std::map<std::pair<double, std::size_t>, LineChartRow>;

inline LineChartRows line_chart_rows(const LineChart& chart) {
  LineChartRows rows;
  for (std::size_t n = 0; n < chart.lines.size(); ++n) {
    const Series& line = chart.lines[n];
    std::size_t mark = 0;
    std::size_t same = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      same = i > 0 && line.x[i] == line.x[i - 1] ? same + 1 : 0;
      LineChartRow& row = rows[{line.x[i], same}];
      row.values.resize(chart.lines.size());
      row.values[n] = line.y[i];
      if (mark == line.marks.size() || line.marks[mark] != i) continue;
      ++mark;
      row.marked += (row.marked.empty() ? "" : ", ") + chart.names[n];
    }
  }
  return rows;
}

}  // namespace detail

inline DataTable chart_table(const LineChart& chart, std::size_t most_rows) {
  const detail::LineChartRows rows = detail::line_chart_rows(chart);
  std::vector<DataTable::Column> columns{{chart.lines.empty() ? "x" : chart.lines[0].x_label}};
  std::string marked_as;
  bool any_mark = false;
  for (std::size_t n = 0; n < chart.lines.size(); ++n) {
    columns.push_back({chart.names[n], chart.lines[n].unit});
    any_mark = any_mark || !chart.lines[n].marks.empty();
    if (marked_as.empty()) marked_as = chart.lines[n].marked_as;
  }
  if (any_mark) columns.push_back({marked_as.empty() ? "marked" : marked_as});

  DataTable table(columns);
  const std::size_t all = rows.size();
  const std::size_t steps = most_rows > 1 ? most_rows - 1 : 1;
  std::size_t next = 0;  // of the rows at equal distances
  std::size_t marked_rows = 0;
  std::size_t i = 0;
  for (const auto& [at, row] : rows) {
    bool shown = all <= most_rows;
    if (!shown && i == next * (all - 1) / steps) {
      shown = true;
      ++next;
    }
    if (!shown && !row.marked.empty() && marked_rows < most_rows) shown = ++marked_rows > 0;
    ++i;
    if (!shown) continue;
    std::vector<DataTable::Cell> cells{at.first};
    cells.insert(cells.end(), row.values.begin(), row.values.end());
    if (any_mark) cells.emplace_back(row.marked);
    table.add_row(std::move(cells));
  }
  return table;
}

inline DataTable chart_table(const BarChart& chart, std::size_t /*most_rows*/) {
  std::vector<DataTable::Column> columns{{chart.label}};
  for (const BarChart::Bars& bars : chart.bars) columns.push_back({bars.name, chart.unit});
  DataTable table(columns);
  for (std::size_t group = 0; group < chart.groups.size(); ++group) {
    std::vector<DataTable::Cell> cells{chart.groups[group]};
    for (const BarChart::Bars& bars : chart.bars) {
      const std::optional<double>& value = bars.values[group];
      cells.push_back(value ? DataTable::Cell(*value) : DataTable::Cell("not measured"));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

/// Runs of bins with nothing in them are left out.
inline DataTable chart_table(const Histogram& chart, std::size_t /*most_rows*/) {
  DataTable table({{chart.x_label}, {chart.y_label, Unit::Count}});
  for (std::size_t i = 0; i < chart.counts.size(); ++i) {
    if (chart.counts[i] == 0) continue;
    const int bin = chart.first_bin + static_cast<int>(i);
    table.add_row({(chart.powers_of_two ? "2^" : "") + std::to_string(bin), chart.counts[i]});
  }
  return table;
}

inline DataTable chart_table(const Chart& chart, std::size_t most_rows) {
  return std::visit([&](const auto& kind) { return chart_table(kind, most_rows); }, chart);
}

inline std::size_t chart_table_points(const Chart& chart) {
  if (const auto* lines = std::get_if<LineChart>(&chart)) {
    return detail::line_chart_rows(*lines).size();
  }
  return chart_table(chart).rows().size();
}

}  // namespace v0
}  // namespace torchamp
