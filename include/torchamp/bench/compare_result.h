// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/paired.h>
#include <torchamp/bench/step_profile.h>
#include <torchamp/bench/tf32.h>
#include <torchamp/core/device.h>
#include <torchamp/probe/memory.h>

#include <c10/core/Device.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What was measured of one variant.
struct StepRecord {
  struct Phase {
    std::string name;             ///< "forward"; nested: "forward/head"
    std::vector<double> seconds;  ///< of each timed round; 0 where the phase did not run
  };

  std::string name;  ///< "AMP bf16"
  Float32Math math = Float32Math::AsSet;
  std::vector<double> seconds;  ///< of each timed round
  std::vector<Phase> phases;    ///< in the order in which they began first
  MemoryUsage memory;           ///< of one step, which was not timed
  StepProfile profile;          ///< of another one
  // Of every step, the warm-up too:
  std::vector<double> losses;
  /// After each step, up to the last one that watched a scaler; empty if none did.
  std::vector<double> scales;
  std::vector<int64_t> skipped;  ///< the numbers of the steps that were skipped, 0 the first
};

/// Two variants, round by round.
struct StepPair {
  std::size_t variant;
  std::size_t baseline;
  PairedRatio time;  ///< of a step: variant / baseline
};

/// What a comparison measured; `to_report()` makes a report of it.
struct CompareResult {
  c10::Device device = c10::kCPU;
  Advice advice{};  ///< about the device
  bool has_tf32 = false;
  int64_t untimed_steps = 0;  ///< of each variant, before the timed ones
  int64_t items_per_step = 0;
  std::string item_name;
  double tolerance = 0.05;
  std::vector<StepRecord> variants;
  std::vector<StepPair> pairs;  ///< each against the first, and against TF32 if that is a variant
};

/// The number of the first step whose loss is NaN or inf; none if all are finite.
inline std::optional<std::size_t> first_not_finite(const std::vector<double>& losses) {
  for (std::size_t step = 0; step < losses.size(); ++step) {
    if (!std::isfinite(losses[step])) return step;
  }
  return std::nullopt;
}

/// Where two loss curves are furthest apart.
struct LossDifference {
  double difference = 0;  ///< of the finite losses
  std::size_t step = 0;
};

/// Of the steps that both have, in which both losses are finite.
inline LossDifference largest_difference(const std::vector<double>& a,
                                         const std::vector<double>& b) {
  LossDifference largest;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (std::isfinite(difference) && difference > largest.difference) largest = {difference, i};
  }
  return largest;
}

}  // namespace v0
}  // namespace torchamp
