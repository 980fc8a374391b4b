// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/compare_report.h>
#include <torchamp/report/check_report.h>

#include "bench/results.h"
#include "support/doctest.h"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using torchamp::find_metric;
using torchamp::Report;
using torchamp::Series;
using torchamp::to_report;

namespace {

double value_of(const torchamp::Variant& variant, const std::string& id) {
  const auto* const metric = find_metric(variant.metrics, id);
  REQUIRE(metric != nullptr);
  REQUIRE(metric->value);
  return *metric->value;
}

const Series* find_series(const torchamp::Variant& variant, const std::string& id) {
  for (const auto& series : variant.series) {
    if (series.id == id) return &series;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("A name becomes an id of small letters, digits and single underscores") {
  using torchamp::report_id;
  CHECK(report_id("AMP bf16") == "amp_bf16");
  CHECK(report_id("forward/head") == "forward_head");
  CHECK(report_id("  <TF32> & more ") == "tf32_more");
  CHECK(report_id("µ").empty());
}

TEST_CASE("A report of a comparison makes sense to the writers") {
  auto result = result_of(2);
  result.variants[1].scales = {4, 2, 2};
  result.variants[1].phases = {{"forward", {1, 1, 1, 1, 1, 1, 1}}, {"forward/head", {}}};
  result.variants[1].phases[1].seconds = std::vector<double>(7, 0.5);

  CHECK_NOTHROW(torchamp::check_report(to_report(result)));
}

TEST_CASE("Phases whose names differ in signs, capitals or letters have ids of their own") {
  const std::vector<double> seconds(7, 1);
  auto result = result_of(2);
  for (const char* name : {"forward/head", "forward_head", "Forward", "forward", "前向"}) {
    result.variants[0].phases.push_back({name, seconds});
  }
  // In another order, and with one more.
  result.variants[1].phases = {{"forward", seconds}, {"後向", seconds}, {"Forward", seconds}};

  const Report report = to_report(result);

  CHECK_NOTHROW(torchamp::check_report(report));
  const auto ids_of = [](const torchamp::Variant& variant) {
    std::vector<std::string> ids;
    for (const auto& phase : variant.phases) ids.push_back(phase.id);
    return ids;
  };
  CHECK(ids_of(report.variants[0]) == std::vector<std::string>{"forward_head", "forward_head_2",
                                                               "forward", "forward_2", "phase"});
  CHECK(ids_of(report.variants[1]) == std::vector<std::string>{"forward_2", "phase_2", "forward"});
}

TEST_CASE("Where a loss was not finite there is no largest difference, whoever diverged") {
  for (const std::size_t diverged : {0, 1}) {
    auto result = result_of(2);
    result.variants[diverged].losses[1] = std::numeric_limits<double>::quiet_NaN();

    const Report report = to_report(result);

    CHECK(find_metric(report.variants[1].metrics, "loss_difference")->text() == "not finite");
    CHECK(find_metric(report.variants[0].metrics, "loss_difference")->text() == "baseline");
  }
}

TEST_CASE("Each variant has its median step, throughput, memory and losses") {
  auto result = result_of(2);
  result.items_per_step = 64;
  result.item_name = "images";
  result.variants[1].seconds = {2, 2, 2, 2, 2, 2, 9};
  result.variants[1].losses = {2, 1.25, 0.5};

  const Report report = to_report(result);

  REQUIRE(report.variants.size() == 2);
  const auto& amp = report.variants[1];
  CHECK(amp.id == "amp_bf16");
  CHECK(amp.label == "AMP bf16");
  CHECK(value_of(amp, "step_seconds") == 2);
  CHECK(value_of(amp, "step_seconds_p95") > 2);
  CHECK(value_of(amp, "items_per_second") == 32);  // 64 in 2 s, as the median says
  CHECK(find_metric(amp.metrics, "items_per_second")->label == "images per second");
  CHECK(value_of(amp, "peak_bytes") == 1000);
  CHECK(value_of(amp, "final_loss") == 0.5);
  CHECK(value_of(amp, "operators") == 3);
  CHECK(value_of(amp, "cast_share") == 0);
  CHECK(value_of(amp, "loss_difference") == 0.25);
  CHECK(find_metric(report.variants[0].metrics, "loss_difference")->text() == "baseline");
}

TEST_CASE("What was not measured has no metric, or one that says why") {
  auto result = result_of(2);
  const auto amp = to_report(result).variants[1];
  CHECK(find_metric(amp.metrics, "items_per_second") == nullptr);
  CHECK(find_metric(amp.metrics, "peak_reserved_bytes") == nullptr);
  CHECK(find_metric(amp.metrics, "final_scale") == nullptr);
  CHECK(find_metric(amp.metrics, "skipped_steps") == nullptr);
  CHECK(find_series(amp, "scale") == nullptr);

  result.variants[1].scales = {4, 2, 1};
  result.variants[1].skipped = {1};
  const auto scaled = to_report(result);
  CHECK(value_of(scaled.variants[1], "final_scale") == 1);
  CHECK(value_of(scaled.variants[1], "skipped_steps") == 1);
  CHECK(find_metric(scaled.variants[0].metrics, "final_scale")->text() == "no scaling");

  result.device = torch::kCUDA;
  result.variants[1].memory.peak_allocated_bytes = 5;
  result.variants[1].memory.peak_reserved_bytes = 8;
  const auto on_gpu = to_report(result).variants[1];
  CHECK(find_metric(on_gpu.metrics, "cast_share") == nullptr);  // the host's time says nothing
  CHECK(value_of(on_gpu, "peak_allocated_bytes") == 5);
  CHECK(value_of(on_gpu, "peak_reserved_bytes") == 8);
}

TEST_CASE("Phases have their medians, in the order in which they ran") {
  auto result = result_of(2);
  result.variants[0].phases = {{"forward", {1, 1, 1, 1, 3, 3, 3}},
                               {"backward", {2, 2, 2, 2, 2, 2, 2}}};

  const auto phases = to_report(result).variants[0].phases;

  REQUIRE(phases.size() == 2);
  CHECK(phases[0].id == "forward");
  CHECK(*phases[0].value == 1);
  CHECK(phases[1].label == "backward");
  CHECK(*phases[1].value == 2);
}

TEST_CASE("The curves have a point a step: losses, times from the first timed step on, scales") {
  auto result = result_of(2);
  result.untimed_steps = 5;
  result.variants[1].scales = {4, 2, 1};
  result.variants[1].skipped = {1, 2};

  const auto amp = to_report(result).variants[1];

  REQUIRE(find_series(amp, "loss") != nullptr);
  CHECK(find_series(amp, "loss")->y == std::vector<double>{2, 1, 0.5});
  CHECK(find_series(amp, "loss")->x == std::vector<double>{0, 1, 2});
  CHECK(find_series(amp, "step_seconds")->label == "time of a step");
  CHECK(find_series(amp, "step_seconds")->x == std::vector<double>{5, 6, 7, 8, 9, 10, 11});
  REQUIRE(find_series(amp, "scale") != nullptr);
  CHECK(find_series(amp, "scale")->y == std::vector<double>{4, 2, 1});
  CHECK(find_series(amp, "scale")->marks == std::vector<std::size_t>{1, 2});
  CHECK(find_series(amp, "scale")->y_scale == torchamp::AxisScale::Log2);
}

TEST_CASE("The comparison has the ratio, its interval and whether to rely on it") {
  auto result = result_of(2);
  result.pairs[0].time.low = 1.5;
  result.pairs[0].time.high = 3;
  result.pairs[0].time.too_wide = true;

  const auto comparison = to_report(result).comparisons.at(0);

  CHECK(comparison.id == "step_seconds");
  CHECK(comparison.variant == "amp_bf16");
  CHECK(comparison.baseline == "fp32");
  CHECK(comparison.ratio == doctest::Approx(2));
  CHECK(comparison.low == 1.5);
  CHECK(comparison.high == 3);
  CHECK(comparison.rounds == 7);
  CHECK(comparison.confidence == doctest::Approx(1 - 2.0 / 128));
  CHECK_FALSE(comparison.stable);
  CHECK(comparison.lower_is_better);
}

TEST_CASE("The report has the sentences of the verdict") {
  const auto result = result_of(2);
  const auto report = to_report(result);

  CHECK(report.verdict == torchamp::sum_up(result).verdict);
  CHECK(report.reasons == std::vector<std::string>{"AMP pays here."});
}
