// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_options.h>
#include <torchamp/core/loss_scale.h>
#include <torchamp/detail/check.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace torchamp {
inline namespace v0 {

/// What a GradScaler needs to go on where it was: the result of `state_dict()`, plain numbers.
///
///     const auto state = scaler.state_dict();
///     other.load_state_dict(state);
///
/// The first five are those of Python's `torch.amp.GradScaler`. The others are torchamp's own; they
/// are absent in a state from Python, and the scaler that loads it keeps what it has. A scaler
/// whose scale is constant takes the scale of a state, and stays there.
struct GradScalerState {
  double scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  int64_t growth_interval = 2000;
  int64_t growth_tracker = 0;  ///< good steps since the scale last moved; `_growth_tracker` there

  std::optional<int64_t> hysteresis;
  std::optional<int64_t> hysteresis_tracker;  ///< overflows left before the scale backs off
  std::optional<bool> consecutive_hysteresis;
  std::optional<double> min_scale;
  std::optional<double> max_scale;

  /// True for the state of a disabled scaler, `{}` in Python; the rest then means nothing. An
  /// enabled scaler refuses it, with [E17]; a disabled one loads nothing, whatever the state.
  bool empty = false;

  static GradScalerState of_disabled() {
    GradScalerState state;
    state.empty = true;
    return state;
  }

  /// The state without torchamp's own part, as Python's scaler has it.
  GradScalerState python_part() const {
    GradScalerState part = *this;
    part.hysteresis = part.hysteresis_tracker = std::nullopt;
    part.consecutive_hysteresis = std::nullopt;
    part.min_scale = part.max_scale = std::nullopt;
    return part;
  }
};

inline bool operator==(const GradScalerState& a, const GradScalerState& b) {
  if (a.empty || b.empty) return a.empty == b.empty;
  return a.scale == b.scale && a.growth_factor == b.growth_factor &&
         a.backoff_factor == b.backoff_factor && a.growth_interval == b.growth_interval &&
         a.growth_tracker == b.growth_tracker && a.hysteresis == b.hysteresis &&
         a.hysteresis_tracker == b.hysteresis_tracker &&
         a.consecutive_hysteresis == b.consecutive_hysteresis && a.min_scale == b.min_scale &&
         a.max_scale == b.max_scale;
}
inline bool operator!=(const GradScalerState& a, const GradScalerState& b) { return !(a == b); }

namespace detail {

inline GradScalerState state_of(const GradScalerOptions& options, const LossScaleState& now) {
  GradScalerState state;
  state.scale = static_cast<double>(now.scale);
  state.growth_factor = options.growth_factor();
  state.backoff_factor = options.backoff_factor();
  state.growth_interval = options.growth_interval();
  state.growth_tracker = now.growth_tracker;
  state.hysteresis = options.hysteresis();
  state.hysteresis_tracker = now.hysteresis_tracker;
  state.consecutive_hysteresis = options.consecutive_hysteresis();
  state.min_scale = options.min_scale();
  state.max_scale = options.max_scale();
  return state;
}

/// The policy of a scaler with these options after it has loaded `state`.
/// Throws: [E17] for a state that does not fit, with the name of what is wrong.
template <class LossScale>
LossScale loaded_policy(const GradScalerState& state, GradScalerOptions options) {
  TORCHAMP_CHECK(E17, !state.empty,
                 "load_state_dict(): the state is empty, as that of a disabled scaler; save the"
                 " state of an enabled one, or go without loading it");
  options.growth_factor(state.growth_factor)
      .backoff_factor(state.backoff_factor)
      .growth_interval(state.growth_interval)
      .hysteresis(state.hysteresis.value_or(options.hysteresis()))
      .consecutive_hysteresis(
          state.consecutive_hysteresis.value_or(options.consecutive_hysteresis()))
      .min_scale(state.min_scale.value_or(options.min_scale()))
      .max_scale(state.max_scale.value_or(options.max_scale()));
  try {
    // The constructor's own checks. Of the scale it would speak as of `init_scale`, so it is given
    // one that is right, and the scale is checked below.
    LossScale(GradScalerOptions(options).init_scale(options.min_scale()));
  } catch (const c10::ValueError& error) {
    const std::string text = error.what_without_backtrace();
    TORCHAMP_CHECK(E17, false,
                   "load_state_dict(): the state does not fit: ", text.substr(text.find("] ") + 2));
  }
  TORCHAMP_CHECK(E17, is_in_bounds(state.scale, options), "load_state_dict(): scale is ",
                 state.scale,
                 " in the state, and this scaler keeps"
                 " it from min_scale, ",
                 options.min_scale(), ", to max_scale, ", options.max_scale(),
                 "; check the file, or make the scaler with wider bounds");
  return LossScale(options.init_scale(state.scale));
}

/// Where the first `scale()` starts: with the policy, or where a loaded state was.
template <class LossScale>
LossScaleState start_of(const LossScale& policy, const std::optional<LossScaleState>& loaded) {
  LossScaleState state = loaded.value_or(policy.initial());
  // A count that has reached the interval already must not keep the scale from growing.
  const int64_t last_count = (std::max)(policy.options().growth_interval() - 1, int64_t{0});
  if (state.growth_tracker > last_count) state.growth_tracker = static_cast<int32_t>(last_count);
  return state;
}

/// Where a scaler with this policy stands after it has loaded `state`.   Throws: [E17].
template <class LossScale>
LossScaleState loaded_position(const GradScalerState& state, const LossScale& policy) {
  constexpr int64_t longest = (std::numeric_limits<int32_t>::max)();
  TORCHAMP_CHECK(E17, state.growth_tracker >= 0 && state.growth_tracker <= longest,
                 "load_state_dict(): growth_tracker is ", state.growth_tracker,
                 " steps; a count from 0 to ", longest, " is expected");
  LossScaleState position = policy.initial();
  position.growth_tracker = static_cast<int32_t>(state.growth_tracker);
  if (state.hysteresis_tracker) {
    const int64_t most = (std::max)(policy.options().hysteresis(), int64_t{1});
    TORCHAMP_CHECK(E17, *state.hysteresis_tracker >= 0 && *state.hysteresis_tracker <= most,
                   "load_state_dict(): hysteresis_tracker is ", *state.hysteresis_tracker,
                   " overflows; a count from 0 to hysteresis, ", most, ", is expected");
    position.hysteresis_tracker = static_cast<int32_t>(*state.hysteresis_tracker);
  }
  return start_of(policy, position);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
