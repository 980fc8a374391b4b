// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The indices, ascending, of the points that a drawing `columns` wide needs to look like all of
/// them.
///
/// Of each column it keeps the first and the last point, the lowest and the highest, so no peak is
/// lost, and the first that is not finite, so no gap is. Few points are all kept.
/// `x` ascends and is finite; `y` has as many values.
inline std::vector<std::size_t> thin(const std::vector<double>& x, const std::vector<double>& y,
                                     std::size_t columns) {
  std::vector<std::size_t> kept;
  if (x.size() <= 2 * columns) {
    for (std::size_t i = 0; i < x.size(); ++i) kept.push_back(i);
    return kept;
  }
  // Halves, so that the difference of the largest and the least double is finite.
  const double begin = x.front() / 2;
  const double width = x.back() / 2 - begin;
  const auto column_of = [&](std::size_t i) {
    const double part = width > 0 ? (x[i] / 2 - begin) / width : 0;
    return (std::min)(static_cast<std::size_t>(part * static_cast<double>(columns)), columns - 1);
  };

  for (std::size_t i = 0; i < x.size();) {
    const std::size_t column = column_of(i);
    const std::size_t none = x.size();
    std::size_t first = none, last = none, lowest = none, highest = none, broken = none;
    for (; i < x.size() && column_of(i) == column; ++i) {
      if (!std::isfinite(y[i])) {
        if (broken == none) broken = i;
        continue;
      }
      if (first == none) first = lowest = highest = i;
      last = i;
      if (y[i] < y[lowest]) lowest = i;
      if (y[i] > y[highest]) highest = i;
    }
    std::vector<std::size_t> of_column{first, lowest, highest, last, broken};
    std::sort(of_column.begin(), of_column.end());
    of_column.erase(std::unique(of_column.begin(), of_column.end()), of_column.end());
    if (of_column.back() == none) of_column.pop_back();
    kept.insert(kept.end(), of_column.begin(), of_column.end());
  }
  return kept;
}

/// Means of so many points each, the last of the rest; NaN where none of them is finite.
struct Means {
  std::vector<double> x;
  std::vector<double> y;
};
inline Means means_of(const std::vector<double>& x, const std::vector<double>& y,
                      std::size_t points) {
  Means means;
  for (std::size_t i = 0; i < x.size();) {
    const std::size_t end = (std::min)(i + points, x.size());
    const double middle = x[i] / 2 + x[end - 1] / 2;
    double sum = 0;
    std::size_t finite = 0;
    for (; i < end; ++i) {
      if (!std::isfinite(y[i])) continue;
      sum += y[i];
      ++finite;
    }
    means.x.push_back(middle);
    means.y.push_back(finite > 0 ? sum / static_cast<double>(finite)
                                 : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
