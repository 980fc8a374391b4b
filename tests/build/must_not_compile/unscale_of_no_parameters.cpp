// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A single tensor is neither an optimizer nor a range of parameters.
// expect: unscale_.. takes an optimizer

#include <torchamp/core/grad_scaler.h>

#include <vector>

void unscale_of_no_parameters();
void unscale_of_no_parameters() {
  torchamp::GradScaler scaler;
  const at::Tensor parameter;
  scaler.unscale_(std::vector<at::Tensor>{parameter});
#ifndef TORCHAMP_RIGHT_WAY
  scaler.unscale_(parameter);
#endif
}
