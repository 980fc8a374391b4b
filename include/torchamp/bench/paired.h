// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/report/statistics.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// How many times as much one thing took as another, measured in pairs.
struct PairedRatio {
  double ratio = 1;  ///< the median of the rounds' ratios: 2 is twice as much
  double low = 1;    ///< the interval that has the true median in it, so sure:
  double high = 1;
  double confidence = 0;   ///< from 0 to 1; below what was asked for if there were few rounds
  std::size_t rounds = 0;  ///< how many pairs
  bool too_few = false;    ///< too few rounds for the confidence that was asked for
  bool too_wide = false;   ///< an end of the interval is further from the ratio than tolerated
  bool drifted = false;    ///< the second half of the rounds has another ratio than the first

  /// False if the ratio is not to be relied on.
  bool stable() const { return !too_few && !too_wide && !drifted; }
};

// Note [Pairs, not averages]
// A machine gets slower and faster while it measures: other programs, heat, clocks. Two averages
// have all of that in them. The two times of one round were taken one after the other, so what
// slowed down both is not in their ratio; and a single round that something else disturbed moves
// the median of the ratios by at most one place. The interval is that of the sign test: each
// round's ratio is above the true median with probability 1/2, whatever their distribution, so the
// number that are above is binomial, and the k-th smallest and the k-th largest ratio enclose the
// median with a probability that can be counted out (W. R. Thompson, "On confidence ranges for the
// median and other expectation distributions for populations of unknown distribution form", Annals
// of Mathematical Statistics 7, 1936). It assumes no normal distribution and needs no random draws.

namespace detail {

/// How many of `n` sorted values may be left out at each end, so that those between enclose the
/// median with probability `confidence` or more; and with which. 0 if even all of them do not.
struct LeftOut {
  std::size_t at_each_end = 0;
  double confidence = 0;
};

inline LeftOut left_out(std::size_t n, double confidence) {
  LeftOut result;
  double missed = 0;      // the probability that at most k of n coins fall on heads
  double log_choose = 0;  // of "n over k"
  for (std::size_t k = 0; 2 * k < n; ++k) {
    const double tosses = static_cast<double>(n);
    if (k > 0) log_choose += std::log((tosses + 1) / static_cast<double>(k) - 1);
    missed += std::exp(log_choose - tosses * std::log(2.0));
    const double enclosed = (std::max)(0.0, 1 - 2 * missed);
    if (k > 0 && enclosed < confidence) break;
    result = {k, enclosed};
  }
  return result;
}

/// Median and interval of sorted logarithms.
inline PairedRatio ratio_of_sorted(const std::vector<double>& logs, double confidence) {
  const std::size_t n = logs.size();
  const LeftOut outside = left_out(n, confidence);
  PairedRatio result;
  result.rounds = n;
  result.ratio = std::exp(median(logs));
  result.low = std::exp(logs[outside.at_each_end]);
  result.high = std::exp(logs[n - 1 - outside.at_each_end]);
  result.confidence = outside.confidence;
  result.too_few = result.confidence < confidence;
  return result;
}

}  // namespace detail

/// The ratio of `numerators` to `denominators`, round by round, with the interval that has the true
/// median in it with probability `confidence`: for 0.95, at least 6 rounds are needed.
/// `tolerance` says how far an end of the interval may be from the ratio, as a part of it, and how
/// far the two halves of the rounds may be apart, before the result is called unstable.
/// Throws: [E30] if there is no round, one has no pair, or a value is not finite and above 0.
inline PairedRatio paired_ratio(const std::vector<double>& numerators,
                                const std::vector<double>& denominators, double confidence = 0.95,
                                double tolerance = 0.05) {
  TORCHAMP_CHECK(E30, !numerators.empty() && numerators.size() == denominators.size(),
                 "paired_ratio(): ", numerators.size(), " values to be divided by ",
                 denominators.size(), "; give as many of the one as of the other, at least one");
  std::vector<double> logs;
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    for (const double value : {numerators[i], denominators[i]}) {
      TORCHAMP_CHECK(E30, std::isfinite(value) && value > 0, "paired_ratio(): the value ", value,
                     " of round ", i, " has no ratio; leave out what is not finite and above 0");
    }
    logs.push_back(std::log(numerators[i]) - std::log(denominators[i]));
  }

  const auto middle = logs.begin() + static_cast<std::ptrdiff_t>(logs.size() / 2);
  std::vector<double> first(logs.begin(), middle);
  std::vector<double> second(middle, logs.end());
  for (auto* part : {&logs, &first, &second}) std::sort(part->begin(), part->end());

  PairedRatio result = detail::ratio_of_sorted(logs, confidence);
  const double most = 1 + tolerance;
  result.too_wide = result.high > result.ratio * most || result.low * most < result.ratio;
  if (first.empty()) return result;
  const auto early = detail::ratio_of_sorted(first, confidence);
  const auto late = detail::ratio_of_sorted(second, confidence);
  const bool apart = early.high < late.low || late.high < early.low;
  const bool differ = late.ratio > early.ratio * most || early.ratio > late.ratio * most;
  // Halves of a few rounds have no interval that one could rely on.
  result.drifted = !early.too_few && !late.too_few && apart && differ;
  return result;
}

}  // namespace v0
}  // namespace torchamp
