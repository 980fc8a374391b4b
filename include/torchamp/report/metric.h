// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/table.h>

#include <cmath>
#include <cstdint>
#include <locale>
#include <optional>
#include <sstream>
#include <string>

namespace torchamp {
inline namespace v0 {

/// What a number counts. It says how people read the number; the number itself is never converted.
enum class Unit {
  Plain,      ///< no unit: a loss, a loss scale
  Seconds,    ///< seconds
  Bytes,      ///< bytes
  Count,      ///< how many: steps, tensors
  PerSecond,  ///< how many a second; the label says of what
  Ratio,      ///< how many times as much: 1 is the same
  Fraction,   ///< a part of the whole: 1 is all of it, shown as 100 %
};

/// "plain", "seconds", "bytes", "count", "per_second", "ratio" or "fraction": the name in JSON.
const char* unit_name(Unit unit);

/// A number as people read it, in every locale: "12.3 ms", "27.3 MB", "60,000", "1,230/s", "0.62x",
/// "91.4 %", "0.4213". NaN is "NaN", infinities are "inf" and "-inf".
std::string format(double value, Unit unit);

/// A number without a unit: whole numbers below 10^15 exact, with commas, others with four digits.
std::string format_number(double value);

/// One number of a report.
///
///     torchamp::Metric peak{"peak_bytes", "peak memory of a step", torchamp::Unit::Bytes, 27.3e6};
///     std::cout << peak.label << ": " << peak.text() << '\n';  // peak memory of a step: 27.3 MB
struct Metric {
  std::string id;     ///< "peak_bytes": the key in JSON, the same for every variant
  std::string label;  ///< what people read: "peak memory of a step"
  Unit unit = Unit::Plain;
  std::optional<double> value =
      std::nullopt;                     ///< in seconds, bytes, …; none if there is no such number
  std::string absent = "not measured";  ///< what people read if there is no value: "no scaling"

  /// The value as people read it, or why there is none.
  std::string text() const { return value ? format(*value, unit) : absent; }
};

inline const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::Seconds:
      return "seconds";
    case Unit::Bytes:
      return "bytes";
    case Unit::Count:
      return "count";
    case Unit::PerSecond:
      return "per_second";
    case Unit::Ratio:
      return "ratio";
    case Unit::Fraction:
      return "fraction";
    case Unit::Plain:
      break;
  }
  return "plain";
}

inline std::string format_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::fabs(value) < 1e15 && value == std::floor(value)) {
    return format_count(static_cast<std::int64_t>(value));
  }
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.precision(4);
  out << value;
  return out.str();
}

inline std::string format(double value, Unit unit) {
  const double size = std::fabs(value);
  if (!std::isfinite(value) || unit == Unit::Plain || unit == Unit::Count) {
    return format_number(value);
  }
  switch (unit) {
    case Unit::Seconds:
      return size >= 1e6 || (size > 0 && size < 1e-11) ? format_number(value) + " s"
                                                       : format_seconds(value);
    case Unit::Bytes:
      return size < 1e15 ? format_bytes(std::llround(value)) : format_number(value) + " B";
    case Unit::PerSecond:
      if (size >= 99.95 && size < 1e15) return format_count(std::llround(value)) + "/s";
      return (size >= 0.995 ? detail::format_three_digits(value) : format_number(value)) + "/s";
    case Unit::Ratio:
      // Two digits after the point would leave nothing of a small ratio.
      return size > 0 && (size < 0.095 || size >= 1e6) ? format_number(value) + "x"
                                                       : format_ratio(value);
    case Unit::Fraction:
      return (size == 0 || (size >= 0.00095 && size < 1e6) ? format_fixed(100 * value, 1)
                                                           : format_number(100 * value)) +
             " %";
    case Unit::Plain:
    case Unit::Count:
      break;
  }
  return format_number(value);
}

}  // namespace v0
}  // namespace torchamp
