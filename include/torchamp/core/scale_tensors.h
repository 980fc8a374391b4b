// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/loss_scale.h>
#include <torchamp/core/scale_echo.h>
#include <torchamp/core/scale_floor.h>
#include <torchamp/detail/copy_to.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <c10/core/Device.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>

namespace torchamp {
inline namespace v0 {

/// A LossScaleState on a device, where it moves without the host having to read it.
/// Nothing here synchronises, except `read()`.
class ScaleTensors {
 public:
  /// Undefined until `create()`.
  ScaleTensors() = default;

  bool defined() const { return scale_.defined(); }

  void create(c10::Device device, const LossScaleState& state);

  /// The same tensors with other values.
  void fill_(const LossScaleState& state) {
    scale_.fill_(state.scale);
    growth_tracker_.fill_(state.growth_tracker);
    hysteresis_tracker_.fill_(state.hysteresis_tracker);
    floor_.set(state);
  }

  /// The scale, a 0-dim float32 tensor.
  const at::Tensor& scale() const { return scale_; }
  const at::Tensor& growth_tracker() const { return growth_tracker_; }

  /// 1 / scale. torch.amp computes it in float64 and rounds; one division in float32 gives the same
  /// number, since float64 has more than twice the digits.
  at::Tensor inverse() const { return scale_.reciprocal(); }

  /// False as long as the host can tell that the scale is at least 1, so that dividing by it makes
  /// no gradient larger.
  bool may_be_below_one() const { return floor_.value() < 1; }

  /// `loss` times the scale, in float32 if `loss` is half precision, which could not hold a large
  /// scale.
  at::Tensor multiply(const at::Tensor& loss) const;

  /// Applies the policy's rule after a step; `found_inf` is 0-dim float32, 0 or 1, on this device,
  /// and `overflowed` the same as far as the host knows it.
  void move_(const DynamicLossScale& policy, const at::Tensor& found_inf,
             std::optional<bool> overflowed);
  void move_(const ConstantLossScale& /*policy*/, const at::Tensor& /*found_inf*/,
             std::optional<bool> /*overflowed*/) {}

  void set_scale(double scale) {
    scale_.fill_(scale);
    floor_.set_scale(scale);
  }
  /// A scale that the host does not know, brought into the bounds of the options; NaN becomes the
  /// lower one.
  void set_scale(const at::Tensor& scale, const GradScalerOptions& options) {
    scale_.copy_(scale.detach().reshape({}));
    scale_.nan_to_num_(options.min_scale(), options.max_scale(), options.min_scale());
    keep_in_bounds_(options);
    floor_.set_scale(options.min_scale());
  }

  /// To be called when the growth interval changes: LibTorch's operator grows when the count of
  /// good steps equals the interval, so a count beyond a lowered interval would never grow again.
  void limit_growth_tracker(int64_t growth_interval) {
    growth_tracker_.clamp_max_(growth_interval - 1);
    floor_.limit_growth_tracker(growth_interval);
  }

  /// Host sync: reads the three numbers from the device.
  LossScaleState read() const {
    return {scale_.item<float>(), growth_tracker_.item<int32_t>(),
            hysteresis_tracker_.item<int32_t>()};
  }

 private:
  void keep_in_bounds_(const GradScalerOptions& options) {
    scale_.clamp_(options.min_scale(), options.max_scale());
  }
  void raise_floor(const DynamicLossScale& policy);
  void move_with_hysteresis_(const GradScalerOptions& options, const at::Tensor& found_inf);

  at::Tensor scale_;               // 0-dim float32
  at::Tensor growth_tracker_;      // 0-dim int32
  at::Tensor hysteresis_tracker_;  // 0-dim int32
  ScaleFloor floor_;
  ScaleEcho echo_;
};

inline void ScaleTensors::create(c10::Device device, const LossScaleState& state) {
  // A scaler may be used for the first time in inference mode and then for training; inference
  // tensors could not be updated there.
  const c10::InferenceMode normal_tensors(false);
  const auto on_device = at::TensorOptions().device(device);
  scale_ = at::full({}, state.scale, on_device.dtype(at::kFloat));
  growth_tracker_ = at::full({}, state.growth_tracker, on_device.dtype(at::kInt));
  hysteresis_tracker_ = at::full({}, state.hysteresis_tracker, on_device.dtype(at::kInt));
  floor_.set(state);
}

inline at::Tensor ScaleTensors::multiply(const at::Tensor& loss) const {
  const at::Tensor scale = detail::copy_to(scale_, loss.device());
  switch (loss.scalar_type()) {
    case at::kHalf:
    case at::kBFloat16:
      return loss.to(at::kFloat).mul(scale);
    case at::kComplexHalf:
      return loss.to(at::kComplexFloat).mul(scale);
    default:
      return loss.mul(scale);
  }
}

inline void ScaleTensors::move_(const DynamicLossScale& policy, const at::Tensor& found_inf,
                                std::optional<bool> overflowed) {
  const auto& options = policy.options();
  if (options.hysteresis() > 1) {
    move_with_hysteresis_(options, found_inf);
  } else {
    at::_amp_update_scale_(scale_, growth_tracker_, found_inf, options.growth_factor(),
                           options.backoff_factor(), options.growth_interval());
  }
  keep_in_bounds_(options);
  floor_.move(policy, overflowed);
  if (!overflowed) raise_floor(policy);
}

// Steps that only the device decides on would lower the floor for ever.
inline void ScaleTensors::raise_floor(const DynamicLossScale& policy) {
  constexpr double low = 1024;  // ten overflows above 1, within which an answer will have come
  if (echo_.is_asked()) {
    if (const auto answer = echo_.poll()) floor_.learn(policy, answer->scale, answer->moves_since);
  } else if (floor_.value() < low) {
    echo_.ask(scale_);
  }
}

// LibTorch's operator knows no hysteresis. The same rule as DynamicLossScale::next(), without a
// branch that the host would have to decide.
inline void ScaleTensors::move_with_hysteresis_(const GradScalerOptions& options,
                                                const at::Tensor& found_inf) {
  const at::Tensor overflow = found_inf.gt(0);
  const at::Tensor good_steps = growth_tracker_.add(1).masked_fill(overflow, 0);
  const at::Tensor grows = good_steps.ge(options.growth_interval());
  const at::Tensor refills = options.consecutive_hysteresis() ? overflow.logical_not() : grows;
  const at::Tensor left = hysteresis_tracker_.sub(overflow.to(at::kInt)).clamp_min(0);
  const at::Tensor backs_off = overflow.logical_and(left.eq(0));

  const auto wide = detail::has_float64(scale_.device()) ? at::kDouble : at::kFloat;
  const at::Tensor scale = scale_.to(wide);
  const at::Tensor grown = scale.mul(options.growth_factor()).to(at::kFloat);
  const at::Tensor backed_off = scale.mul(options.backoff_factor()).to(at::kFloat);

  scale_.copy_(at::where(backs_off, backed_off,
                         at::where(grows.logical_and(grown.isfinite()), grown, scale_)));
  growth_tracker_.copy_(good_steps.masked_fill(grows, 0));
  hysteresis_tracker_.copy_(left.masked_fill(refills, options.hysteresis()));
}

}  // namespace v0
}  // namespace torchamp
