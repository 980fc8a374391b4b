// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite_report.h>

#include "support/doctest.h"

#include <sstream>

using torchamp::NonFiniteIn;
using torchamp::NonFiniteReport;
using torchamp::NonFiniteTensor;

TEST_CASE("A report says in one line that all is finite") {
  NonFiniteReport report;
  report.finite = 3;
  CHECK(report.empty());
  CHECK(report.to_text() == "3 tensors, all finite\n");

  report.looked_in = NonFiniteIn::Gradients;
  report.finite = 1;
  CHECK(report.to_text() == "1 gradient, all finite\n");
}

TEST_CASE("A report that looked at nothing does not say that all is finite") {
  NonFiniteReport report;
  report.looked_in = NonFiniteIn::Gradients;
  CHECK(report.to_text() == "no gradient to look at\n");
  report.without_gradient = 2;
  CHECK(report.to_text() == "no gradient to look at (2 more had none)\n");
}

TEST_CASE("A report has a line for each tensor that is not finite") {
  NonFiniteReport report;
  report.looked_in = NonFiniteIn::Gradients;
  report.finite = 2;
  report.without_gradient = 1;
  report.tensors = {NonFiniteTensor{"conv.weight", torch::kFloat, {2, 3}, 6, 2, 1, 8.25, 4, {1, 1}},
                    NonFiniteTensor{"bias", torch::kHalf, {2}, 2, 0, 2, 0, 0, {0}}};

  CHECK_FALSE(report.empty());
  std::ostringstream out;
  out << report;
  CHECK(out.str() ==
        "2 of 4 gradients are not finite (1 more had none)\n"
        "  conv.weight  Float [2, 3]: 2 inf, 1 NaN of 6; first at 4 = [1, 1]; largest finite 8.25\n"
        "  bias         Half [2]: 2 NaN of 2; first at 0\n");
}

TEST_CASE("One tensor of one is in the singular") {
  NonFiniteReport report;
  report.tensors = {NonFiniteTensor{"loss", torch::kFloat, {}, 1, 1, 0, 0, 0, {}}};
  CHECK(report.to_text() ==
        "1 of 1 tensor is not finite\n"
        "  loss  Float []: 1 inf of 1; first at 0\n");
}
