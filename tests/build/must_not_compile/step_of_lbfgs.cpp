// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// LBFGS has no step() without a closure; the message says why the scaler cannot step it.
// expect: needs no closure

#include <torchamp/core/grad_scaler.h>

#include <torch/optim/lbfgs.h>
#include <torch/optim/sgd.h>

void step_of_lbfgs(torch::optim::SGD& sgd, torch::optim::LBFGS& lbfgs);
void step_of_lbfgs(torch::optim::SGD& sgd, [[maybe_unused]] torch::optim::LBFGS& lbfgs) {
  torchamp::GradScaler scaler;
  scaler.step(sgd);
#ifndef TORCHAMP_RIGHT_WAY
  scaler.step(lbfgs);
#endif
}
