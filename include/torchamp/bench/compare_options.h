// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/arg.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// How far a comparison is, told after each step.
struct CompareProgress {
  int64_t step;                 ///< steps done, of all variants
  int64_t steps;                ///< steps in all
  std::string name;             ///< whose step it was: "AMP bf16"
  double loss;                  ///< of that step
  std::optional<double> scale;  ///< of the loss, after that step; none if no scaler is watched
};

struct CompareOptions {
  /// Rounds that are timed; in each, every variant takes one step. 6 or more for an interval.
  TORCH_ARG(int64_t, rounds) = 30;
  /// Rounds before, which are not: caches fill, memory is first taken, clocks rise.
  TORCH_ARG(int64_t, warmup) = 3;
  /// Every variant is made, and begins, with this seed of the random generators, those of the CPU
  /// and of the device.
  TORCH_ARG(uint64_t, seed) = 1;
  /// How sure the interval of a ratio is, from 0 to 1, both excluded.
  TORCH_ARG(double, confidence) = 0.95;
  /// How uncertain a ratio may be before it is called unstable: 0.05 is 5 % to each side.
  TORCH_ARG(double, tolerance) = 0.05;
  /// What a step works through, for the throughput: 64 and "images". 0: no throughput.
  TORCH_ARG(int64_t, items_per_step) = 0;
  TORCH_ARG(std::string, item_name) = "items";
  /// Called before each round, with its number, 0 first, and not timed: to fetch the batch that all
  /// variants then share. Random numbers that it draws do not depend on the variants.
  TORCH_ARG(std::function<void(int64_t)>, prepare);
  /// Called after each step, and not timed.
  TORCH_ARG(std::function<void(const CompareProgress&)>, progress);
};

}  // namespace v0
}  // namespace torchamp
