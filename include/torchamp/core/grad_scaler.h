// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/closure_check.h>
#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/core/loss_scale.h>
#include <torchamp/core/moving_scale.h>
#include <torchamp/core/nested.h>
#include <torchamp/core/optimizer_stages.h>
#include <torchamp/core/overflow_listener.h>
#include <torchamp/core/run_step.h>
#include <torchamp/core/skip_alarm.h>
#include <torchamp/core/step_counter.h>
#include <torchamp/core/step_result.h>
#include <torchamp/core/unscale.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/gradients.h>
#include <torchamp/detail/parameters.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <type_traits>
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
class BasicGradScaler : public MovingScale<LossScale>, public OverflowTeller {
 public:
  /// Throws: [E08] for an option that makes no sense.
  explicit BasicGradScaler(const GradScalerOptions& options = {})
      : MovingScale<LossScale>(options) {}

  using MovingScale<LossScale>::is_enabled;

  /// `loss` times the scale, for calling `backward()` on. Multiplied in float32 if `loss` is half
  /// precision, which could not hold a large scale. The first call puts the scale on its device.
  /// Host sync: none.   Throws: [E07] unless `loss` is a floating-point or complex tensor.
  [[nodiscard]] at::Tensor scale(const at::Tensor& loss) {
    return is_enabled() ? this->scale_loss(loss) : loss;
  }

  /// The same for every tensor in an optional, pair, tuple, map or any range, nested to any depth;
  /// what comes back is described at `transform_tensors()`.
  template <class Container>
  [[nodiscard]] auto scale(const Container& losses) {
    static_assert(!std::is_arithmetic_v<Container>,
                  "torchamp: scale() takes the loss itself, a tensor, not its item()");
    return transform_tensors(losses, [this](const at::Tensor& loss) { return scale(loss); });
  }

  /// Divides the gradients by the scale, in place, and notes whether any is inf or NaN: for what
  /// needs the true gradients before `step()`, as clipping does.
  /// `Owner` is an optimizer, which is any type with `param_groups()` like that of
  /// torch::optim::Optimizer, or a range of parameters: `model->parameters()`, or with their names
  /// `model->named_parameters()`, whose gradients `step()` then takes as they are.
  /// Returns 1 if one is inf or NaN, or has become so by being unscaled, else 0: 0-dim float32.
  /// Host sync: none, but for what a sparse gradient's own methods do.
  /// Throws: [E03] if called twice or after step(), [E05] before scale(), [E09], [E10] for
  /// gradients that cannot be unscaled, [E11] for one that another optimizer has unscaled already.
  /// Every gradient is then as it was.
  template <class Owner>
  at::Tensor unscale_(Owner&& owner);

  /// In place of `unscale_()`, for an AmpOptimizer that decides on the device: leaves the division
  /// to its step. `look(gradients, found_inf, grad_scale)` looks at the scaled gradients, notes in
  /// `found_inf` what it found, and may change by what the step is to divide; what it returns is
  /// returned.   Host sync: what `look` does.   Throws: as `unscale_()`.
  template <class Optimizer, class Look>
  at::Tensor unscale_in_step(Optimizer& optimizer, const char* caller, const Look& look);

  /// Unscales unless `unscale_()` did, then calls `optimizer.step()` if every gradient is finite.
  /// An optimizer without gradients is left alone. Casts cached by autocast are dropped, so that a
  /// forward pass after a step inside a region sees the new weights.
  /// Host sync: one read, of whether a gradient overflowed; none if disabled, or if the optimizer
  /// is an AmpOptimizer that decides on the device and `on_overflow()` has no listener.
  /// Throws: [E04] if called twice before update(), [E19] for an optimizer that needs a closure;
  /// else as `unscale_()`.
  template <class Optimizer>
  StepResult step(Optimizer& optimizer);
  template <class Optimizer>
  StepResult step(Optimizer* optimizer) {
    static_assert(detail::never<Optimizer>,
                  "torchamp: step() takes an optimizer; of a pointer, pass *optimizer");
    return step(*optimizer);
  }

  /// Only for a disabled scaler, which calls `optimizer.step(closure)`. The gradients that a
  /// closure makes would reach the optimizer scaled and unchecked.   Throws: [E19] if enabled.
  template <class Optimizer, class Closure>
  StepResult step(Optimizer& optimizer, Closure&& closure);

  /// Moves the scale by what the steps since the last call found, and starts the next iteration.
  /// Host sync: none.   Throws: [E05] before scale(), [E06] if no optimizer was unscaled or
  /// stepped; [E16] after many skips in a row, if the options ask for that, when all else is done.
  void update();

  /// Sets the scale instead, keeping the count of good steps, and starts the next iteration.
  /// Host sync: none.   Throws: [E12] outside [min_scale, max_scale], [E05] before scale().
  void update(double new_scale) { restart_at(new_scale); }

  /// The same with a one-element float tensor, whose value is copied, and brought into the bounds
  /// where it stands, since to refuse it the host would have to read it.
  /// Host sync: none, unless it is on a device of another type.   Throws: [E12] for a tensor of
  /// another kind, [E05] before scale().
  void update(const at::Tensor& new_scale) { restart_at(new_scale); }

  /// Steps taken and skipped since the scaler was made, those of all optimizers added up. A loaded
  /// state leaves them as they are.
  /// Host sync: one read if an AmpOptimizer decided on the device, else none.
  int64_t taken_steps() const { return steps_.taken(); }
  int64_t skipped_steps() const { return steps_.skipped(); }

  /// False from the first `unscale_()` or `step()` of an iteration to its `update()`.
  bool between_iterations() const { return stages_.empty(); }

 private:
  using MovingScale<LossScale>::check_scaled;
  using MovingScale<LossScale>::policy_;
  using MovingScale<LossScale>::tensors_;

  FoundInf unscale_now(const detail::Gradients& gradients) const {
    return detail::unscale_(gradients, tensors_.inverse(), tensors_.may_be_below_one());
  }
  template <class Scale>
  void restart_at(const Scale& new_scale);
  template <class Optimizer>
  OptimizerStages::Entry& unscale_for_step(Optimizer& optimizer);

  OptimizerStages stages_;
  SkipAlarm skip_alarm_;
  StepCounter steps_;
};

/// The everyday scaler, whose scale adapts itself: `torch.amp.GradScaler` for C++.
using GradScaler = BasicGradScaler<DynamicLossScale>;

template <class LossScale>
template <class Owner>
at::Tensor BasicGradScaler<LossScale>::unscale_(Owner&& owner) {
  using Bare = std::remove_reference_t<Owner>;
  if constexpr (!detail::has_param_groups<Bare> && !detail::is_parameter_range<Bare>) {
    static_assert(detail::never<Bare>,
                  "torchamp: unscale_() takes an optimizer, which has param_groups() as"
                  " torch::optim::Optimizer has it, or a range of parameters: of a module,"
                  " model->parameters(); of a pointer, *optimizer");
  } else {
    if (!is_enabled()) return at::zeros({});
    check_scaled("unscale_()");
    const auto gradients = stages_.gradients_to_unscale(owner, "unscale_()");
    auto found_inf = unscale_now(gradients);
    const at::Tensor found = found_inf.combined(tensors_.scale().device()).clone();
    if constexpr (detail::has_param_groups<Bare>) {
      stages_.add(owner, gradients.tensors(), std::move(found_inf));
    } else {
      stages_.add_range(gradients.tensors(), std::move(found_inf));
    }
    return found;
  }
}

template <class LossScale>
template <class Optimizer>
StepResult BasicGradScaler<LossScale>::step(Optimizer& optimizer) {
  if constexpr (!detail::has_param_groups<Optimizer> || !detail::has_step<Optimizer>) {
    static_assert(detail::never<Optimizer>,
                  "torchamp: step() takes an optimizer: a type with param_groups(), as"
                  " torch::optim::Optimizer has it, and a step() that needs no closure, as that of"
                  " LBFGS does; of a pointer, pass *optimizer");
  } else {
    if (!is_enabled()) {
      detail::run_step([&] { optimizer.step(); });
      steps_.note(/*taken=*/true);
      return StepResult(StepStatus::Taken);
    }
    check_scaled("step()");
    detail::check_needs_no_closure(optimizer);
    auto* entry = stages_.find(optimizer);
    stages_.check_may_step(entry);
    if (entry == nullptr) entry = &unscale_for_step(optimizer);
    if (!entry->has_gradients) {
      TORCHAMP_CHECK(
          E03, detail::Gradients::of(optimizer, detail::HalfGradients::Allowed, "step()").empty(),
          "step(): unscale_() was called before backward(), when this optimizer had no"
          " gradients, and now it has scaled ones; call it after the last backward()");
      entry->stage = OptimizerStages::Stage::Stepped;
      return StepResult(StepStatus::NoGradients);
    }
    // Should a step throw, the optimizer stays unscaled and may be stepped again.
    const at::Tensor found_inf = entry->found_inf.combined(tensors_.scale().device());
    auto* const amp_optimizer = detail::as_amp_optimizer(optimizer);
    const bool decides = amp_optimizer != nullptr && amp_optimizer->decides_on_device();
    if (decides) {
      detail::run_step([&] { amp_optimizer->step_unless(found_inf, entry->grad_scale); });
      if (!found_inf.is_cpu() && !has_listener()) {
        entry->stage = OptimizerStages::Stage::Stepped;
        steps_.note(found_inf);
        return StepResult(found_inf);
      }
    }
    // What was decided on a CPU the host can see, without an operator and without waiting.
    const bool overflowed = decides && found_inf.is_cpu() ? *found_inf.const_data_ptr<float>() != 0
                                                          : found_inf.template item<float>() != 0;
    if (!decides && !overflowed) detail::run_step([&] { optimizer.step(); });
    stages_.note_read(*entry, overflowed);
    entry->stage = OptimizerStages::Stage::Stepped;
    steps_.note(/*taken=*/!overflowed);
    if (overflowed) tell(optimizer, steps_.all(), tensors_.scale(), stages_, *entry);
    return StepResult(overflowed ? StepStatus::Skipped : StepStatus::Taken, found_inf);
  }
}

template <class LossScale>
template <class Optimizer, class Closure>
StepResult BasicGradScaler<LossScale>::step(Optimizer& optimizer, Closure&& closure) {
  detail::check_no_closure(is_enabled());
  detail::run_step([&] { optimizer.step(std::forward<Closure>(closure)); });
  steps_.note(/*taken=*/true);
  return StepResult(StepStatus::Taken);
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
  if (!found_inf.defined()) {  // nothing to learn about the scale
    return skip_alarm_.note_no_gradients(policy_.options());
  }
  tensors_.move_(policy_, found_inf, overflowed);
  skip_alarm_.note(overflowed, policy_.options());
}

template <class LossScale>
template <class Scale>
void BasicGradScaler<LossScale>::restart_at(const Scale& new_scale) {
  if (!is_enabled()) return;
  check_scaled("update()");
  this->set_scale(new_scale);
  stages_.clear();
}

template <class LossScale>
template <class Optimizer, class Look>
at::Tensor BasicGradScaler<LossScale>::unscale_in_step(Optimizer& optimizer, const char* caller,
                                                       const Look& look) {
  check_scaled(caller);
  const auto gradients = stages_.gradients_to_unscale(optimizer, caller);
  gradients.put_copies();
  FoundInf found_inf;
  at::Tensor grad_scale = tensors_.scale();
  const at::Tensor result = look(gradients, found_inf, grad_scale);
  stages_.add(optimizer, gradients.tensors(), std::move(found_inf)).grad_scale = grad_scale;
  return result;
}

template <class LossScale>
template <class Optimizer>
OptimizerStages::Entry& BasicGradScaler<LossScale>::unscale_for_step(Optimizer& optimizer) {
  const auto gradients = detail::gradients_to_unscale(optimizer, "step()");
  auto ranges =
      stages_.ranges_of(gradients.tensors(), detail::optimizer_address_of(optimizer), "step()");
  if (!ranges.empty()) return stages_.add_unscaled(optimizer, std::move(ranges));
  return stages_.add(optimizer, gradients.tensors(), unscale_now(gradients));
}

}  // namespace v0
}  // namespace torchamp
