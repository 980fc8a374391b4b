// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/step_result.h>

#include "support/doctest.h"

using torchamp::StepResult;
using torchamp::StepStatus;

TEST_CASE("A result that the host decided is known") {
  CHECK(StepResult(StepStatus::Taken).taken());
  CHECK_FALSE(StepResult(StepStatus::Taken).skipped());
  CHECK(StepResult(StepStatus::Skipped).skipped());
}

TEST_CASE("An optimizer without gradients was neither stepped nor skipped") {
  const StepResult result(StepStatus::NoGradients);

  CHECK_FALSE(result.taken());
  CHECK_FALSE(result.skipped());
  CHECK_FALSE(result.found_inf().defined());
}

TEST_CASE("A result that the device decided is read when it is asked for, and once") {
  auto found_inf = torch::zeros({});
  const StepResult result(found_inf);

  found_inf.fill_(1);  // the device finishes after step() has returned
  CHECK(result.skipped());

  found_inf.fill_(0);  // reused by the next step
  CHECK(result.skipped());
}
