// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The result of scale() is what backward() must be called on.
// expect: nodiscard

#include <torchamp/core/grad_scaler.h>

void scaled_loss_that_is_dropped(const at::Tensor& loss);
void scaled_loss_that_is_dropped(const at::Tensor& loss) {
  torchamp::GradScaler scaler;
  scaler.scale(loss).backward();
#ifndef TORCHAMP_RIGHT_WAY
  scaler.scale(loss);
  loss.backward();
#endif
}
