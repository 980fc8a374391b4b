// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// What became of one `GradScaler::step()`.
enum class StepStatus {
  Taken,        ///< the optimizer stepped
  Skipped,      ///< a gradient was inf or NaN; the parameters are as they were
  NoGradients,  ///< the optimizer had no gradient at all; nothing was done
};

/// The outcome of `GradScaler::step()`, which stays on the device until it is asked for.
///
///     if (scaler.step(optimizer).taken()) scheduler.step();
class StepResult {
 public:
  explicit StepResult(StepStatus status, at::Tensor found_inf = {})
      : status_(status), found_inf_(std::move(found_inf)) {}
  /// The optimizer decided on the device: 0 in `found_inf` means taken, 1 skipped.
  explicit StepResult(at::Tensor found_inf) : found_inf_(std::move(found_inf)) {}

  /// Host sync: one read, the first time, if the optimizer decided on the device; else none.
  /// Threads: one at a time.
  StepStatus status() const {
    if (!status_) {
      status_ = found_inf_.item<float>() == 0 ? StepStatus::Taken : StepStatus::Skipped;
    }
    return *status_;
  }
  bool taken() const { return status() == StepStatus::Taken; }
  bool skipped() const { return status() == StepStatus::Skipped; }

  /// 0 or 1, a 0-dim float32 tensor on the scaler's device; undefined if nothing was checked
  /// (scaling disabled, or no gradients).   Host sync: none.
  const at::Tensor& found_inf() const { return found_inf_; }

 private:
  mutable std::optional<StepStatus> status_;
  at::Tensor found_inf_;
};

}  // namespace v0
}  // namespace torchamp
