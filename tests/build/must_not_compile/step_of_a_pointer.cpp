// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// step() takes the optimizer itself.
// expect: of a pointer, pass .optimizer

#include <torchamp/core/grad_scaler.h>

#include <torch/optim/sgd.h>

void step_of_a_pointer(torch::optim::SGD& sgd);
void step_of_a_pointer(torch::optim::SGD& sgd) {
  torchamp::GradScaler scaler;
  scaler.step(sgd);
#ifndef TORCHAMP_RIGHT_WAY
  scaler.step(&sgd);
#endif
}
