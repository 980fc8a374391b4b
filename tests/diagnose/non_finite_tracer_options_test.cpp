// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite_tracer_options.h>

#include "support/doctest.h"
#include "support/errors.h"

using torchamp::NonFiniteTracerOptions;
using torchamp::OnNonFinite;
using torchamp::detail::checked;

TEST_CASE("By default a tracer notes, allows no operator, and stops after eight findings") {
  const auto options = checked({});

  CHECK(options.on_finding() == OnNonFinite::Note);
  CHECK(options.allowed().empty());
  CHECK(options.max_findings() == 8);
}

TEST_CASE("Options are returned as they are if they make sense") {
  const auto options = checked(NonFiniteTracerOptions()
                                   .on_finding(OnNonFinite::Throw)
                                   .allowed({"aten::log", "mine::op"})
                                   .max_findings(1));

  CHECK(options.on_finding() == OnNonFinite::Throw);
  CHECK(options.allowed().size() == 2);
  CHECK(options.max_findings() == 1);
}

TEST_CASE("No findings at all, and what is no operator's name, are refused") {
  CHECK_ERROR(E08, checked(NonFiniteTracerOptions().max_findings(0)));
  CHECK_ERROR(E08, checked(NonFiniteTracerOptions().allowed({"aten::log", "log"})));
  CHECK_ERROR_SAYS("\"log\"", checked(NonFiniteTracerOptions().allowed({"log"})));
}
