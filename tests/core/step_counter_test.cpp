// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/step_counter.h>

#include "support/doctest.h"
#include "support/operators.h"

using torchamp::StepCounter;

TEST_CASE("Steps that the host knows of and steps that a device decided are counted together") {
  StepCounter steps;
  CHECK(steps.taken() == 0);
  CHECK(steps.skipped() == 0);

  steps.note(true);
  steps.note(true);
  steps.note(false);
  CHECK(steps.taken() == 2);
  CHECK(steps.skipped() == 1);

  steps.note(torch::zeros({}));
  steps.note(torch::ones({}));
  steps.note(torch::ones({}));
  CHECK(steps.taken() == 3);
  CHECK(steps.skipped() == 3);
}

TEST_CASE("All steps together are known without a read") {
  StepCounter steps;
  steps.note(/*taken=*/true);
  steps.note(/*taken=*/false);
  steps.note(torch::ones({}));

  HostReadCounter reads;
  CHECK(steps.all() == 3);
  CHECK(reads.more() == 0);
}

TEST_CASE("What a device found may change after it was counted") {
  StepCounter steps;
  const auto found_inf = torch::ones({});

  steps.note(found_inf);
  found_inf.zero_();

  CHECK(steps.skipped() == 1);
}

TEST_CASE("Steps can be counted in inference mode and then outside it") {
  StepCounter steps;
  {
    const c10::InferenceMode inference;
    steps.note(torch::ones({}));
  }
  steps.note(torch::ones({}));

  CHECK(steps.skipped() == 2);
}
