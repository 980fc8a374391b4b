// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/core/loss_scale.h>
#include <torchamp/core/nested.h>
#include <torchamp/core/optimizer_stages.h>
#include <torchamp/core/scale_tensors.h>
#include <torchamp/core/skip_alarm.h>
#include <torchamp/core/step_result.h>
#include <torchamp/core/unscale.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/gradients.h>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// Keeps small float16 gradients from vanishing: scales the loss up before backward, the gradients
/// down before the optimizer, skips steps whose gradients overflowed, and adapts the scale.
///
///     torchamp::GradScaler scaler;
///     scaler.scale(loss).backward();
///     scaler.step(optimizer);  // unscales, checks, and steps unless a gradient is inf or NaN
///     scaler.update();         // once an iteration, after every optimizer has stepped
///
/// To clip, call `unscale_(optimizer)` between backward and clipping. To accumulate, call
/// `scale(loss).backward()` several times, then `step` and `update` once. With several optimizers,
/// `step` each, then `update` once. Needed for float16; bfloat16 has float32's range and trains
/// without.
///
/// Per optimizer and iteration: [unscale_] -> step -> update. Other orders are refused, with an
/// error that says so, before anything has changed.
/// Threads: one at a time. Semantics: torch.amp.GradScaler, apart from docs/differences.md.
template <class LossScale>
class BasicGradScaler {
 public:
  /// Throws: [E08] for an option that makes no sense.
  explicit BasicGradScaler(const GradScalerOptions& options = {}) : policy_(options) {}

  // A copy would share the scale's tensors with the original, and both would move them.
  BasicGradScaler(const BasicGradScaler&) = delete;
  BasicGradScaler& operator=(const BasicGradScaler&) = delete;
  BasicGradScaler(BasicGradScaler&&) = default;
  BasicGradScaler& operator=(BasicGradScaler&&) = default;

  /// `loss` times the scale, for calling `backward()` on. Multiplied in float32 if `loss` is half
  /// precision, which could not hold a large scale. The first call puts the scale on its device.
  /// Host sync: none.   Throws: [E07] unless `loss` is a floating-point tensor.
  at::Tensor scale(const at::Tensor& loss);

  /// The same for every tensor in a vector, array, optional, pair, tuple, map or unordered_map,
  /// nested to any depth.
  template <class Container>
  Container scale(const Container& losses) {
    return transform_tensors(losses, [this](const at::Tensor& loss) { return scale(loss); });
  }

  /// Divides the gradients of `optimizer` by the scale, in place, and notes whether any is inf or
  /// NaN: for what needs the true gradients before `step()`, as clipping does.
  /// `Optimizer` is any type with `param_groups()` like that of torch::optim::Optimizer.
  /// Host sync: none, but for what a sparse gradient's own methods do.
  /// Throws: [E03] if called twice or after step(), [E05] before scale(), [E09], [E10] for
  /// gradients that cannot be unscaled, [E11] for one that another optimizer has unscaled already.
  /// Every gradient is then as it was.
  template <class Optimizer>
  void unscale_(Optimizer& optimizer);

  /// Unscales unless `unscale_()` did, then calls `optimizer.step()` if every gradient is finite.
  /// An optimizer without gradients is left alone. Casts cached by autocast are dropped, so that a
  /// forward pass after a step inside a region sees the new weights.
  /// Host sync: one read, of whether a gradient overflowed; none if disabled.
  /// Throws: [E04] if called twice before update(); else as `unscale_()`.
  template <class Optimizer>
  StepResult step(Optimizer& optimizer);

  /// Moves the scale by what the steps since the last call found, and starts the next iteration.
  /// Host sync: none.   Throws: [E05] before scale(), [E06] if no optimizer was unscaled or
  /// stepped; [E16] after many skips in a row, if the options ask for that, when all else is done.
  void update();

  /// Sets the scale instead, keeping the count of good steps, and starts the next iteration.
  /// Host sync: none.   Throws: [E12] outside [min_scale, max_scale], [E05] before scale().
  void update(double new_scale);

  /// The same with a one-element float tensor, whose value is copied and not checked, since that
  /// would need the host to read it.
  /// Host sync: none.   Throws: [E12] for a tensor of another kind, [E05] before scale().
  void update(const at::Tensor& new_scale);

  bool is_enabled() const { return options().enabled(); }

  /// The current scale; 1 if disabled.   Host sync: one read once scale() was called.
  double get_scale() const;

  /// The current scale on its device, 0-dim float32; undefined before scale().   Host sync: none.
  const at::Tensor& scale_tensor() const { return tensors_.scale(); }

  /// Good steps since the scale last moved.   Host sync: one read once scale() was called.
  int64_t growth_tracker() const;

  /// Steps taken and skipped since the scaler was made, of all optimizers.   Host sync: none.
  int64_t taken_steps() const { return taken_steps_; }
  int64_t skipped_steps() const { return skipped_steps_; }

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
    return detail::state_of(options(), tensors_.defined() ? tensors_.read() : start());
  }

  /// Goes on from `state`, in the same tensors; does nothing if disabled. Best between iterations:
  /// what is scaled, unscaled or stepped stays so, and all that follows goes by the loaded scale.
  /// Host sync: none.   Throws: [E17] for a state that does not fit; nothing has changed.
  void load_state_dict(const GradScalerState& state) {
    if (!is_enabled()) return;
    auto policy = detail::loaded_policy<LossScale>(state, options());
    const LossScaleState position = detail::loaded_position(state, policy);
    if (tensors_.defined()) tensors_.fill_(position);
    policy_ = std::move(policy);
    loaded_ = position;
  }

  /// False from the first `unscale_()` or `step()` of an iteration to its `update()`.
  bool between_iterations() const { return stages_.empty(); }

 private:
  LossScaleState start() const { return detail::start_of(policy_, loaded_); }
  GradScalerOptions copy_of_options() const { return options(); }
  void set(const GradScalerOptions& options) { policy_ = LossScale(options); }
  void check_scaled(const char* caller) const;

  /// The part that `unscale_()` and `step()` share, after their own checks of the order.
  template <class Optimizer>
  OptimizerStages::Entry& unscale_now(Optimizer& optimizer, const char* caller);

  LossScale policy_;
  std::optional<LossScaleState> loaded_;  // before the first scale(): where to start
  ScaleTensors tensors_;
  OptimizerStages stages_;
  SkipAlarm skip_alarm_;
  int64_t taken_steps_ = 0;
  int64_t skipped_steps_ = 0;
};

/// The everyday scaler, whose scale adapts itself: `torch.amp.GradScaler` for C++.
using GradScaler = BasicGradScaler<DynamicLossScale>;

template <class LossScale>
at::Tensor BasicGradScaler<LossScale>::scale(const at::Tensor& loss) {
  if (!is_enabled()) return loss;
  TORCHAMP_CHECK(E07, loss.defined(),
                 "scale(): the loss is an undefined tensor; pass the result of"
                 " the loss function");
  TORCHAMP_CHECK(E07, loss.is_floating_point() || loss.is_complex(), "scale(): the loss has dtype ",
                 loss.scalar_type(),
                 "; pass a floating-point tensor that backward() can start from");
  if (!tensors_.defined()) tensors_.create(loss.device(), start());
  const at::Tensor scale = tensors_.scale().to(loss.device(), /*non_blocking=*/true);
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

template <class LossScale>
template <class Optimizer>
void BasicGradScaler<LossScale>::unscale_(Optimizer& optimizer) {
  if (!is_enabled()) return;
  check_scaled("unscale_()");
  stages_.check_may_unscale(&optimizer);
  unscale_now(optimizer, "unscale_()");
}

template <class LossScale>
template <class Optimizer>
StepResult BasicGradScaler<LossScale>::step(Optimizer& optimizer) {
  if (!is_enabled()) {
    optimizer.step();
    at::autocast::clear_cache();
    return StepResult(StepStatus::Taken);
  }
  check_scaled("step()");
  stages_.check_may_step(&optimizer);
  auto* entry = stages_.find(&optimizer);
  if (entry == nullptr) entry = &unscale_now(optimizer, "step()");

  if (!entry->has_gradients) {
    entry->stage = OptimizerStages::Stage::Stepped;
    return StepResult(StepStatus::NoGradients);
  }
  const at::Tensor found_inf = entry->found_inf.combined(tensors_.scale().device());
  entry->overflowed = found_inf.template item<float>() != 0;
  if (!*entry->overflowed) {
    optimizer.step();  // should it throw, the optimizer stays unscaled and may be stepped again
    at::autocast::clear_cache();
  }
  entry->stage = OptimizerStages::Stage::Stepped;
  ++(*entry->overflowed ? skipped_steps_ : taken_steps_);
  return StepResult(*entry->overflowed ? StepStatus::Skipped : StepStatus::Taken, found_inf);
}

template <class LossScale>
void BasicGradScaler<LossScale>::update() {
  if (!is_enabled()) return;
  check_scaled("update()");
  TORCHAMP_CHECK(E06, !stages_.empty(),
                 "update(): no optimizer was unscaled or stepped since the last update(); call"
                 " step(optimizer) first, once an iteration");
  const at::Tensor found_inf = stages_.found_inf(tensors_.scale().device());
  const auto overflowed = stages_.overflowed();
  stages_.clear();
  if (!found_inf.defined()) return;  // without gradients there is nothing to learn about the scale
  tensors_.move_(policy_, found_inf);
  if (overflowed) skip_alarm_.note(*overflowed, options());
}

template <class LossScale>
void BasicGradScaler<LossScale>::update(double new_scale) {
  if (!is_enabled()) return;
  check_scaled("update()");
  TORCHAMP_CHECK(E12, new_scale >= options().min_scale() && new_scale <= options().max_scale(),
                 "update(): the new scale is ", new_scale, "; choose a number from min_scale, ",
                 options().min_scale(), ", to max_scale, ", options().max_scale());
  tensors_.set_scale(new_scale);
  stages_.clear();
}

template <class LossScale>
void BasicGradScaler<LossScale>::update(const at::Tensor& new_scale) {
  if (!is_enabled()) return;
  check_scaled("update()");
  TORCHAMP_CHECK(E12, new_scale.defined(), "update(): the new scale is an undefined tensor");
  TORCHAMP_CHECK(
      E12, new_scale.numel() == 1 && new_scale.is_floating_point() && !new_scale.requires_grad(),
      "update(): the new scale is a tensor of shape ", new_scale.sizes(), " and dtype ",
      new_scale.scalar_type(), new_scale.requires_grad() ? " that requires grad" : "",
      "; pass one floating-point number without gradient history");
  tensors_.set_scale(new_scale);
  stages_.clear();
}

template <class LossScale>
double BasicGradScaler<LossScale>::get_scale() const {
  if (!is_enabled()) return 1.0;
  if (!tensors_.defined()) return start().scale;
  return tensors_.scale().template item<float>();
}

template <class LossScale>
int64_t BasicGradScaler<LossScale>::growth_tracker() const {
  if (!is_enabled()) return 0;
  if (!tensors_.defined()) return start().growth_tracker;
  return tensors_.growth_tracker().template item<int32_t>();
}

template <class LossScale>
void BasicGradScaler<LossScale>::check_scaled(const char* caller) const {
  TORCHAMP_CHECK(E05, tensors_.defined(), caller,
                 ": called before scale(); write scaler.scale(loss).backward() in place of"
                 " loss.backward()");
}

template <class LossScale>
template <class Optimizer>
OptimizerStages::Entry& BasicGradScaler<LossScale>::unscale_now(Optimizer& optimizer,
                                                                const char* caller) {
  const auto gradients = detail::Gradients::of(optimizer, caller);
  stages_.check_not_unscaled(gradients.tensors(), caller);
  FoundInf found_inf = detail::unscale_(gradients, tensors_.inverse());
  return stages_.add(&optimizer, gradients.tensors(), std::move(found_inf));
}

}  // namespace v0
}  // namespace torchamp
