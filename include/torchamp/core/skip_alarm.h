// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/detail/check.h>

#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>

namespace torchamp {
inline namespace v0 {

/// Notices that a run has stopped learning, because its steps are skipped one after the other or no
/// optimizer has gradients, and says so once, until a step is taken again.
class SkipAlarm {
 public:
  /// To be told of each iteration with gradients: whether a step was skipped, if the host knows.
  /// Throws: [E16] at the `many_skips`-th skip in a row, if the options ask for that.
  void note(std::optional<bool> skipped, const GradScalerOptions& options);

  /// To be told of each iteration in which no optimizer had gradients.
  /// Throws: as `note()`, at the `many_skips`-th in a row.
  void note_no_gradients(const GradScalerOptions& options);

  int64_t skips_in_a_row() const { return skips_in_a_row_; }

 private:
  static void say(int64_t in_a_row, const char* text, const GradScalerOptions& options);

  int64_t skips_in_a_row_ = 0;
  int64_t idle_in_a_row_ = 0;
};

inline void SkipAlarm::note(std::optional<bool> skipped, const GradScalerOptions& options) {
  idle_in_a_row_ = 0;
  if (!skipped) return;
  skips_in_a_row_ = *skipped ? skips_in_a_row_ + 1 : 0;
  say(skips_in_a_row_,
      " iterations in a row skipped a step, because gradients were inf or NaN at every scale tried."
      " Likely causes: inf or NaN in the data, a learning rate that is too high, or an operation in"
      " the model or the loss that overflows by itself (division by 0, log of 0, sqrt at 0)."
      " torchamp::NonFiniteTracer names the operation.",
      options);
}

inline void SkipAlarm::note_no_gradients(const GradScalerOptions& options) {
  ++idle_in_a_row_;
  say(idle_in_a_row_,
      " iterations in a row had no gradients in any optimizer. Likely causes: zero_grad() between"
      " backward() and step(), an optimizer over other parameters than the model's, or a model"
      " without parameters that require gradients.",
      options);
}

inline void SkipAlarm::say(int64_t in_a_row, const char* text, const GradScalerOptions& options) {
  if (options.many_skips() == 0 || in_a_row != options.many_skips()) return;
  switch (options.on_many_skips()) {
    case ManySkips::Warn:
      TORCH_WARN("torchamp: GradScaler: ", in_a_row, text);
      break;
    case ManySkips::Throw:
      TORCHAMP_CHECK(E16, false, "GradScaler: ", in_a_row, text);
      break;
    case ManySkips::Call:
      options.many_skips_callback()(in_a_row);
      break;
  }
}

}  // namespace v0
}  // namespace torchamp
