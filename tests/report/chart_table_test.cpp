// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/chart_table.h>

#include "support/doctest.h"

#include <string>
#include <vector>

using torchamp::BarChart;
using torchamp::chart_table;
using torchamp::chart_table_points;
using torchamp::DataTable;
using torchamp::Histogram;
using torchamp::LineChart;
using torchamp::Series;
using torchamp::Unit;

namespace {

/// "a|b|c" for each row, the header first.
std::vector<std::string> lines_of(const DataTable& table) {
  std::vector<std::string> lines(1);
  for (const auto& column : table.columns()) lines[0] += column.label + "|";
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    lines.emplace_back();
    for (std::size_t i = 0; i < table.columns().size(); ++i) {
      lines.back() += table.text_at(row, i) + "|";
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

LineChart long_line(std::size_t points) {
  Series line{"loss", "loss"};
  for (std::size_t i = 0; i < points; ++i) line.push_back(static_cast<double>(i), 1);
  return {"loss", "", {line}, {"FP32"}};
}

}  // namespace

TEST_CASE("The table of lines has a row for each x, and says which are marked") {
  Series one{"scale", "scale"};
  one.push_back(0, 4);
  one.push_back(1, 2);
  one.mark_last();
  one.marked_as = "skipped step";
  Series other{"scale", "scale"};
  other.push_back(1, 8);
  other.mark_last();
  other.push_back(1, 9);  // once more at the same x
  other.push_back(2, 8);

  CHECK(lines_of(chart_table(LineChart{"scale", "", {one, other}, {"A", "B"}})) ==
        Lines{"step|A|B|skipped step|", "0|4|||", "1|2|8|A, B|", "1||9||", "2||8||"});
}

TEST_CASE("Of many points the table has the ends, some at equal distances, and the marked ones") {
  LineChart chart = long_line(101);
  chart.lines[0].marks = {13};

  const DataTable table = chart_table(chart, 5);

  std::vector<double> x;
  for (const auto& row : table.rows()) x.push_back(*row[0].number());
  CHECK(x == std::vector<double>{0, 13, 25, 50, 75, 100});
  CHECK(table.text_at(1, 2) == "FP32");
  CHECK(chart_table_points(chart) == 101);
}

TEST_CASE("A table with room for all points has them all") {
  CHECK(chart_table(long_line(40)).rows().size() == 40);
  CHECK(chart_table(long_line(41)).rows().size() == 40);
  CHECK(chart_table(long_line(100000)).rows().size() == 40);
}

TEST_CASE("Where every point is marked the table stays short") {
  LineChart chart = long_line(1000);
  for (std::size_t i = 0; i < 1000; ++i) chart.lines[0].marks.push_back(i);

  CHECK(chart_table(chart).rows().size() <= 80);
}

TEST_CASE("The table of bars has a row for each group") {
  BarChart chart{"time", "", "time", Unit::Seconds};
  chart.groups = {"forward", "backward"};
  chart.bars = {{"FP32", {0.004, 0.008}}, {"AMP", {0.002, {}}}};

  CHECK(lines_of(chart_table(chart)) ==
        Lines{"time|FP32|AMP|", "forward|4.00 ms|2.00 ms|", "backward|8.00 ms|not measured|"});
  CHECK(chart_table_points(chart) == 2);
}

TEST_CASE("The table of a histogram has a row for each count that is not 0") {
  Histogram chart{"a", "", "magnitude"};
  chart.powers_of_two = true;
  chart.first_bin = -2;
  chart.counts = {1, 0, 3000};

  CHECK(lines_of(chart_table(torchamp::Chart(chart))) ==
        Lines{"magnitude|values|", "2^-2|1|", "2^0|3,000|"});
}

TEST_CASE("Charts without anything have tables without rows") {
  CHECK(chart_table(LineChart{}).rows().empty());
  CHECK(chart_table(BarChart{}).rows().empty());
  CHECK(chart_table(Histogram{}).rows().empty());
}
