// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/check_report.h>

#include "support/doctest.h"

#include <limits>
#include <stdexcept>
#include <string>

using torchamp::check_report;
using torchamp::Metric;
using torchamp::Report;
using torchamp::Series;

namespace {

Report small_report() {
  Report report;
  report.environment = {{"libtorch", "LibTorch", "2.11.0"}};
  report.variants = {{"fp32", "FP32"}, {"amp_bf16", "AMP bf16"}};
  for (auto& variant : report.variants) {
    variant.metrics = {{"final_loss", "final loss"}};
    variant.phases = {{"forward", "forward"}};
    Series loss{"loss", "loss"};
    loss.push_back(0, std::numeric_limits<double>::quiet_NaN());
    loss.push_back(0, 2);  // an equal x is no error: several measurements of a step
    loss.push_back(1, 1);
    loss.mark_last();
    variant.series = {loss};
  }
  report.comparisons = {{"step_seconds", "time per step", "amp_bf16", "fp32"}};
  torchamp::Section section;
  section.id = "op_stats";
  section.charts = {torchamp::LineChart{"a", "", {}, {}}, torchamp::Histogram{"b", "", ""}};
  report.sections = {section};
  return report;
}

/// That the report is refused, with this in the text.
#define CHECK_REFUSED(report, text)                                                           \
  CHECK_THROWS_WITH_AS(check_report(report), doctest::Contains(text), std::invalid_argument); \
  CHECK_THROWS_WITH_AS(check_report(report), doctest::Contains("[torchamp.E29] "),            \
                       std::invalid_argument)

}  // namespace

TEST_CASE("A report that makes sense is accepted, and so is an empty one") {
  CHECK_NOTHROW(check_report(small_report()));
  CHECK_NOTHROW(check_report(Report{}));
}

TEST_CASE("A report with an id that programs cannot use is refused") {
  for (const char* id : {"", "amp bf16", "a\"b", "<b>", "\xC3\xA9"}) {
    CAPTURE(id);
    Report report = small_report();
    report.environment[0].id = id;
    CHECK_REFUSED(report, "environment");
  }
}

TEST_CASE("A report with an id that is there twice is refused, wherever it is") {
  Report report = small_report();
  report.variants[1].id = "fp32";
  CHECK_REFUSED(report, "\"fp32\" of a variant is there twice");

  report = small_report();
  report.environment.push_back(report.environment[0]);
  CHECK_REFUSED(report, "\"libtorch\"");

  report = small_report();
  report.variants[1].metrics.push_back(report.variants[1].metrics[0]);
  CHECK_REFUSED(report, "\"final_loss\" of a metric of amp_bf16");

  report = small_report();
  report.variants[1].phases.push_back(report.variants[1].phases[0]);
  CHECK_REFUSED(report, "\"forward\"");

  report = small_report();
  report.variants[1].series.push_back(report.variants[1].series[0]);
  CHECK_REFUSED(report, "\"loss\"");

  report = small_report();
  report.sections.push_back(report.sections[0]);
  CHECK_REFUSED(report, "\"op_stats\"");

  report = small_report();
  report.sections[0].metrics = {Metric{"calls", ""}, Metric{"calls", ""}};
  CHECK_REFUSED(report, "\"calls\"");
}

TEST_CASE("A comparison of a variant that is not there is refused") {
  Report report = small_report();
  report.comparisons[0].variant = "tf32";
  CHECK_REFUSED(report, "\"tf32\"");

  report = small_report();
  report.comparisons[0].baseline = "";
  CHECK_REFUSED(report, "\"step_seconds\"");
}

TEST_CASE("A series is refused if its points or marks make no sense") {
  Report report = small_report();
  Series& loss = report.variants[1].series[0];
  const Series good = loss;

  loss.x.pop_back();
  CHECK_REFUSED(report, "has 2 x and 3 y");

  loss = good;
  loss.x = {0, 2, 1};
  CHECK_REFUSED(report, "less than the one before, at 2");

  loss = good;
  loss.x[1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_REFUSED(report, "at 1");

  loss = good;
  loss.x[2] = std::numeric_limits<double>::infinity();
  CHECK_REFUSED(report, "at 2");

  loss = good;
  loss.marks = {3};
  CHECK_REFUSED(report, "the mark 3");

  loss = good;
  loss.marks = {1, 1};
  CHECK_REFUSED(report, "at its place 1");
}

TEST_CASE("A chart is refused if its parts do not fit each other") {
  Report report = small_report();
  torchamp::LineChart lines{"a", "", {report.variants[0].series[0]}, {}};
  report.sections[0].charts = {lines};
  CHECK_REFUSED(report, "has 0 names for 1 lines");

  lines.names = {"FP32"};
  lines.lines[0].marks = {9};
  report.sections[0].charts = {lines};
  CHECK_REFUSED(report, "the mark 9");

  torchamp::BarChart bars;
  bars.id = "time";
  bars.groups = {"forward", "backward"};
  bars.bars = {{"FP32", {1.0}}};
  report.sections[0].charts = {bars};
  CHECK_REFUSED(report, "has 1 values for 2 groups");

  report.sections[0].charts = {torchamp::Histogram{}};
  CHECK_REFUSED(report, "a chart");
}
