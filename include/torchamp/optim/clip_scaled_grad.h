// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/unscale.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/gradients.h>
#include <torchamp/optim/clip_grad.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>

#include <cmath>

namespace torchamp {
inline namespace v0 {

/// `scaler.unscale_(optimizer)` and `clip_grad_norm_(optimizer, max_norm, norm_type)` in one, and,
/// for a fused optimizer, in one pass that only reads: the norm of the scaled gradients tells
/// whether one is inf or NaN, and the step divides by the scale and by the clipping factor as it
/// goes. Call it between backward and step:
///
///     scaler.scale(loss).backward();
///     torchamp::clip_grad_norm_(scaler, optimizer, /*max_norm=*/1.0);
///     scaler.step(optimizer);
///     scaler.update();
///
/// Returns the norm of the true gradients, 0-dim; where it is not finite, the step is skipped. That
/// is so also if the norm of the scaled gradients overflows although none of them does (above 1e19
/// in float32): the scale is backed off until it does not.
/// With a fused optimizer the gradients stay scaled until the step, which leaves them true and
/// clipped.   Host sync: none, but as `clip_grad_norm_()`.
/// Throws: as `clip_grad_norm_()` and `unscale_()`; [E25] for master weights whose optimizer does
/// not decide on the device: call the two, and clip the masters.
template <class LossScale, class Optimizer>
at::Tensor clip_grad_norm_(BasicGradScaler<LossScale>& scaler, Optimizer& optimizer,
                           double max_norm, double norm_type = 2.0) {
  TORCHAMP_CHECK(E25, max_norm >= 0 && !std::isnan(norm_type), "clip_grad_norm_(): max_norm is ",
                 max_norm, " and norm_type ", norm_type,
                 "; pass a max_norm of at least 0 and an order that is not NaN");
  auto* const amp_optimizer = detail::as_amp_optimizer(optimizer);
  const bool on_device = amp_optimizer != nullptr && amp_optimizer->decides_on_device();
  // Orders of 0 and below may be finite in spite of an inf.
  if (!scaler.is_enabled() || !on_device || norm_type <= 0) {
    TORCHAMP_CHECK(E25, amp_optimizer == nullptr || !amp_optimizer->has_master_weights(),
                   "clip_grad_norm_(): this optimizer has master weights, and is not one that"
                   " clips as it steps; call scaler.unscale_(optimizer), then clip the masters");
    scaler.unscale_(optimizer);
    return clip_grad_norm_(optimizer, max_norm, norm_type);
  }
  const auto look = [&](const detail::Gradients& gradients, FoundInf& found_inf,
                        at::Tensor& grad_scale) {
    const c10::AutoGradMode no_grad(false);
    const at::Tensor scaled = detail::total_norm(gradients, norm_type);
    const at::Tensor norm = scaled / detail::copy_to(grad_scale, scaled.device());
    if (gradients.groups().empty()) return norm;
    found_inf.on(scaled.device()).copy_(at::isfinite(norm).logical_not_());
    const at::Tensor factor = (max_norm / (norm + 1e-6)).clamp_max_(1.0).to(at::kFloat);
    grad_scale = grad_scale / detail::copy_to(factor, grad_scale.device());
    return norm;
  };
  return scaler.unscale_in_step(optimizer, "clip_grad_norm_()", look);
}

}  // namespace v0
}  // namespace torchamp
