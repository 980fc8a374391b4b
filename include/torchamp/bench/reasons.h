// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_result.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/statistics.h>
#include <torchamp/report/table.h>

#include <algorithm>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Why a variant is as fast as it is, and what can be done.
struct StepReason {
  std::string why;
  std::string cure;  ///< empty if `why` says it
  bool is_warning = false;
};

// Note [When a step is bound by its operators]
// The host needs some microseconds to send off one operator: to find the kernel, to allocate the
// result, to note what backward needs, to queue it. A step whose time divided by its operators is
// not far above that cannot get faster by faster arithmetic. The bounds below are rough on purpose:
// the host's share depends on its speed; above them, arithmetic is the larger part on any machine.
inline constexpr double host_bound_seconds_cpu = 10e-6;
inline constexpr double host_bound_seconds_accelerator = 20e-6;
/// Parts of a step from which on casts are named as a cause.
inline constexpr double many_casts = 0.15;

inline std::string listed(const std::vector<std::string>& items) {
  std::string text = items.front();
  if (items.size() > 1) text += "; " + items[1];
  if (items.size() > 2) text += "; and " + std::to_string(items.size() - 2) + " more";
  return text;
}

inline void find_operator_bound(const CompareResult& result, const StepRecord& variant,
                                std::vector<StepReason>& to) {
  if (variant.profile.operators == 0 || variant.seconds.empty()) return;
  const double each = median(variant.seconds) / static_cast<double>(variant.profile.operators);
  const bool cpu = result.device.is_cpu();
  if (each > (cpu ? host_bound_seconds_cpu : host_bound_seconds_accelerator)) return;
  to.push_back({"A step of " + variant.name + " is bound by its operators: " +
                    format_count(variant.profile.operators) + " of them, " + format_seconds(each) +
                    " each, which is about what the host needs to start one" +
                    (cpu ? "" : ", so the device waits for the host") +
                    "; how fast the arithmetic is hardly matters.",
                "Give an operator more to do: larger batches. Have fewer: FusedAdam and its kin,"
                " FlatParameters, and on a GPU a captured graph."});
}

inline void find_casts(const CompareResult& result, const StepRecord& variant,
                       std::vector<StepReason>& to) {
  const auto& profile = variant.profile;
  if (profile.casts == 0) return;
  // The host's time in a cast is the cast's only on a CPU; elsewhere their number has to do.
  const double share = result.device.is_cpu()  ? profile.cast_share()
                       : profile.operators > 0 ? static_cast<double>(profile.casts) /
                                                     static_cast<double>(profile.operators)
                                               : 0;
  if (share < many_casts) return;
  to.push_back({"Casts are " + format(share, Unit::Fraction) + " of the " +
                    (result.device.is_cpu() ? "time in operators" : "operators") +
                    " of a step of " + variant.name + ": " + format_count(profile.casts) +
                    " of them.",
                "Have fewer casts: one autocast region around the whole forward pass,"
                " torchamp::Linear for weights that are used several times in one,"
                " MasterWeights to keep parameters in half precision; larger batches make the"
                " casts of weights count less."});
}

inline void find_odd_sizes(const CompareResult& result, const StepRecord& variant,
                           std::vector<StepReason>& to) {
  if (!result.device.is_cuda() || variant.profile.odd_sizes.empty()) return;
  to.push_back({"Sizes of " + variant.name +
                    " that are no multiples of 8, which tensor cores work"
                    " best with: " +
                    listed(variant.profile.odd_sizes) + ".",
                "Round channels, features, vocabulary and batch up to a multiple of 8."});
}

inline void find_other_dtype(const CompareResult& result, const StepRecord& variant,
                             std::vector<StepReason>& to) {
  if (!result.device.is_cpu() || !variant.profile.float16) return;
  to.push_back({variant.name + " ran in float16; what is said of this CPU is about bfloat16.",
                "Take bfloat16 on a CPU."});
}

/// In the order in which a reader should hear them.
inline std::vector<StepReason> find_reasons(const CompareResult& result) {
  std::vector<StepReason> reasons;
  bool half = false;
  bool tf32 = false;
  for (const auto& variant : result.variants) {
    half = half || variant.profile.half_operators > 0;
    tf32 = tf32 || variant.math == Float32Math::Tf32;
  }
  if (half) {
    reasons.push_back({result.advice.text, ""});
  } else {
    reasons.push_back(
        {"No variant ran an operator in half precision, so this compares float32 with"
         " float32.",
         "Open an AutocastGuard around the forward pass of one.", true});
  }
  if (half && result.has_tf32 && !tf32) {
    reasons.push_back(
        {"This GPU has TF32, and TF32 is no variant here: float32 with it is faster"
         " than strict float32.",
         "Add the baselines with add_float32().", true});
  }
  for (const auto& variant : result.variants) {
    find_other_dtype(result, variant, reasons);
    find_operator_bound(result, variant, reasons);
    if (variant.profile.half_operators == 0) continue;
    find_casts(result, variant, reasons);
    find_odd_sizes(result, variant, reasons);
  }
  return reasons;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
