// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/step_result.h>

#include <utility>

namespace torchamp {
inline namespace v0 {

/// Steps a learning-rate scheduler if the optimizer's step was taken, and returns whether it did.
/// A schedule that moves on while steps are skipped is ahead of the training; at the start of a
/// run, when the scale is being found, that is several steps.
///
///     torchamp::step_scheduler(scheduler, scaler.step(optimizer));
///
/// `Scheduler` is a torch::optim::LRScheduler or any type with `step(arguments...)`, as the metric
/// of torch::optim::ReduceLROnPlateauScheduler.
/// Host sync: one read if the optimizer decided on the device, else none.
template <class Scheduler, class... Arguments>
bool step_scheduler(Scheduler& scheduler, const StepResult& result, Arguments&&... arguments) {
  if (!result.taken()) return false;
  scheduler.step(std::forward<Arguments>(arguments)...);
  return true;
}

}  // namespace v0
}  // namespace torchamp
