// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_options.h>
#include <torchamp/bench/compare_report.h>
#include <torchamp/bench/compare_result.h>
#include <torchamp/bench/environment_facts.h>
#include <torchamp/bench/paired.h>
#include <torchamp/bench/random_state.h>
#include <torchamp/bench/step_runner.h>
#include <torchamp/bench/tf32.h>
#include <torchamp/core/device.h>
#include <torchamp/detail/check.h>
#include <torchamp/probe/environment.h>
#include <torchamp/report/report.h>

#include <c10/core/Device.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Measures two or more ways of taking a training step against each other: FP32, TF32, AMP.
///
///     torchamp::Compare compare(device, torchamp::CompareOptions().rounds(50));
///     compare.add_float32([&] { return make_step(/*amp=*/false); });
///     compare.add("AMP bf16", [&] { return make_step(/*amp=*/true); });
///     const torchamp::Report report = compare.run();
///
/// All variants take turns, round by round, so that what slows down the machine slows down all; the
/// one that begins changes from round to round. Each is made right after the random generators of
/// the CPU and of the device got the same seed, and goes on in a stream of random numbers of its
/// own: the same first weights, the same dropout, the losses that it would have alone.
///
/// Per variant: warm-up steps, one under a `MemoryProbe`, one in which operators are noted, then
/// the timed steps; all are steps of one training. What a step should not be timed for, as loading
/// data, belongs into `CompareOptions::prepare`.
///
/// Caveats: All models are alive at once, so they need memory for all. Where the device's events do
/// not tell the time, a phase begins and ends with a wait for it; mark phases alike in all
/// variants, or in none. The times are those of this machine, these shapes and this moment.
/// Threads: one at a time. `Clock` can be replaced, for tests.
template <class Clock = std::chrono::steady_clock>
class BasicCompare {
 public:
  /// Throws: [E08] for an option that makes no sense.
  explicit BasicCompare(c10::Device device, CompareOptions options = {});

  /// Adds a variant; the first one is the baseline. `math` holds while it is made and steps.
  /// Throws: [E30] if there is no factory, or a name that is empty or that another one has, also
  /// but for signs that are no letters or digits; nothing changes.
  BasicCompare& add(std::string name, CompareFactory factory,
                    Float32Math math = Float32Math::AsSet);

  /// Adds the baselines of float32: "FP32", strict, and "TF32" where the device has it.
  /// Throws: [E30] as `add()`.
  BasicCompare& add_float32(const CompareFactory& factory);

  /// Measures and makes a report of it: `to_report(measure())`, and the environment.
  /// Host sync, throws: as `measure()`.
  Report run() {
    Report report = to_report(measure());
    report.environment = environment_facts(environment());
    return report;
  }

  /// Measures.   Host sync: waits for the device around each step and phase; reads loss and scale.
  /// Throws: [E30] if there are fewer than two variants, a factory makes no step, or a step returns
  /// no loss: another thing than a tensor of one element, or in its first step one that is not
  /// finite; [E13] while a profiler of this thread runs; and what a step throws. The random
  /// generators, and what LibTorch does about TF32, are then as before.
  CompareResult measure();

 private:
  struct Entry {
    std::string name;
    CompareFactory factory;
    Float32Math math;
  };
  int64_t untimed_steps() const { return options_.warmup() + 2; }
  StepPurpose purpose_of(int64_t round) const {
    const int64_t after = round - options_.warmup();
    return after < 0    ? StepPurpose::WarmUp
           : after == 0 ? StepPurpose::Memory
           : after == 1 ? StepPurpose::Profile
                        : StepPurpose::Time;
  }
  void tell_progress(int64_t steps_done, const StepRecord& record) const;
  void compare_pairs(CompareResult& result) const;

  c10::Device device_;
  CompareOptions options_;
  std::vector<Entry> entries_;
};

using Compare = BasicCompare<>;

template <class Clock>
BasicCompare<Clock>::BasicCompare(c10::Device device, CompareOptions options)
    : device_(device), options_(std::move(options)) {
  TORCHAMP_CHECK(E08, options_.rounds() >= 1, "Compare: rounds is ", options_.rounds(),
                 "; choose 1 or more, and 6 or more for an interval of 95 %");
  TORCHAMP_CHECK(E08, options_.warmup() >= 0, "Compare: warmup is ", options_.warmup(),
                 " rounds; choose 0 or more");
  TORCHAMP_CHECK(E08, options_.confidence() > 0 && options_.confidence() < 1,
                 "Compare: confidence is ", options_.confidence(),
                 "; choose a number between 0 and 1, as 0.95");
  TORCHAMP_CHECK(E08, options_.tolerance() > 0, "Compare: tolerance is ", options_.tolerance(),
                 "; choose a number above 0, as 0.05");
  TORCHAMP_CHECK(E08, options_.items_per_step() >= 0, "Compare: items_per_step is ",
                 options_.items_per_step(), "; choose 0 or more");
}

template <class Clock>
BasicCompare<Clock>& BasicCompare<Clock>::add(std::string name, CompareFactory factory,
                                              Float32Math math) {
  TORCHAMP_CHECK(E30, factory != nullptr, "Compare::add(): \"", name,
                 "\" has no factory; give a function that returns a step");
  const std::string id = report_id(name);
  TORCHAMP_CHECK(E30, !id.empty(), "Compare::add(): the name \"", name,
                 "\" has no letter and no digit; give one that people can read");
  for (const Entry& entry : entries_) {
    TORCHAMP_CHECK(E30, report_id(entry.name) != id, "Compare::add(): \"", name,
                   "\" is there already, as \"", entry.name, "\"; give each variant its own name");
  }
  entries_.push_back({std::move(name), std::move(factory), math});
  return *this;
}

template <class Clock>
BasicCompare<Clock>& BasicCompare<Clock>::add_float32(const CompareFactory& factory) {
  add("FP32", factory, Float32Math::Strict);
  if (has_tf32(device_)) add("TF32", factory, Float32Math::Tf32);
  return *this;
}

template <class Clock>
CompareResult BasicCompare<Clock>::measure() {
  TORCHAMP_CHECK(E30, entries_.size() >= 2, "Compare: ", entries_.size(),
                 " variants; a comparison needs two or more, see add()");
  const RandomStateGuard outer_random(device_);
  CompareResult result;
  result.device = device_;
  result.advice = advise(device_);
  result.has_tf32 = has_tf32(device_);
  result.untimed_steps = untimed_steps();
  result.items_per_step = options_.items_per_step();
  result.item_name = options_.item_name();
  result.tolerance = options_.tolerance();

  RandomState::seed(device_, options_.seed());
  RandomState random_of_prepare(device_);
  std::vector<StepRunner<Clock>> runners;
  for (const Entry& entry : entries_) {
    runners.emplace_back(device_, entry.name, entry.math, entry.factory, options_.seed());
  }

  const auto count = static_cast<int64_t>(runners.size());
  for (int64_t round = 0; round < untimed_steps() + options_.rounds(); ++round) {
    if (options_.prepare()) {
      random_of_prepare.restore();
      options_.prepare()(round);
      random_of_prepare = RandomState(device_);
    }
    for (int64_t turn = 0; turn < count; ++turn) {
      // Each is first, second, … equally often: to go first can be to find warmer caches, or
      // colder ones.
      const auto which = static_cast<std::size_t>((round + turn) % count);
      runners[which].take_step(purpose_of(round));
      tell_progress(round * count + turn + 1, runners[which].record());
    }
  }
  for (auto& runner : runners) result.variants.push_back(runner.record());
  compare_pairs(result);
  return result;
}

template <class Clock>
void BasicCompare<Clock>::tell_progress(int64_t steps_done, const StepRecord& record) const {
  if (!options_.progress()) return;
  const auto steps = static_cast<int64_t>(entries_.size()) * (untimed_steps() + options_.rounds());
  std::optional<double> scale;
  if (!record.scales.empty()) scale = record.scales.back();
  options_.progress()({steps_done, steps, record.name, record.losses.back(), scale});
}

template <class Clock>
void BasicCompare<Clock>::compare_pairs(CompareResult& result) const {
  const auto& variants = result.variants;
  for (std::size_t baseline = 0; baseline < variants.size(); ++baseline) {
    if (baseline > 0 && variants[baseline].math != Float32Math::Tf32) continue;
    for (std::size_t variant = baseline + 1; variant < variants.size(); ++variant) {
      result.pairs.push_back({variant, baseline,
                              paired_ratio(variants[variant].seconds, variants[baseline].seconds,
                                           options_.confidence(), options_.tolerance())});
    }
  }
}

}  // namespace v0
}  // namespace torchamp
