// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/report.h>

#include "support/doctest.h"

using torchamp::Metric;
using torchamp::Report;
using torchamp::Unit;

TEST_CASE("A report finds its variants by their ids") {
  Report report;
  report.variants = {{"fp32", "FP32"}, {"amp_bf16", "AMP bf16"}};

  CHECK(torchamp::find_variant(report, "amp_bf16") == &report.variants[1]);
  CHECK(torchamp::find_variant(report, "AMP bf16") == nullptr);
}

TEST_CASE("A variant finds its metrics by their ids") {
  const std::vector<Metric> metrics{{"a", "a", Unit::Count, 1}, {"b", "b", Unit::Count, 2}};

  CHECK(torchamp::find_metric(metrics, "b")->value == 2.0);
  CHECK(torchamp::find_metric(metrics, "c") == nullptr);
}
