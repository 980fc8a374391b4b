// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/loss_scale.h>

#include <cstdint>
#include <optional>

namespace torchamp {
inline namespace v0 {

/// What the host knows of a scale that moves on a device, without asking for it: that it is not
/// less than `value()`. Follows the scale exactly as long as the host learns of every overflow, and
/// assumes one where it does not.
///
/// Worth knowing because a scale of at least 1 makes gradients smaller: only below 1 can unscaling
/// turn a finite gradient into inf, and only then is a second look at the gradients needed.
class ScaleFloor {
 public:
  double value() const { return state_.scale; }

  /// The scale is known: it was just set.
  void set(const LossScaleState& state) { state_ = state; }
  void set_scale(double scale) { state_.scale = static_cast<float>(scale); }
  void limit_growth_tracker(int64_t growth_interval) {
    if (state_.growth_tracker >= growth_interval) {
      state_.growth_tracker = static_cast<int32_t>(growth_interval - 1);
    }
  }

  /// The scale moved by `policy`; `overflowed` is empty if the host does not know on what.
  template <class LossScale>
  void move(const LossScale& policy, std::optional<bool> overflowed) {
    state_ = policy.next(state_, overflowed.value_or(true));
  }

  /// The scale was `scale`, and has moved by `policy` `moves` times since, the host does not know
  /// on what.
  template <class LossScale>
  void learn(const LossScale& policy, double scale, int64_t moves) {
    state_ = {static_cast<float>(scale), 0, 1};
    for (int64_t i = 0; i < moves; ++i) move(policy, std::nullopt);
  }

 private:
  LossScaleState state_{0, 0, 1};
};

}  // namespace v0
}  // namespace torchamp
