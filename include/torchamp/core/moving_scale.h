// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/core/loss_scale.h>
#include <torchamp/core/scale_tensors.h>
#include <torchamp/detail/check.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// The part of a GradScaler that is about the scale alone: its options, its value, and how to set
/// both. `LossScale` is the rule by which it moves: DynamicLossScale or ConstantLossScale.
template <class LossScale>
class MovingScale {
 public:
  bool is_enabled() const { return options().enabled(); }

  /// The current scale; 1 if disabled.   Host sync: one read once scale() was called.
  double get_scale() const;

  /// The current scale on its device, 0-dim float32; undefined before scale().   Host sync: none.
  const at::Tensor& scale_tensor() const { return tensors_.scale(); }

  /// Good steps since the scale last moved.   Host sync: one read once scale() was called.
  int64_t growth_tracker() const;

  const GradScalerOptions& options() const { return policy_.options(); }
  double get_growth_factor() const { return options().growth_factor(); }
  double get_backoff_factor() const { return options().backoff_factor(); }
  int64_t get_growth_interval() const { return options().growth_interval(); }

  /// Host sync: none.   Throws: [E08] for a value that makes no sense; the old one then stays.
  void set_growth_factor(double factor) { set(copy_of_options().growth_factor(factor)); }
  void set_backoff_factor(double factor) { set(copy_of_options().backoff_factor(factor)); }
  void set_growth_interval(int64_t steps) {
    set(copy_of_options().growth_interval(steps));
    if (tensors_.defined()) tensors_.limit_growth_tracker(steps);
  }

  /// What a scaler needs to go on where this one is. At any time; best after `update()`.
  /// Host sync: reads once scale() was called.
  GradScalerState state_dict() const {
    if (!is_enabled()) return GradScalerState::of_disabled();
    GradScalerState state =
        detail::state_of(options(), tensors_.defined() ? tensors_.read() : start());
    if (!tensors_.defined()) state.scale = options().init_scale();  // all of its digits
    return state;
  }

  /// Goes on from `state`, in the same tensors; does nothing if disabled. Best between iterations:
  /// what is scaled, unscaled or stepped stays so, and all that follows goes by the loaded scale.
  /// Host sync: none.   Throws: [E17] for a state that does not fit; nothing has changed.
  void load_state_dict(const GradScalerState& state);

 protected:
  explicit MovingScale(const GradScalerOptions& options) : policy_(options) {}

  // A copy would share the scale's tensors with the original, and both would move them.
  MovingScale(const MovingScale&) = delete;
  MovingScale& operator=(const MovingScale&) = delete;
  MovingScale(MovingScale&&) = default;
  MovingScale& operator=(MovingScale&&) = default;
  ~MovingScale() = default;

  /// `loss` times the scale, which the first call puts on its device.
  /// Throws: [E07] unless `loss` is a floating-point or complex tensor.
  at::Tensor scale_loss(const at::Tensor& loss);

  /// Throws: [E05] before the first scale().
  void check_scaled(const char* caller) const;

  /// Throws: [E12] outside [min_scale, max_scale].
  void set_scale(double new_scale);

  /// Throws: [E12] unless it is one floating-point number without gradient history.
  void set_scale(const at::Tensor& new_scale);

  /// Where the first scale() starts.
  LossScaleState start() const { return detail::start_of(policy_, loaded_); }

  LossScale policy_;
  ScaleTensors tensors_;

 private:
  GradScalerOptions copy_of_options() const { return options(); }
  void set(const GradScalerOptions& options) { policy_ = LossScale(options); }

  std::optional<LossScaleState> loaded_;  // by load_state_dict() before the first scale()
};

template <class LossScale>
double MovingScale<LossScale>::get_scale() const {
  if (!is_enabled()) return 1.0;
  if (!tensors_.defined()) return options().init_scale();
  return tensors_.scale().template item<float>();
}

template <class LossScale>
int64_t MovingScale<LossScale>::growth_tracker() const {
  if (!is_enabled()) return 0;
  if (!tensors_.defined()) return start().growth_tracker;
  return tensors_.growth_tracker().template item<int32_t>();
}

template <class LossScale>
void MovingScale<LossScale>::load_state_dict(const GradScalerState& state) {
  if (!is_enabled()) return;
  auto policy = detail::loaded_policy<LossScale>(state, options());
  const LossScaleState position = detail::loaded_position(state, policy);
  if (tensors_.defined()) tensors_.fill_(position);
  policy_ = std::move(policy);
  loaded_ = position;
}

template <class LossScale>
at::Tensor MovingScale<LossScale>::scale_loss(const at::Tensor& loss) {
  TORCHAMP_CHECK(E07, loss.defined(),
                 "scale(): the loss is an undefined tensor; pass the result of"
                 " the loss function");
  TORCHAMP_CHECK(E07, loss.is_floating_point() || loss.is_complex(), "scale(): the loss has dtype ",
                 loss.scalar_type(),
                 "; pass a floating-point tensor that backward() can start from");
  if (!tensors_.defined()) tensors_.create(loss.device(), start());
  return tensors_.multiply(loss);
}

template <class LossScale>
void MovingScale<LossScale>::check_scaled(const char* caller) const {
  TORCHAMP_CHECK(
      E05, tensors_.defined(), caller,
      ": called before scale(): this scaler has scaled no loss yet; write"
      " scaler.scale(loss).backward() in place of loss.backward(), with the same scaler");
}

template <class LossScale>
void MovingScale<LossScale>::set_scale(double new_scale) {
  TORCHAMP_CHECK(E12, detail::is_in_bounds(new_scale, options()), "update(): the new scale is ",
                 new_scale, "; choose a number from min_scale, ", options().min_scale(),
                 ", to max_scale, ", options().max_scale());
  tensors_.set_scale(new_scale);
}

template <class LossScale>
void MovingScale<LossScale>::set_scale(const at::Tensor& new_scale) {
  TORCHAMP_CHECK(E12, new_scale.defined(), "update(): the new scale is an undefined tensor");
  TORCHAMP_CHECK(
      E12, new_scale.numel() == 1 && new_scale.is_floating_point() && !new_scale.requires_grad(),
      "update(): the new scale is a tensor of shape ", new_scale.sizes(), " and dtype ",
      new_scale.scalar_type(), new_scale.requires_grad() ? " that requires grad" : "",
      "; pass one floating-point number without gradient history");
  tensors_.set_scale(new_scale, options());
}

}  // namespace v0
}  // namespace torchamp
