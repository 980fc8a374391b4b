// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_result.h>
#include <torchamp/bench/random_state.h>
#include <torchamp/bench/step_context.h>
#include <torchamp/bench/step_profile.h>
#include <torchamp/bench/step_timer.h>
#include <torchamp/bench/tf32.h>
#include <torchamp/detail/check.h>
#include <torchamp/probe/memory.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// One training step: takes it, and returns the loss, a tensor of one element, which may stay on
/// the device.
using CompareStep = std::function<at::Tensor(StepContext&)>;
/// Makes the model, the optimizer, the scaler, and a step that uses them.
using CompareFactory = std::function<CompareStep()>;

/// What a step is taken for. It is a step of the training in any case.
enum class StepPurpose { WarmUp, Memory, Profile, Time };

/// One variant of a comparison while it runs: its step, its random numbers, what was measured.
/// Threads: one at a time.
template <class Clock = std::chrono::steady_clock>
class StepRunner {
 public:
  /// Seeds the random generators of the CPU and of `device`, and calls `factory`.
  /// Throws: [E30] if it returns no step.
  StepRunner(c10::Device device, std::string name, Float32Math math, const CompareFactory& factory,
             uint64_t seed)
      : device_(device), random_(device) {
    record_.name = std::move(name);
    record_.math = math;
    std::optional<Tf32Guard> guard;
    enter_math(guard);
    RandomState::seed(device_, seed);
    step_ = factory();
    random_ = RandomState(device_);
    TORCHAMP_CHECK(E30, step_ != nullptr, "Compare: the factory of \"", record_.name,
                   "\" returned no step; return a function that takes a StepContext&");
  }

  /// Takes one step, which draws the random numbers that follow on those of the last one.
  /// Host sync: waits for the device, and reads the loss and the scale when the time was taken.
  /// Throws: [E30] if the step returns no loss, [E13] while a profiler runs; what the step throws.
  void take_step(StepPurpose purpose);

  const StepRecord& record() const { return record_; }

 private:
  void enter_math(std::optional<Tf32Guard>& guard) const {
    if (record_.math != Float32Math::AsSet) guard.emplace(record_.math == Float32Math::Tf32);
  }
  double read_loss(const at::Tensor& loss) const;
  void note_time(const StepTimer<Clock>& timer);
  void note_scale(const StepContext& context);

  c10::Device device_;
  CompareStep step_;
  RandomState random_;
  int64_t skipped_before_ = 0;
  StepRecord record_;
};

template <class Clock>
void StepRunner<Clock>::take_step(StepPurpose purpose) {
  std::optional<Tf32Guard> guard;
  enter_math(guard);
  random_.restore();
  StepTimer<Clock> timer(device_);
  at::Tensor loss;
  const auto step = [&] { loss = timer.time(step_); };
  if (purpose == StepPurpose::Memory) {
    const MemoryProbe probe(device_);
    step();
    record_.memory = probe.usage();
  } else if (purpose == StepPurpose::Profile) {
    record_.profile = profile_step(step);
  } else {
    step();
  }
  random_ = RandomState(device_);
  const double value = read_loss(loss);
  if (purpose == StepPurpose::Time) note_time(timer);
  record_.losses.push_back(value);
  note_scale(timer);
}

template <class Clock>
double StepRunner<Clock>::read_loss(const at::Tensor& loss) const {
  const std::size_t step = record_.losses.size();
  TORCHAMP_CHECK(E30, loss.defined() && loss.numel() == 1 && !loss.is_complex(), "Compare: step ",
                 step, " of \"", record_.name,
                 "\" returned no loss; return a tensor of one element");
  const double value = loss.item<double>();
  TORCHAMP_CHECK(E30, step > 0 || std::isfinite(value), "Compare: the first loss of \"",
                 record_.name, "\" is ", value,
                 "; a training that has no loss to begin with cannot be compared: look at its data"
                 " and its first weights");
  return value;
}

template <class Clock>
void StepRunner<Clock>::note_time(const StepTimer<Clock>& timer) {
  const std::size_t rounds_before = record_.seconds.size();
  record_.seconds.push_back(timer.seconds());
  for (const PhaseTime& time : timer.phases()) {
    StepRecord::Phase* phase = nullptr;
    for (auto& known : record_.phases) {
      if (known.name == time.name) phase = &known;
    }
    if (phase == nullptr) phase = &record_.phases.emplace_back();
    phase->name = time.name;
    phase->seconds.resize(rounds_before, 0);
    phase->seconds.push_back(time.seconds);
  }
  for (auto& phase : record_.phases) phase.seconds.resize(record_.seconds.size(), 0);
}

template <class Clock>
void StepRunner<Clock>::note_scale(const StepContext& context) {
  const auto reading = context.scale();
  if (!reading) return;
  // Steps that did not show the scaler, as those that only add up gradients, left the scale alone.
  const double before = record_.scales.empty() ? reading->scale : record_.scales.back();
  record_.scales.resize(record_.losses.size() - 1, before);
  record_.scales.push_back(reading->scale);
  if (reading->skipped_steps > skipped_before_) {
    record_.skipped.push_back(static_cast<int64_t>(record_.losses.size()) - 1);
  }
  skipped_before_ = reading->skipped_steps;
}

}  // namespace v0
}  // namespace torchamp
