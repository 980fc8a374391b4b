// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/step_scheduler.h>

#include "support/doctest.h"

#include <vector>

using torchamp::StepResult;
using torchamp::StepStatus;

TEST_CASE("A scheduler is stepped if the step was taken, and only then") {
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{torch::ones({1}).requires_grad_()}, 1.0);
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/1, /*gamma=*/0.5);
  const auto rate = [&] { return optimizer.param_groups()[0].options().get_lr(); };

  CHECK_FALSE(torchamp::step_scheduler(scheduler, StepResult(StepStatus::Skipped)));
  CHECK_FALSE(torchamp::step_scheduler(scheduler, StepResult(StepStatus::NoGradients)));
  CHECK(rate() == 1);

  // LibTorch's schedulers set the first rate with their first step.
  CHECK(torchamp::step_scheduler(scheduler, StepResult(StepStatus::Taken)));
  CHECK(torchamp::step_scheduler(scheduler, StepResult(StepStatus::Taken)));
  CHECK(rate() == 0.5);
}

TEST_CASE("A step that the device decided is asked for") {
  struct {
    int steps = 0;
    void step() { ++steps; }
  } scheduler;

  torchamp::step_scheduler(scheduler, StepResult(torch::ones({})));
  CHECK(scheduler.steps == 0);
  torchamp::step_scheduler(scheduler, StepResult(torch::zeros({})));
  CHECK(scheduler.steps == 1);
}

TEST_CASE("What the scheduler's step() takes is handed on") {
  struct {
    float metric = 0;
    void step(float value) { metric = value; }
  } plateau;

  torchamp::step_scheduler(plateau, StepResult(StepStatus::Taken), 0.25F);

  CHECK(plateau.metric == 0.25F);
}
