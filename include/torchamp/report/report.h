// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart.h>
#include <torchamp/report/data_table.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/series.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A line about where and how was measured: {"libtorch", "LibTorch", "2.11.0"}.
struct Fact {
  std::string id{};     ///< the key in JSON
  std::string label{};  ///< what people read
  std::string value{};
};

/// One of the things that are compared: a column of the table, a line in the charts.
///
/// Two ids of metrics have a meaning: "step_seconds" is the whole of which the phases are parts,
/// and is drawn with them. Metrics in bytes are drawn as well.
struct Variant {
  std::string id{};               ///< "amp_bf16": the name in JSON and of what belongs to it
  std::string label{};            ///< what people read: "AMP bf16"
  std::vector<Metric> metrics{};  ///< the same ids in every variant make a row
  std::vector<Metric> phases{};   ///< seconds of a step by phase, in the order in which they run
  std::vector<Series> series{};   ///< the same ids in every variant make a chart
};

/// One variant against another, round by round: a ratio and the interval in which it lies.
struct Comparison {
  std::string id{};        ///< "step_seconds"
  std::string label{};     ///< "time per step"
  std::string variant{};   ///< the id of the variant above the line of the ratio
  std::string baseline{};  ///< the id of the variant below it
  double ratio = 1;        ///< variant / baseline, the middle of the rounds
  double low = 1;          ///< the interval's ends
  double high = 1;
  double confidence = 0.95;     ///< how sure the interval is, from 0 to 1
  std::size_t rounds = 0;       ///< how many pairs were measured
  bool stable = true;           ///< false: do not rely on it
  bool lower_is_better = true;  ///< of the ratio: true for times and memory
};

/// Something more to say: a table, charts, or both.
struct Section {
  std::string id{};  ///< "op_stats": the key in JSON, and the anchor in the page
  std::string title{};
  std::vector<std::string> paragraphs{};
  std::vector<Metric> metrics{};
  std::optional<DataTable> table{};
  std::vector<Chart> charts{};
};

/// A comparison as data: what report_text.h, report_json.h and report_html.h write.
///
/// It measures nothing, and every part may be empty. Ids are for programs: letters, digits, '_' and
/// '-', each once in its list. Labels and sentences are for people, in plain text: what a writer
/// must escape, it escapes. Writers refuse a report that makes no sense (`check_report.h`).
struct Report {
  std::string title = "FP32 against AMP";
  std::string subtitle{};               ///< the model, the data, the device, in a line
  std::vector<std::string> verdict{};   ///< faster or slower, by how much
  std::vector<std::string> reasons{};   ///< why
  std::vector<std::string> advice{};    ///< what to try
  std::vector<std::string> warnings{};  ///< what makes the numbers doubtful
  std::vector<Fact> environment{};
  std::vector<Variant> variants{};  ///< the baseline first
  std::vector<Comparison> comparisons{};
  std::vector<Section> sections{};  ///< what else there is, in this order
};

/// The variant with that id, or a null pointer.
inline const Variant* find_variant(const Report& report, const std::string& id) {
  for (const Variant& variant : report.variants) {
    if (variant.id == id) return &variant;
  }
  return nullptr;
}

/// The metric with that id, or a null pointer.
inline const Metric* find_metric(const std::vector<Metric>& metrics, const std::string& id) {
  for (const Metric& metric : metrics) {
    if (metric.id == id) return &metric;
  }
  return nullptr;
}

}  // namespace v0
}  // namespace torchamp
