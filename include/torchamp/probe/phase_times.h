// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What a timer knows of one phase. Times are in seconds and leave the warm-up out.
struct PhaseTimes {
  std::string path;          ///< the names from the outermost phase to this one: "step/forward"
  std::string name;          ///< the last of them: "forward"
  int64_t depth = 0;         ///< 0 for an outermost phase, 1 for one inside it, …
  int64_t count = 0;         ///< laps after the warm-up
  int64_t warmup_count = 0;  ///< laps of the warm-up
  double total_seconds = 0;
  double mean_seconds = 0;
  double median_seconds = 0;
  double p95_seconds = 0;  ///< 95 of 100 laps took no longer than this
  double min_seconds = 0;
  double max_seconds = 0;
};

namespace detail {

/// As `torchamp::percentile` of report/, which this layer does not know, for values in rising
/// order.
inline double sorted_percentile(const std::vector<double>& sorted, double percent) {
  const double rank = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const auto above = (std::min)(below + 1, sorted.size() - 1);
  const double weight = rank - static_cast<double>(below);
  return sorted[below] * (1 - weight) + sorted[above] * weight;
}

/// Fills in `count` and the times; `laps`, in seconds, must not be empty.
inline void set_times(PhaseTimes& times, std::vector<double> laps) {
  std::sort(laps.begin(), laps.end());
  times.count = static_cast<int64_t>(laps.size());
  times.total_seconds = std::accumulate(laps.begin(), laps.end(), 0.0);
  times.mean_seconds = times.total_seconds / static_cast<double>(laps.size());
  times.median_seconds = sorted_percentile(laps, 50);
  times.p95_seconds = sorted_percentile(laps, 95);
  times.min_seconds = laps.front();
  times.max_seconds = laps.back();
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
