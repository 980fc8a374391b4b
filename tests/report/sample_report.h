// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/report.h>

#include <cstddef>
#include <limits>
#include <string>
#include <variant>
#include <vector>

/// What stands in labels and sentences, and must come out as text.
inline const std::string hostile = "<script>alert(1)</script>&\"'";

/// A small report with a bit of everything: three variants, one with scaling, a loss that was NaN,
/// a skipped step, an unstable ratio, a section with a table and a histogram.
inline torchamp::Report sample_report() {
  using torchamp::Metric;
  using torchamp::Series;
  using torchamp::Unit;
  torchamp::Report report;
  report.title = "FP32 against AMP";
  report.subtitle = "SimpleCNN on cpu, 64 random images";
  report.verdict = {"AMP fp16 was faster here: 2.00x the speed of FP32, with 0.50x the memory."};
  report.reasons = {"The device multiplies half precision at twice the speed."};
  report.advice = {"Try larger batches, and sizes that are multiples of 8."};
  report.warnings = {"TF32 was measured in 3 rounds only."};
  report.environment = {{"libtorch", "LibTorch", "2.11.0"}, {"device", "device", "cpu, 2 threads"}};

  const char* ids[] = {"fp32", "tf32", "amp_fp16"};
  const char* labels[] = {"FP32", "TF32", "AMP fp16"};
  const double times[] = {1, 0.75, 0.5};
  for (std::size_t i = 0; i < 3; ++i) {
    torchamp::Variant variant;
    variant.id = ids[i];
    variant.label = labels[i];
    const bool amp = i == 2;
    variant.metrics = {{"step_seconds", "step, median", Unit::Seconds, 0.008 * times[i]},
                       {"images_per_second", "images", Unit::PerSecond, 8000 / times[i]},
                       {"peak_bytes", "peak memory", Unit::Bytes, amp ? 2e6 : 4e6},
                       {"final_scale", "final loss scale"}};
    variant.metrics.back().absent = "no scaling";
    if (amp) variant.metrics.back().value = 32768;
    variant.phases = {{"forward", "forward", Unit::Seconds, 0.003 * times[i]},
                      {"backward", "backward", Unit::Seconds, 0.005 * times[i]}};
    if (amp) variant.phases.push_back({"unscale", "unscale", Unit::Seconds, 0.0002});

    Series loss{"loss", "loss"};
    for (int step = 0; step < 4; ++step) loss.push_back(step, 2.5 - 0.5 * step + 0.125 * times[i]);
    if (amp) loss.y[1] = std::numeric_limits<double>::quiet_NaN();
    variant.series = {loss};
    if (amp) {
      Series scale{"scale", "loss scale"};
      scale.y_scale = torchamp::AxisScale::Log2;
      scale.marked_as = "skipped step";
      scale.push_back(0, 65536);
      scale.push_back(1, 32768);
      scale.mark_last();
      scale.push_back(2, 32768);
      scale.push_back(3, 32768);
      variant.series.push_back(scale);
    }
    report.variants.push_back(variant);
  }
  report.comparisons = {
      {"amp", "time per step", "amp_fp16", "fp32", 0.5, 0.48, 0.53, 0.95, 12, true},
      {"tf32", "time per step", "tf32", "fp32", 0.75, 0.6, 1.1, 0.95, 3, false}};

  torchamp::Section section;
  section.id = "underflow";
  section.title = "Gradients that underflow";
  section.paragraphs = {"How large they are, as powers of two."};
  section.metrics = {{"zeros", "zeros", Unit::Fraction, 0.125}};
  section.table.emplace(
      std::vector<torchamp::DataTable::Column>{{"parameter"}, {"zeros", Unit::Count}});
  section.table->add_row({"fc.weight", 12.0});
  section.table->add_row({"fc.bias", {}});
  torchamp::Histogram exponents;
  exponents.id = "exponents";
  exponents.title = "Exponents";
  exponents.x_label = "magnitude";
  exponents.powers_of_two = true;
  exponents.first_bin = -26;
  exponents.counts = {1, 0, 3, 4};
  exponents.limits = {{-24.5, "below: 0 in float16"}};
  section.charts = {exponents};
  report.sections = {section};
  return report;
}

/// The sample with text that is markup in every label, name and sentence.
inline torchamp::Report hostile_report() {
  torchamp::Report report = sample_report();
  report.title = report.subtitle = hostile;
  for (auto* sentences : {&report.verdict, &report.reasons, &report.advice, &report.warnings}) {
    sentences->front() = hostile;
  }
  for (auto& fact : report.environment) fact.label = fact.value = hostile;
  for (auto& variant : report.variants) {
    variant.label = hostile;
    for (auto& metric : variant.metrics) metric.label = metric.absent = hostile;
    for (auto& phase : variant.phases) phase.label = hostile;
    for (auto& series : variant.series) {
      series.label = series.x_label = hostile;
      if (!series.marks.empty()) series.marked_as = hostile;
    }
  }
  for (auto& comparison : report.comparisons) comparison.label = hostile;
  torchamp::Section& section = report.sections.front();
  section.title = section.paragraphs.front() = section.metrics.front().label = hostile;
  section.table.emplace(std::vector<torchamp::DataTable::Column>{{hostile}, {hostile}});
  section.table->add_row({hostile, hostile});
  auto& histogram = std::get<torchamp::Histogram>(section.charts.front());
  histogram.title = histogram.x_label = histogram.y_label = histogram.limits.front().label =
      hostile;
  return report;
}
