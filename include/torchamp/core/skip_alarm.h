// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/detail/check.h>

#include <c10/util/Exception.h>

#include <cstdint>

namespace torchamp {
inline namespace v0 {

/// Notices that a run has stopped learning because its steps are skipped one after the other, and
/// says so once, until a step is taken again.
class SkipAlarm {
 public:
  /// To be told of each iteration whose outcome the host knows.
  /// Throws: [E16] at the `many_skips`-th skip in a row, if the options ask for that.
  void note(bool skipped, const GradScalerOptions& options);

  int64_t skips_in_a_row() const { return skips_in_a_row_; }

 private:
  int64_t skips_in_a_row_ = 0;
};

inline void SkipAlarm::note(bool skipped, const GradScalerOptions& options) {
  skips_in_a_row_ = skipped ? skips_in_a_row_ + 1 : 0;
  if (options.many_skips() == 0 || skips_in_a_row_ != options.many_skips()) return;
  static constexpr char causes[] =
      " steps in a row were skipped, because gradients were inf or NaN at every scale tried."
      " Likely causes: inf or NaN in the data, a learning rate that is too high, or an operation in"
      " the model or the loss that overflows by itself (division by 0, log of 0, sqrt at 0)."
      " torch::autograd::DetectAnomalyGuard names the operation.";
  switch (options.on_many_skips()) {
    case ManySkips::Warn:
      TORCH_WARN("torchamp: GradScaler: ", skips_in_a_row_, causes);
      break;
    case ManySkips::Throw:
      TORCHAMP_CHECK(E16, false, "GradScaler: ", skips_in_a_row_, causes);
      break;
    case ManySkips::Call:
      if (options.many_skips_callback()) options.many_skips_callback()(skips_in_a_row_);
      break;
  }
}

}  // namespace v0
}  // namespace torchamp
