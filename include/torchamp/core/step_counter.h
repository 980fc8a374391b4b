// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/libtorch.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace torchamp {
inline namespace v0 {

/// Counts steps taken and skipped. Steps whose outcome only a device knows are counted there, and
/// read when somebody asks.
class StepCounter {
 public:
  /// Host sync: none.
  void note(bool taken) { ++(taken ? taken_ : skipped_); }

  /// A step that was taken if `found_inf`, a 0-dim tensor, is 0, and skipped if it is 1.
  /// Host sync: none.
  void note(const at::Tensor& found_inf) {
    ++decided_on_device_;
    if (!skipped_on_device_.defined()) {
      const auto wide = detail::has_float64(found_inf.device()) ? at::kDouble : at::kFloat;
      skipped_on_device_ = at::zeros({}, found_inf.options().dtype(wide));
    }
    skipped_on_device_ = skipped_on_device_.add(found_inf);
  }

  /// Steps taken or skipped.   Host sync: none.
  int64_t all() const { return taken_ + skipped_ + decided_on_device_; }

  /// Host sync: one read if a step was decided on a device.
  int64_t taken() const { return taken_ + decided_on_device_ - read_skipped(); }
  int64_t skipped() const { return skipped_ + read_skipped(); }

 private:
  int64_t read_skipped() const {
    return skipped_on_device_.defined() ? skipped_on_device_.item<int64_t>() : 0;
  }

  int64_t taken_ = 0;
  int64_t skipped_ = 0;
  int64_t decided_on_device_ = 0;
  at::Tensor skipped_on_device_;  // 0-dim
};

}  // namespace v0
}  // namespace torchamp
