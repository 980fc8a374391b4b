// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A pointer to an optimizer is neither an optimizer nor a range of parameters.
// expect: clipping takes an optimizer, a parameter

#include <torchamp/optim/clip_grad.h>

#include <torch/optim/sgd.h>

void clip_of_no_parameters(torch::optim::SGD& optimizer);
void clip_of_no_parameters(torch::optim::SGD& optimizer) {
  torchamp::clip_grad_norm_(optimizer, 1.0);
#ifndef TORCHAMP_RIGHT_WAY
  torchamp::clip_grad_norm_(&optimizer, 1.0);
#endif
}
