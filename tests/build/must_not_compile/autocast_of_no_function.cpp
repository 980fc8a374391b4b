// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// autocast() runs a function in a region; a value was computed before it.
// expect: autocast.. takes a function

#include <torchamp/core/autocast.h>

#include <ATen/core/Tensor.h>

void autocast_of_no_function(const at::Tensor& tensor);
void autocast_of_no_function(const at::Tensor& tensor) {
  const c10::Device device(at::kCPU);
  static_cast<void>(torchamp::autocast(device, [&] { return tensor.relu(); }));
#ifndef TORCHAMP_RIGHT_WAY
  static_cast<void>(torchamp::autocast(device, tensor.relu()));
#endif
}
