// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// The value that `percent` of `values` do not exceed, in the unit of `values`.
///
/// The smallest value is percentile 0, the largest is percentile 100, the others lie at equal
/// distances between them; in between it interpolates linearly. For {10, 20, 30, 40, 50}:
/// percentile 25 is 20, percentile 95 is 48. NumPy's default rule.
/// Throws: [E14] if `values` is empty or has a NaN, or `percent` is not within 0 to 100.
inline double percentile(std::vector<double> values, double percent) {
  if (values.empty()) {
    throw std::invalid_argument(
        "[torchamp.E14] percentile(): there are no values; measure at least one first "
        "(a Timer keeps warm-up laps apart)");
  }
  if (!(percent >= 0 && percent <= 100)) {
    throw std::invalid_argument("[torchamp.E14] percentile(): " + std::to_string(percent) +
                                " is not a percentage; give a number from 0 to 100");
  }
  for (const double value : values) {
    if (std::isnan(value)) {
      throw std::invalid_argument(
          "[torchamp.E14] percentile(): a value is NaN, which has no rank; leave it out");
    }
  }
  std::sort(values.begin(), values.end());

  const double rank = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double weight = rank - static_cast<double>(below);
  // Where the rank is whole there is nothing to mix, and inf * 0 would make a NaN.
  if (weight == 0) return values[below];
  return values[below] * (1 - weight) + values[below + 1] * weight;
}

/// The middle value, or the mean of the two in the middle.
/// Throws: [E14] if `values` is empty or has a NaN.
inline double median(std::vector<double> values) { return percentile(std::move(values), 50); }

}  // namespace v0
}  // namespace torchamp
