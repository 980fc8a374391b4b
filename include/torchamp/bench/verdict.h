// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_result.h>
#include <torchamp/bench/reasons.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/statistics.h>
#include <torchamp/report/table.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What a comparison means, in sentences.
struct Verdict {
  std::vector<std::string> verdict;   ///< faster or slower, by how much; memory; losses; skips
  std::vector<std::string> reasons;   ///< why
  std::vector<std::string> advice;    ///< what to try
  std::vector<std::string> warnings;  ///< what makes the numbers doubtful
};

/// Sums up. Arithmetic on the result alone: the same result gives the same sentences.
Verdict sum_up(const CompareResult& result);

namespace detail {

inline std::string ratio_text(double ratio) { return format(ratio, Unit::Ratio); }

/// "95 % interval 6.71x to 7.02x, 57 rounds"; of the speed, which is one over the time, if asked.
inline std::string interval_text(const PairedRatio& time, bool of_speed) {
  const double low = of_speed ? 1 / time.high : time.low;
  const double high = of_speed ? 1 / time.low : time.high;
  const double percent = 100 * time.confidence;
  return format_number(std::round(10 * percent) / 10) + " % interval " + ratio_text(low) + " to " +
         ratio_text(high) + ", " + std::to_string(time.rounds) + " rounds";
}

inline std::string speed_sentence(const std::string& name, const std::string& baseline,
                                  const PairedRatio& time) {
  if (time.rounds == 1) {
    return "Whether " + name + " is faster or slower than " + baseline +
           " cannot be told from one round, in which a step took " + ratio_text(time.ratio) +
           " the time.";
  }
  const std::string end = time.stable() ? ")." : "). Not stable, see the warnings.";
  // Less than this, nobody notices, and another machine may turn it round.
  constexpr double negligible = 1.02;
  if (time.low * negligible >= 1 && time.high <= negligible) {
    return name + " was about as fast as " + baseline + " here: a step took " +
           ratio_text(time.ratio) + " the time (" + interval_text(time, false) + end;
  }
  if (time.low > 1) {
    return name + " was slower than " + baseline + " here: a step took " + ratio_text(time.ratio) +
           " the time (" + interval_text(time, false) + end;
  }
  if (time.high < 1) {
    return name + " was faster than " + baseline + " here: " + ratio_text(1 / time.ratio) +
           " the speed (" + interval_text(time, true) + end;
  }
  return "Whether " + name + " is faster or slower than " + baseline +
         " could not be told: a step took " + ratio_text(time.ratio) +
         " the time, and 1 is in the " + interval_text(time, false) + ".";
}

inline std::string memory_sentence(const StepRecord& variant, const StepRecord& baseline) {
  const int64_t peak = variant.memory.peak_bytes.value_or(0);
  const int64_t other = baseline.memory.peak_bytes.value_or(0);
  if (peak == 0 || other == 0) return "";
  return "The tensors that a step of " + variant.name + " makes took " +
         ratio_text(static_cast<double>(peak) / static_cast<double>(other)) + " the memory of " +
         baseline.name + " at the peak: " + format_bytes(peak) + " against " + format_bytes(other) +
         ".";
}

inline std::string divergence_sentence(const StepRecord& variant) {
  const auto step = first_not_finite(variant.losses);
  if (!step) return "";
  return "The loss of " + variant.name + " was not finite first at step " + std::to_string(*step) +
         ".";
}

/// Of two trainings whose losses are finite.
inline std::string loss_sentence(const StepRecord& variant, const StepRecord& baseline) {
  if (first_not_finite(variant.losses) || first_not_finite(baseline.losses)) return "";
  const auto largest = largest_difference(variant.losses, baseline.losses);
  if (largest.difference == 0) {
    return "The losses of " + variant.name + " and " + baseline.name + " were the same.";
  }
  return "The losses of " + variant.name + " and " + baseline.name + " differed by " +
         format_number(largest.difference) + " at most, at step " + std::to_string(largest.step) +
         ", where that of " + baseline.name + " was " +
         format_number(baseline.losses[largest.step]) + ".";
}

inline std::string skip_sentence(const StepRecord& variant) {
  if (variant.skipped.empty()) return "";
  const auto count = static_cast<int64_t>(variant.skipped.size());
  return variant.name + " skipped " + format_count(count) + " of " +
         format_count(static_cast<int64_t>(variant.losses.size())) +
         " steps because a gradient overflowed, the last at step " +
         std::to_string(variant.skipped.back()) + "; the scale ended at " +
         format_number(variant.scales.back()) + ".";
}

inline void add_doubts(const std::string& name, const std::string& baseline,
                       const PairedRatio& time, double tolerance, Verdict& to) {
  const std::string begin = "The ratio of " + name + " to " + baseline + " is unstable: ";
  if (time.too_few) {
    to.warnings.push_back(begin + "of " + std::to_string(time.rounds) +
                          (time.rounds == 1 ? " round" : " rounds") +
                          " there is no interval as sure as was asked for; measure more.");
  }
  if (time.too_wide) {
    to.warnings.push_back(begin + "its interval, " + ratio_text(time.low) + " to " +
                          ratio_text(time.high) + ", reaches further than " +
                          format(tolerance, Unit::Fraction) +
                          " from it. Close what else runs, or measure more rounds.");
  }
  if (time.drifted) {
    to.warnings.push_back(begin +
                          "it was another one in the second half of the rounds than in the first."
                          " Warm up longer, and look for what changes meanwhile, as heat does.");
  }
}

}  // namespace detail

inline Verdict sum_up(const CompareResult& result) {
  Verdict sums;
  const auto add = [](std::vector<std::string>& to, const std::string& sentence) {
    if (!sentence.empty()) to.push_back(sentence);
  };
  for (const StepPair& pair : result.pairs) {
    const auto& variant = result.variants[pair.variant];
    const auto& baseline = result.variants[pair.baseline];
    add(sums.verdict, detail::speed_sentence(variant.name, baseline.name, pair.time));
    detail::add_doubts(variant.name, baseline.name, pair.time, result.tolerance, sums);
    if (pair.baseline != 0) continue;
    add(sums.verdict, detail::memory_sentence(variant, baseline));
    add(sums.verdict, detail::loss_sentence(variant, baseline));
  }
  for (const auto& variant : result.variants) {
    add(sums.verdict, detail::divergence_sentence(variant));
    add(sums.verdict, detail::skip_sentence(variant));
  }
  for (const detail::StepReason& reason : detail::find_reasons(result)) {
    add(reason.is_warning ? sums.warnings : sums.reasons, reason.why);
    add(sums.advice, reason.cure);
  }
  return sums;
}

}  // namespace v0
}  // namespace torchamp
