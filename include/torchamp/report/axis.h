// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/metric.h>
#include <torchamp/report/series.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// "10⁻³": a power as people write it.
inline std::string power_text(int base, int exponent);

/// What the numbers along an axis are given in: 0.0123 in {0.001, "ms"} is 12.3.
struct AxisUnit {
  double size = 1;
  std::string name{};
};

/// The unit in which values up to `largest` in size have few digits.
AxisUnit axis_unit(Unit unit, double largest);

/// Where values are along a line from 0 to 1, and the ticks on it.
class Axis {
 public:
  struct Tick {
    double place;  ///< from 0 to 1
    double value;  ///< in units of the axis; its logarithm if the axis is logarithmic
    std::string label;
  };
  struct Options {
    AxisScale scale = AxisScale::Linear;
    AxisUnit unit{};
    std::size_t ticks = 5;   ///< about so many
    bool whole = false;      ///< ticks at whole numbers only
    bool round_ends = true;  ///< the ends are ticks; else they are the least and the largest value
    bool from_zero = false;  ///< zero is on the axis, if it is linear
  };

  /// An axis for values from `low` to `high`; `low` > `high` stands for no value at all. On a
  /// logarithmic axis both are positive.
  Axis(double low, double high, const Options& options);

  /// Whether the axis has a place for the value: finite, and positive if the axis is logarithmic.
  bool shows(double value) const {
    return std::isfinite(value) && (options_.scale == AxisScale::Linear || value > 0);
  }
  /// Where the value is; between 0 and 1 if it is one of those that the axis was made for.
  double place(double value) const { return part(on_axis(value)); }

  const std::vector<Tick>& ticks() const { return ticks_; }
  const std::string& unit_name() const { return options_.unit.name; }

 private:
  /// A value in units of the axis; its logarithm if the axis is logarithmic. Logarithms are
  /// subtracted, because the quotient of the least double would be 0, of the largest inf.
  double on_axis(double value) const {
    const double size = options_.unit.size;
    return options_.scale == AxisScale::Log2    ? std::log2(value) - std::log2(size)
           : options_.scale == AxisScale::Log10 ? std::log10(value) - std::log10(size)
                                                : value / size;
  }
  /// Halves, so that the difference of the largest and the least double is finite.
  double part(double value) const { return (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2); }
  void make_linear();
  void make_logarithmic();
  static std::string tick_label(double value, double step, double largest);

  Options options_;
  double low_ = 0;  // both ends, in units of the axis; logarithms if it is logarithmic
  double high_ = 1;
  std::vector<Tick> ticks_;
};

/// The least of 1, 2 and 5 times a power of ten that is not less than `value` > 0.
inline double nice_step(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

inline std::string power_text(int base, int exponent) {
  static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = std::to_string(base);
  for (const char sign : std::to_string(exponent)) {
    text += sign == '-' ? "⁻" : digits[sign - '0'];
  }
  return text;
}

inline AxisUnit axis_unit(Unit unit, double largest) {
  const auto first_below = [&](std::vector<AxisUnit> largest_first) {
    for (AxisUnit& candidate : largest_first) {
      if (largest >= candidate.size) return std::move(candidate);
    }
    return std::move(largest_first.back());
  };
  if (unit == Unit::Seconds) {
    if (!(largest > 0)) return {1, "s"};
    return first_below({{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}});
  }
  if (unit == Unit::Bytes) {
    return first_below({{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}});
  }
  // Near the largest double, 100 times as much is inf.
  if (unit == Unit::Fraction && largest < 1e300) return {0.01, "%"};
  if (unit == Unit::PerSecond) return {1, "per second"};
  if (unit == Unit::Ratio) return {1, "times"};
  return {};
}

inline Axis::Axis(double low, double high, const Options& options) : options_(options) {
  if (low > high) {
    low = options.scale == AxisScale::Linear ? 0 : 1;
    high = low + 1;
  }
  if (options.from_zero && options.scale == AxisScale::Linear) {
    low = (std::min)(low, 0.0);
    high = (std::max)(high, 0.0);
  }
  low_ = on_axis(low);
  high_ = on_axis(high);
  if (options.scale == AxisScale::Linear) {
    make_linear();
  } else {
    make_logarithmic();
  }
}

inline void Axis::make_linear() {
  const double largest = (std::max)(std::fabs(low_), std::fabs(high_));
  const double enough = (std::max)(largest * 1e-9, 1e-290);
  if (high_ / 2 - low_ / 2 < enough / 2) {  // as good as one value, which gets room on both sides
    const double room = largest < 1e-280 ? 1 : (std::min)(largest * 0.1, 1e307);
    const bool zero = largest < 1e-280;
    const double most = (std::numeric_limits<double>::max)() - room;
    low_ = zero ? 0 : (std::max)(low_, -most) - room;
    high_ = zero ? 1 : (std::min)(high_, most) + room;
    if (options_.whole) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
  }
  const auto wanted = static_cast<double>(options_.ticks);
  double step = nice_step(2 * ((high_ / 2 - low_ / 2) / wanted));
  if (options_.whole) step = (std::max)(step, 1.0);
  double first = std::ceil(low_ / step - 1e-6);
  double last = std::floor(high_ / step + 1e-6);
  if (options_.round_ends) {
    // An end near the largest double has no tick above it.
    first = std::floor(low_ / step + 1e-6);
    last = std::ceil(high_ / step - 1e-6);
    if (std::isfinite(first * step)) low_ = (std::min)(low_, first * step);
    if (std::isfinite(last * step)) high_ = (std::max)(high_, last * step);
  }
  for (double i = first; i <= last; ++i) {
    const double value = i * step;
    if (!std::isfinite(value)) continue;
    ticks_.push_back({part(value), value, tick_label(value, step, largest)});
  }
}

inline std::string Axis::tick_label(double value, double step, double largest) {
  if (std::fabs(value) < step / 2) return "0";
  if (largest >= 1e7 || step < 0.9e-5) {
    const int exponent = static_cast<int>(std::floor(std::log10(std::fabs(value)) + 1e-12));
    const double power = std::pow(10, exponent);
    // As many digits as the step can change, of those that fit.
    const double digits = (std::min)(3.0, std::ceil(std::log10(std::fabs(value) / step) - 1e-9));
    std::string mantissa =
        power > 0 && std::isfinite(value / power)
            ? format_fixed(value / power, (std::max)(0, static_cast<int>(digits)))
            : format_number(value);
    if (mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa == "1" ? power_text(10, exponent) : mantissa + "×" + power_text(10, exponent);
  }
  const int decimals = (std::max)(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  return decimals == 0 ? format_count(std::llround(value)) : format_fixed(value, decimals);
}

inline void Axis::make_logarithmic() {
  const int base = options_.scale == AxisScale::Log2 ? 2 : 10;
  double low = std::floor(low_ + 1e-9);
  double high = std::ceil(high_ - 1e-9);
  // Room on both sides, so that a scale that stays does not lie on the edge.
  if (options_.round_ends || low == high) {
    if (low_ - low < 1e-9) --low;
    if (high - high_ < 1e-9) ++high;
  }
  const double step =
      (std::max)(1.0, std::ceil((high - low) / static_cast<double>(options_.ticks)));
  low = std::floor(low / step) * step;
  high = std::ceil(high / step) * step;
  if (options_.round_ends || high_ - low_ < 1) {
    low_ = low;
    high_ = high;
  }
  const bool short_numbers = low >= 0 && high <= (base == 2 ? 20 : 6);
  for (double exponent = low; exponent <= high; exponent += step) {
    if (exponent < low_ - 1e-9 || exponent > high_ + 1e-9) continue;
    const double value = std::pow(base, exponent);
    ticks_.push_back({part(exponent), exponent,
                      short_numbers ? format_count(std::llround(value))
                                    : power_text(base, static_cast<int>(exponent))});
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
