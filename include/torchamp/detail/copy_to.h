// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// `tensor` on `device`; itself if it is there.
/// Host sync: none, but to a CPU, where the host would else read memory that is still being
/// written.
inline at::Tensor copy_to(const at::Tensor& tensor, c10::Device device) {
  if (tensor.device() == device) return tensor;
  return tensor.to(device, /*non_blocking=*/!device.is_cpu());
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
