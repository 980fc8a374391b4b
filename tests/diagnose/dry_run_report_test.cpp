// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/dry_run_report.h>

#include "support/doctest.h"

#include <sstream>

using torchamp::DryRunModule;
using torchamp::DryRunReport;
using torchamp::ValueRange;

namespace {

/// A net of three parts: "fits", "large", and "loss", which is in float32 in any region.
DryRunReport example() {
  DryRunReport report;
  report.advice = "float16, mostly.";
  report.saw_backward = true;
  report.init_scale = 1024;
  report.gradients.count = 4;
  report.gradients.zeros = 2;
  report.gradients.smallest = 1e-9;
  report.gradients.largest = 0.5;
  report.gradients.by_exponent[static_cast<std::size_t>(-29 - ValueRange::lowest_exponent)] = 1;
  report.gradients.by_exponent[static_cast<std::size_t>(-1 - ValueRange::lowest_exponent)] = 1;

  DryRunModule fits;
  fits.name = "fits";
  DryRunModule large;
  large.name = "large";
  large.dtype = torch::kBFloat16;
  large.reasons = {"too large"};
  DryRunModule loss;
  loss.name = "loss";
  loss.dtype = torch::kFloat;
  loss.operators = {"aten::exp", "aten::sum"};
  report.modules = {fits, large, loss};
  report.refused = {{"aten::binary_cross_entropy", "loss", "use another"}};
  report.warnings = {"a NaN"};
  return report;
}

}  // namespace

TEST_CASE("Modules are sorted by what they can be run in") {
  const auto report = example();

  CHECK(report.keep_in_float32() == std::vector<std::string>{"large"});
  CHECK(report.keep_in_float16() == std::vector<std::string>{"fits"});
  CHECK(report.find("large")->reasons.size() == 1);
  CHECK(report.find("nowhere") == nullptr);
}

TEST_CASE("A report as text has a line for each fact") {
  std::ostringstream out;
  out << example();

  CHECK(out.str() ==
        "Dry run in float32, for autocast on cuda\n"
        "  recommended: float16, mostly.\n"
        "  gradients: 1e-9 to 0.5\n"
        "  gradients that flush to 0 unscaled: 1 of 2 (50 %)\n"
        "  at a scale of 1024: none\n"
        "  large: too large\n"
        "  loss: aten::binary_cross_entropy is refused by autocast: use another\n"
        "  float16 holds: fits\n"
        "  float32 in any region: loss (aten::exp, aten::sum)\n"
        "  wrong in float32: a NaN\n");
}

TEST_CASE("Rows have a label and a value each, for a table") {
  const auto rows = example().rows();

  REQUIRE(rows.size() == 9);
  CHECK(rows[0].first == "recommended");
  CHECK(rows[4].first == "large");
  CHECK(rows[4].second == "too large");
}

TEST_CASE("Without a backward pass there is no row about gradients") {
  auto report = example();
  report.saw_backward = false;

  for (const auto& row : report.rows()) CHECK(row.first.find("gradients") == std::string::npos);
}
