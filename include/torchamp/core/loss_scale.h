// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/detail/check.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace torchamp {
inline namespace v0 {

/// Where a loss scale stands between two steps.
struct LossScaleState {
  float scale;                 ///< the factor on the loss
  int32_t growth_tracker;      ///< good steps since the scale last moved
  int32_t hysteresis_tracker;  ///< overflows left before the scale backs off
};

/// Finds a scale by trial, as `torch.amp` does: it grows after a run of good steps and backs off
/// after an overflow. This class is the rule in plain arithmetic; ScaleTensors applies the same
/// rule on a device.
class DynamicLossScale {
 public:
  /// Throws: [E08] for a value that makes no sense, with its name and bound.
  explicit DynamicLossScale(const GradScalerOptions& options = {});

  LossScaleState initial() const {
    return {static_cast<float>(options_.init_scale()), 0,
            static_cast<int32_t>(options_.hysteresis())};
  }

  /// The state after a step, of which `found_inf` says whether it overflowed.
  LossScaleState next(LossScaleState state, bool found_inf) const;

  const GradScalerOptions& options() const { return options_; }

 private:
  LossScaleState after_overflow(LossScaleState state) const;
  LossScaleState after_good_step(LossScaleState state) const;
  float clamped(double scale) const;

  GradScalerOptions options_;
};

/// A scale that stays as it is: for bfloat16, or where a good value is known. Steps that overflow
/// are still skipped.
class ConstantLossScale {
 public:
  /// Throws: [E08] for a value that makes no sense, also where only the dynamic policy uses it.
  explicit ConstantLossScale(const GradScalerOptions& options = {});

  LossScaleState initial() const { return {static_cast<float>(options_.init_scale()), 0, 1}; }
  LossScaleState next(LossScaleState state, bool /*found_inf*/) const { return state; }

  const GradScalerOptions& options() const { return options_; }

 private:
  GradScalerOptions options_;
};

namespace detail {

/// Whether a scale keeps to [min_scale, max_scale] as the float32 that it will be: at its bounds a
/// scale is equal to the rounded bound, which may be on the far side of the bound itself.
inline bool is_in_bounds(double scale, const GradScalerOptions& options) {
  return static_cast<float>(scale) >= static_cast<float>(options.min_scale()) &&
         static_cast<float>(scale) <= static_cast<float>(options.max_scale());
}

/// Checks what every policy has, so that setters and saved states mean the same with each.
inline void check_options(const GradScalerOptions& options) {
  constexpr double smallest = (std::numeric_limits<float>::min)();
  constexpr double largest = (std::numeric_limits<float>::max)();
  constexpr int64_t longest = (std::numeric_limits<int32_t>::max)();
  // Each comparison is false for NaN, so that NaN is refused too.
  TORCHAMP_CHECK(E08, options.growth_factor() > 1.0 && std::isfinite(options.growth_factor()),
                 "GradScaler: growth_factor is ", options.growth_factor(),
                 "; choose a finite number above 1, as 2");
  TORCHAMP_CHECK(E08, options.backoff_factor() > 0.0 && options.backoff_factor() < 1.0,
                 "GradScaler: backoff_factor is ", options.backoff_factor(),
                 "; choose a number between 0 and 1, as 0.5");
  TORCHAMP_CHECK(E08, options.growth_interval() >= 1 && options.growth_interval() <= longest,
                 "GradScaler: growth_interval is ", options.growth_interval(),
                 " steps; choose 1 or more, as 2000");
  TORCHAMP_CHECK(E08, options.hysteresis() >= 1 && options.hysteresis() <= longest,
                 "GradScaler: hysteresis is ", options.hysteresis(),
                 " overflows; choose 1 or more");
  TORCHAMP_CHECK(E08, options.min_scale() >= smallest && options.min_scale() <= largest,
                 "GradScaler: min_scale is ", options.min_scale(), "; choose a positive float32");
  TORCHAMP_CHECK(E08, options.max_scale() >= options.min_scale() && options.max_scale() <= largest,
                 "GradScaler: max_scale is ", options.max_scale(),
                 "; choose a finite float32 that is at least min_scale, ", options.min_scale());
  TORCHAMP_CHECK(E08, is_in_bounds(options.init_scale(), options), "GradScaler: init_scale is ",
                 options.init_scale(), "; choose a number from min_scale, ", options.min_scale(),
                 ", to max_scale, ", options.max_scale());
  TORCHAMP_CHECK(E08, options.many_skips() >= 0, "GradScaler: many_skips is ", options.many_skips(),
                 "; choose a number of steps, or 0 for never");
  TORCHAMP_CHECK(E08, options.on_many_skips() != ManySkips::Call || options.many_skips_callback(),
                 "GradScaler: on_many_skips is Call, and many_skips_callback is empty; give it a"
                 " function, or choose Warn or Throw");
}

}  // namespace detail

inline DynamicLossScale::DynamicLossScale(const GradScalerOptions& options) : options_(options) {
  detail::check_options(options);
}

inline LossScaleState DynamicLossScale::next(LossScaleState state, bool found_inf) const {
  return found_inf ? after_overflow(state) : after_good_step(state);
}

inline LossScaleState DynamicLossScale::after_overflow(LossScaleState state) const {
  if (state.hysteresis_tracker > 0) --state.hysteresis_tracker;
  if (state.hysteresis_tracker == 0) {
    state.scale = clamped(static_cast<double>(state.scale) * options_.backoff_factor());
  }
  state.growth_tracker = 0;
  return state;
}

inline LossScaleState DynamicLossScale::after_good_step(LossScaleState state) const {
  const auto full_hysteresis = static_cast<int32_t>(options_.hysteresis());
  if (options_.consecutive_hysteresis()) state.hysteresis_tracker = full_hysteresis;
  ++state.growth_tracker;
  // At least, not exactly: an interval that was lowered below the count must not be missed.
  if (state.growth_tracker >= options_.growth_interval()) {
    const double grown = static_cast<double>(state.scale) * options_.growth_factor();
    if (std::isfinite(static_cast<float>(grown))) state.scale = clamped(grown);
    state.growth_tracker = 0;
    state.hysteresis_tracker = full_hysteresis;
  }
  return state;
}

inline float DynamicLossScale::clamped(double scale) const {
  if (scale < options_.min_scale()) return static_cast<float>(options_.min_scale());
  if (scale > options_.max_scale()) return static_cast<float>(options_.max_scale());
  return static_cast<float>(scale);
}

inline ConstantLossScale::ConstantLossScale(const GradScalerOptions& options) : options_(options) {
  detail::check_options(options);
}

}  // namespace v0
}  // namespace torchamp
