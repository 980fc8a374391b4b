// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/dry_run_verdict.h>

#include "support/doctest.h"

#include <cmath>
#include <string>
#include <utility>

using torchamp::DryRunOptions;
using torchamp::DryRunReport;
using torchamp::ValueRange;
using torchamp::detail::DryRunVerdict;
using torchamp::detail::RangeObservation;
using torchamp::detail::RangeReadings;
using Kind = RangeObservation::Kind;

namespace {

ValueRange range_of(const torch::Tensor& tensor) {
  RangeReadings readings;
  readings.add(tensor);
  return std::move(readings).read().at(0);
}
ValueRange range_of(float value) { return range_of(torch::full({1}, value)); }

RangeObservation output(const std::string& place, bool lower = true) {
  return {Kind::Output, lower, place, "aten::mm", 0};
}

std::string reasons_of(const DryRunReport& report, const std::string& name) {
  return torchamp::detail::join_names(report.find(name)->reasons);
}

}  // namespace

TEST_CASE("Values that stay in float32 are no reason") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add(output("exp", /*lower=*/false), range_of(1e6f));
  const auto report = verdict.finish(true, 1);

  CHECK(report.find("exp")->fits_float16());
  CHECK(report.find("exp")->dtype == torch::kFloat);
  CHECK(report.find("exp")->float32_activations.largest == 1e6);
}

TEST_CASE("A few lost values are tolerated, more are a reason") {
  const auto one_lost_of = [](int64_t count, double tolerated) {
    auto values = torch::ones({count});
    values[0] = 1e-9f;
    DryRunVerdict verdict(DryRunOptions().tolerated_loss(tolerated));
    verdict.add(output("fc"), range_of(values));
    return verdict.finish(true, 1);
  };

  CHECK(one_lost_of(100, 0.01).find("fc")->fits_float16());
  CHECK(reasons_of(one_lost_of(99, 0.01), "fc") ==
        "activations down to 1e-9, of which 1 of 99 (1.0 %) would become 0 in float16: keep in"
        " float32 or use bfloat16");
  CHECK_FALSE(one_lost_of(100, 0).find("fc")->fits_float16());
}

TEST_CASE("The operator with the largest value is named") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add({Kind::Output, true, "fc", "aten::mm", 0}, range_of(70000.0f));
  verdict.add({Kind::Output, true, "fc", "aten::add", 0}, range_of(90000.0f));
  verdict.add({Kind::Output, true, "fc", "aten::relu", 0}, range_of(80000.0f));
  const auto report = verdict.finish(true, 1);

  CHECK(reasons_of(report, "fc").find("up to 90000, above float16's 65504 (aten::add)") !=
        std::string::npos);
  CHECK(report.find("fc")->operators.size() == 3);
}

TEST_CASE("Gradients too large for any scale are a reason") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add(output("fc"), range_of(1.0f));
  verdict.add({Kind::Gradient, true, "fc", "MmBackward0", 0}, range_of(1e20f));

  CHECK(
      reasons_of(verdict.finish(true, 1), "fc") ==
      "gradients up to 1e20, too large for float16 at any scale: keep in float32 or use bfloat16");
}

TEST_CASE("Only the gradients of parameters that are cast count for the scale") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add({"norm.weight", range_of(1.0f), range_of(1e4f), /*is_cast=*/false}, "norm");
  CHECK(verdict.finish(true, 1).init_scale == 65536);

  DryRunVerdict cast(DryRunOptions{});
  cast.add({"fc.weight", range_of(1.0f), range_of(1e4f), /*is_cast=*/true}, "fc");
  CHECK(cast.finish(true, 1).init_scale == 2);  // 1e4 * 2 * 2 is 40000
}

TEST_CASE("Inf and NaN are warnings, with who has them") {
  const auto bad = range_of(torch::tensor({INFINITY, NAN, 1.0f}));
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add(output("fc"), bad);
  verdict.add({"fc.weight", bad, bad, true}, "fc");
  const auto report = verdict.finish(true, 1);

  REQUIRE(report.warnings.size() == 3);
  CHECK(report.warnings[0] == "the result of aten::mm, fc, has 1 NaN, the first of the step");
  CHECK(report.warnings[1] == "the gradient of fc.weight has 1 NaN and 1 inf");
  CHECK(report.warnings[2] == "fc.weight has 1 NaN and 1 inf");
}

TEST_CASE("Of results with NaN the first is told: those behind it have theirs from there") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add({Kind::Output, true, "0", "aten::addmm", 0}, range_of(torch::tensor({NAN, NAN})));
  verdict.add({Kind::Output, true, "after 0", "aten::relu", 0}, range_of(NAN));
  const auto report = verdict.finish(true, 1);

  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0] == "the result of aten::addmm, 0, has 2 NaN, the first of the step");
}

TEST_CASE("bfloat16 holds what it does not round to inf") {
  const auto dtype_of = [](float value) {
    DryRunVerdict verdict(DryRunOptions{});
    verdict.add(output("fc"), range_of(value));
    return verdict.finish(true, 1).find("fc")->dtype;
  };
  const auto limit = static_cast<float>(torchamp::bfloat16_overflows);

  CHECK(dtype_of(std::nextafter(limit, 0.0F)) == torch::kBFloat16);
  CHECK(dtype_of(limit) == torch::kFloat);
}

TEST_CASE("A refused operator is told once for each place") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add_refused("aten::binary_cross_entropy", "loss");
  verdict.add_refused("aten::binary_cross_entropy", "loss");
  verdict.add_refused("aten::binary_cross_entropy", "head");

  CHECK(verdict.finish(true, 1).refused.size() == 2);
}

TEST_CASE("The scale in the advice can be copied into a program") {
  DryRunVerdict verdict(DryRunOptions{});
  verdict.add({Kind::Gradient, true, "fc", "MmBackward0", 0}, range_of(1e-14F));
  verdict.add(output("fc"), range_of(1.0F));

  CHECK(verdict.finish(true, 1).advice.find("init_scale(4194304)") != std::string::npos);
}
