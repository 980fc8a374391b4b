// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/table.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <sstream>
#include <string>

namespace torchamp {
inline namespace v0 {

inline constexpr double float16_largest = 65504;                     ///< (2 - 2^-10) * 2^15
inline constexpr double float16_smallest_normal = 1.0 / 16384;       ///< 2^-14
inline constexpr double float16_smallest = 1.0 / 16777216;           ///< 2^-24, subnormal
inline constexpr double float16_flushes = float16_smallest / 2;      ///< this and less becomes 0
inline constexpr double float16_overflows = 65520;                   ///< this and more becomes inf
inline constexpr double bfloat16_overflows = 3.3961775292304601e38;  ///< (2 - 2^-8) * 2^127: inf

/// The magnitudes of numbers, seen as what float16 can hold of them, if they are multiplied by some
/// factor first: 1, or a scale. Zeros, inf and NaN are those before that; all the rest is of the
/// products. Numbers are counted as float32 has them, a complex one as two.
struct ValueRange {
  /// Bin i counts the magnitudes in (2^(i-1), 2^i] * 2^lowest_exponent; the first one also what is
  /// below, the last one what is above.
  static constexpr int lowest_exponent = -126;
  static constexpr int highest_exponent = 128;
  static constexpr std::size_t bins = highest_exponent - lowest_exponent + 1;

  int64_t count = 0;  ///< all numbers
  int64_t zeros = 0;
  int64_t infs = 0;
  int64_t nans = 0;
  int64_t above_float16 = 0;  ///< finite, and inf in float16: 65520 and more
  int64_t below_normal = 0;   ///< not 0, and below 2^-14: float16 has fewer digits there, or none
  double largest = 0;         ///< finite magnitude; 0 if there is none
  double smallest = 0;        ///< magnitude that is not 0; 0 if there is none
  std::array<int64_t, bins> by_exponent{};

  /// Finite numbers that are not 0.
  int64_t non_zero() const { return count - zeros - infs - nans; }

  /// How many of them float16 rounds to 0, if they are multiplied by `scale` once more: a power of
  /// two up to 2^101, others are rounded down to one.
  int64_t flushed(double scale = 1) const {
    return up_to(-25 - static_cast<int>(std::floor(std::log2(scale))));
  }
  /// How many of them float16 keeps with fewer digits than others.
  int64_t subnormal() const { return below_normal - flushed(); }

  /// How many are in the bin (2^(exponent-1), 2^exponent].
  int64_t in_bin(int exponent) const {
    return by_exponent.at(static_cast<std::size_t>(exponent - lowest_exponent));
  }
  /// How many are in that bin and below.
  int64_t up_to(int exponent) const {
    int64_t sum = 0;
    for (int e = lowest_exponent; e <= (std::min)(exponent, highest_exponent); ++e)
      sum += in_bin(e);
    return sum;
  }

  ValueRange& operator+=(const ValueRange& other) {
    if (other.smallest > 0) {
      smallest = smallest > 0 ? (std::min)(smallest, other.smallest) : other.smallest;
    }
    largest = (std::max)(largest, other.largest);
    count += other.count;
    zeros += other.zeros;
    infs += other.infs;
    nans += other.nans;
    above_float16 += other.above_float16;
    below_normal += other.below_normal;
    for (std::size_t i = 0; i < bins; ++i) by_exponent[i] += other.by_exponent[i];
    return *this;
  }
};

namespace detail {

/// A magnitude in few letters: "1.2e5", "65504", "0.25". Five digits are enough to tell 65504 from
/// what is above.
inline std::string format_magnitude(double value) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  const bool plain = value == 0 || (value >= 0.001 && value < 1e5);
  out.precision(plain ? 5 : 3);
  if (plain && value >= 1e4) out << std::fixed, out.precision(0);
  out << value;
  std::string text = out.str();
  for (const char* sign : {"e+0", "e+", "e-0"}) {
    const auto at = text.find(sign);
    if (at == std::string::npos) continue;
    text.replace(at, std::string(sign).size(), sign[1] == '-' ? "e-" : "e");
    break;
  }
  return text;
}

/// A scale, to be copied into a program: "4194304", "0.5".
inline std::string format_scale(double scale) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(8);
  out << scale;
  return out.str();
}

/// The loss scale with which the fewest of these gradients, measured at the scale `measured_at`,
/// become 0 in float16, while one that is `headroom` times as large as the largest does not
/// overflow: a power of two times `measured_at`, within [2^-24, 2^24]. Not above 65536 unless that
/// saves more; the lowest there is if all overflow.
inline double best_scale_for(const ValueRange& gradients, double headroom, double measured_at = 1) {
  const double log_of_now = std::log2(measured_at);
  const int lowest = static_cast<int>(std::ceil(-24 - log_of_now));
  int highest = static_cast<int>(std::floor(24 - log_of_now));
  if (gradients.largest > 0) {
    const double fits = std::floor(std::log2(float16_largest / headroom / gradients.largest));
    highest = (std::max)(lowest, static_cast<int>((std::min)(fits, static_cast<double>(highest))));
  }
  const int usual = static_cast<int>(std::floor(16 - log_of_now));
  int best = (std::min)(usual, highest);
  const auto lost = [&](int power) { return gradients.flushed(std::ldexp(1.0, power)); };
  for (int power = best + 1; power <= highest; ++power) {
    if (lost(power) < lost(best)) best = power;
  }
  return std::ldexp(measured_at, best);
}

/// 0 of nothing.
inline double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// A share in percent: "12 %", "0.3 %", "less than 0.1 %".
inline std::string format_share(int64_t part, int64_t whole) {
  const double percent = 100.0 * share_of(part, whole);
  if (percent < 0.1) return "less than 0.1 %";
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(percent < 9.95 ? 1 : 0);
  out << std::fixed << percent << " %";
  return out.str();
}

/// "3 of 1,000 (0.3 %)", or "none".
inline std::string format_part(int64_t part, int64_t whole) {
  if (part == 0) return "none";
  return format_count(part) + " of " + format_count(whole) + " (" + format_share(part, whole) + ")";
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
