// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/arg.h>

#include <cstdint>
#include <functional>
#include <limits>

namespace torchamp {
inline namespace v0 {

/// What a GradScaler does when many steps in a row were skipped, or had no gradients: the run no
/// longer learns.
enum class ManySkips {
  Warn,   ///< a LibTorch warning
  Throw,  ///< [E16], out of update()
  Call,   ///< `many_skips_callback`
};

/// How a GradScaler behaves. The first five are those of `torch.amp.GradScaler`, with its defaults.
struct GradScalerOptions {
  /// The factor on the first loss. 2^16 is a common start: overflow brings it down within steps.
  TORCH_ARG(double, init_scale) = 65536.0;
  /// The scale is multiplied by this after `growth_interval` good steps in a row; more than 1.
  TORCH_ARG(double, growth_factor) = 2.0;
  /// The scale is multiplied by this after a step with inf or NaN gradients; between 0 and 1.
  TORCH_ARG(double, backoff_factor) = 0.5;
  /// Good steps in a row before the scale grows; 1 or more.
  TORCH_ARG(int64_t, growth_interval) = 2000;
  /// False turns every call into a plain pass-through, so that one loop serves FP32 and AMP.
  TORCH_ARG(bool, enabled) = true;

  /// Overflows that it takes before the scale backs off; 1 backs off at the first.
  TORCH_ARG(int64_t, hysteresis) = 1;
  /// True: a good step forgives earlier overflows. False: only growth of the scale does.
  TORCH_ARG(bool, consecutive_hysteresis) = false;
  /// The scale never leaves [min_scale, max_scale]. With a scale of 0 every gradient would be lost.
  TORCH_ARG(double, min_scale) = 1.0 / 16777216.0;  // 2^-24, the smallest float16
  TORCH_ARG(double, max_scale) = static_cast<double>((std::numeric_limits<float>::max)());

  /// After so many skipped steps in a row, or iterations without any gradient, `on_many_skips`
  /// happens, once until a step is taken again; 0 never. Steps that an optimizer decides on the
  /// device are not counted.
  TORCH_ARG(int64_t, many_skips) = 25;
  TORCH_ARG(ManySkips, on_many_skips) = ManySkips::Warn;
  /// Called with the number of steps, if `on_many_skips` is `Call`.
  TORCH_ARG(std::function<void(int64_t)>, many_skips_callback);
};

}  // namespace v0
}  // namespace torchamp
