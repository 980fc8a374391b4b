// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/report_charts.h>

#include "report/charts.h"
#include "report/sample_report.h"
#include "support/doctest.h"
#include "support/xml.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using torchamp::BarChart;
using torchamp::Chart;
using torchamp::charts_of;
using torchamp::LineChart;

TEST_CASE("A report shows time, memory and each kind of series") {
  const std::vector<Chart> charts = charts_of(sample_report());

  REQUIRE(charts.size() == 4);
  const auto& time = std::get<BarChart>(charts[0]);
  CHECK(time.id == "time");
  CHECK(time.groups == std::vector<std::string>{"step, median", "forward", "backward", "unscale"});
  REQUIRE(time.bars.size() == 3);
  CHECK(time.bars[2].name == "AMP fp16");
  CHECK(time.bars[2].values[0] == 0.004);
  CHECK(time.bars[0].values[3] == std::nullopt);  // FP32 unscales nothing
  CHECK(time.bars[2].values[3] == 0.0002);

  const auto& memory = std::get<BarChart>(charts[1]);
  CHECK(memory.id == "memory");
  CHECK(memory.groups == std::vector<std::string>{"peak memory"});
  CHECK(memory.bars[0].values[0] == 4e6);

  const auto& loss = std::get<LineChart>(charts[2]);
  CHECK(loss.id == "series-loss");
  CHECK(loss.title == "loss by step");
  CHECK(loss.names == std::vector<std::string>{"FP32", "TF32", "AMP fp16"});
}

TEST_CASE("The chart of memory has the whole names of what a comparison measures") {
  const std::string label = "allocated at most, all variants";
  torchamp::Report report = sample_report();
  report.variants[2].label = "AMP fp16 with FlatParameters";
  for (auto& variant : report.variants) {
    variant.metrics.push_back({"peak_allocated_bytes", label, torchamp::Unit::Bytes, 5e6});
  }

  const std::vector<std::string> texts = texts_of(Xml(svg_of(charts_of(report).at(1))));

  CHECK(std::find(texts.begin(), texts.end(), label) != texts.end());
}

TEST_CASE("A variant looks the same in every chart") {
  const auto scale = std::get<LineChart>(charts_of(sample_report()).at(3));

  CHECK(scale.id == "series-scale");
  CHECK(scale.names == std::vector<std::string>{"AMP fp16"});
  CHECK(scale.styles == std::vector<std::size_t>{2});
}

TEST_CASE("What is empty has no chart") {
  CHECK(charts_of({}).empty());

  torchamp::Report report = sample_report();
  for (auto& variant : report.variants) {
    variant.phases.clear();
    for (auto& metric : variant.metrics) metric.value.reset();
    for (auto& series : variant.series) series = {series.id, series.label};
  }
  CHECK(charts_of(report).empty());
}

TEST_CASE("A chart of any kind can be drawn") {
  for (const Chart& chart : charts_of(sample_report())) {
    CHECK(Xml(svg_of(chart)).error() == "");
  }
}
