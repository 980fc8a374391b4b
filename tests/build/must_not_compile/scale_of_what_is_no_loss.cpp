// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What holds no tensors cannot be scaled, and the message says what can.
// expect: torchamp takes a tensor

#include <torchamp/core/grad_scaler.h>

#include <string>
#include <vector>

void scale_of_what_is_no_loss();
void scale_of_what_is_no_loss() {
  torchamp::GradScaler scaler;
  static_cast<void>(scaler.scale(std::vector<at::Tensor>(1)));
#ifndef TORCHAMP_RIGHT_WAY
  static_cast<void>(scaler.scale(std::vector<std::string>{"loss"}));
#endif
}
