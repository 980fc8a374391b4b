// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/value_range.h>
#include <torchamp/report/report.h>
#include <torchamp/report/table.h>

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Whether gradients hold the scale: from `scaler.scale(loss).backward()` until they are unscaled,
/// by `unscale_()` or `step()`, they do.
enum class GradientsAre {
  Scaled,    ///< multiplied by the scale
  Unscaled,  ///< what they would be without a scaler
};

/// The gradient of one parameter.
struct UnderflowTensor {
  std::string name;  ///< of the parameter
  at::ScalarType dtype;
  ValueRange range;  ///< of the gradient, at the scale
};

/// What `find_underflow()` found.
struct UnderflowReport {
  double scale = 1;
  double headroom = 2;
  std::vector<UnderflowTensor> tensors;  ///< in the order in which they were given
  int64_t without_gradient = 0;          ///< parameters that have none
  ValueRange gradients;                  ///< all of them, at the scale

  /// The scale with which the fewest gradients become 0 in float16, while one that is `headroom`
  /// times as large as the largest does not overflow: the present scale times a power of two,
  /// within [2^-24, 2^24], and not above 65536 unless that saves more.
  double best_scale() const { return detail::best_scale_for(gradients, headroom, scale); }

  /// A table of counts and shares, the histogram of the exponents, a line for each of the gradients
  /// that lose most, and the best scale; each line ends with a line break.
  std::string to_text() const;
  friend std::ostream& operator<<(std::ostream& out, const UnderflowReport& report) {
    return out << report.to_text();
  }

  /// The same for a page or for JSON: a table by parameter, and the histogram as a chart.
  Section to_section() const;

 private:
  std::string advice() const;
  Histogram histogram() const;
};

namespace detail {

/// The lowest and the highest bin with numbers in it; {0, -1} if there is none.
inline std::pair<int, int> used_bins(const ValueRange& range) {
  if (range.non_zero() == 0) return {0, -1};
  int first = ValueRange::lowest_exponent;
  while (range.in_bin(first) == 0) ++first;
  int last = ValueRange::highest_exponent;
  while (range.in_bin(last) == 0) --last;
  return {first, last};
}

/// What float16 makes of the magnitudes in a bin.
inline const char* float16_word(int exponent) {
  if (exponent <= -25) return "becomes 0";
  if (exponent <= -14) return "subnormal";
  return exponent <= 16 ? "" : "becomes inf";
}

/// The bins as bars of text, the highest first.
inline void add_bars(std::ostream& out, const ValueRange& range) {
  constexpr int most_bars = 48;
  constexpr int64_t width = 40;
  const auto [lowest, last] = used_bins(range);
  const int first = (std::max)(lowest, last - most_bars + 1);
  int64_t most = 1;
  for (int e = first; e <= last; ++e) most = (std::max)(most, range.in_bin(e));
  Table bars({"up to", "numbers", "", "in float16"});
  for (int e = last; e >= first; --e) {
    const int64_t here = range.in_bin(e);
    // A count that is not 0 is seen, however small it is.
    const auto length = static_cast<std::size_t>((here * width + most - 1) / most);
    std::string bar(length, '#');
    bar.resize(width, ' ');
    bars.add_row({"2^" + std::to_string(e), format_count(here), bar, float16_word(e)});
  }
  if (const int64_t rest = range.up_to(first - 1)) {
    bars.add_row({"below", format_count(rest), "", float16_word(first - 1)});
  }
  out << bars;
}

}  // namespace detail

/// What the numbers mean for the scale, in a sentence or two.
inline std::string UnderflowReport::advice() const {
  const int64_t non_zero = gradients.non_zero();
  if (non_zero == 0) return "No number is finite and not 0, so no scale is better than another.";
  const double best = best_scale();
  const std::string largest = detail::format_magnitude(gradients.largest / scale);
  if (gradients.largest / scale * best > float16_largest) {
    return "The largest magnitude, " + largest +
           " without the scale, is too large for float16 at any scale.";
  }
  const int64_t lost = gradients.flushed(best / scale);
  const int64_t unknown = gradients.infs + gradients.nans;
  return "Best scale: " + detail::format_scale(best) +
         (best == scale ? ", the present one. With it " : ". With it ") +
         (lost == 0 ? "no number becomes 0"
                    : detail::format_part(lost, gradients.count) + " numbers become 0") +
         ", and gradients may grow to " + format_number(headroom) + " times the largest, " +
         largest + " without a scale, before one overflows." +
         (lost == 0 ? "" : " No scale saves more; bfloat16 would, and needs none.") +
         (unknown == 0
              ? ""
              : " " + format_count(unknown) + (unknown == 1 ? " number is" : " numbers are") +
                    " inf or NaN already and left out of this: if that is the scale's doing,"
                    " it has to be lower.");
}

inline std::string UnderflowReport::to_text() const {
  const auto count = static_cast<int64_t>(tensors.size());
  std::string text = count == 0
                         ? "no gradient to look at"
                         : format_count(count) + (count == 1 ? " gradient, " : " gradients, ") +
                               format_count(gradients.count) + " numbers, at a scale of " +
                               detail::format_scale(scale);
  if (without_gradient > 0) {
    text += " (" + format_count(without_gradient) +
            (without_gradient == 1 ? " parameter has none)" : " parameters have none)");
  }
  text += "\n";
  if (gradients.count == 0) return text;

  std::ostringstream out;
  const auto line = [&](const char* what, int64_t part) {
    out << "  " << what << ": " << detail::format_part(part, gradients.count) << "\n";
  };
  line("are 0", gradients.zeros);
  line("become 0 in float16", gradients.flushed());
  line("are subnormal in float16", gradients.subnormal());
  line("become inf in float16", gradients.above_float16);
  if (gradients.infs > 0) line("are inf", gradients.infs);
  if (gradients.nans > 0) line("are NaN", gradients.nans);

  auto worst = tensors;
  const auto share = [](const UnderflowTensor& tensor) {
    return detail::share_of(tensor.range.flushed(), tensor.range.count);
  };
  std::stable_sort(worst.begin(), worst.end(),
                   [&](const auto& a, const auto& b) { return share(a) > share(b); });
  constexpr std::size_t shown = 10;
  if (worst.size() > shown) worst.resize(shown);
  for (const auto& tensor : worst) {
    const int64_t flushed = tensor.range.flushed();
    if (flushed == 0) break;
    out << "  of " << tensor.name << ", " << detail::format_part(flushed, tensor.range.count)
        << " become 0\n";
  }
  if (gradients.non_zero() > 0) {
    out << "\nmagnitudes at the scale, by powers of two\n";
    detail::add_bars(out, gradients);
    out << "\n";
  }
  out << advice() << "\n";
  return text + out.str();
}

inline Histogram UnderflowReport::histogram() const {
  Histogram chart;
  chart.id = "gradient_exponents";
  chart.title = "Magnitudes of the gradients at the scale";
  chart.x_label = "magnitude, up to this power of two";
  chart.y_label = "numbers";
  chart.powers_of_two = true;
  const auto [first, last] = detail::used_bins(gradients);
  chart.first_bin = first;
  for (int e = first; e <= last; ++e) {
    chart.counts.push_back(static_cast<double>(gradients.in_bin(e)));
  }
  chart.limits = {{-24.5, "below: becomes 0 in float16"},
                  {-13.5, "below: subnormal in float16"},
                  {16.5, "above: becomes inf in float16"}};
  return chart;
}

inline Section UnderflowReport::to_section() const {
  Section section;
  section.id = "underflow";
  section.title = "Gradients in float16";
  section.paragraphs = {advice()};
  section.metrics.push_back({"scale", "scale", Unit::Plain, scale});
  section.metrics.push_back({"best_scale", "best scale", Unit::Plain, best_scale()});
  const auto share = [&](const char* id, const char* label, int64_t part) {
    section.metrics.push_back({id, label, Unit::Fraction, detail::share_of(part, gradients.count)});
  };
  share("zero", "0", gradients.zeros);
  share("flushed", "becomes 0 in float16", gradients.flushed());
  share("subnormal", "subnormal in float16", gradients.subnormal());
  share("overflowing", "becomes inf in float16", gradients.above_float16);
  DataTable table({{"parameter"},
                   {"dtype"},
                   {"numbers", Unit::Count},
                   {"0", Unit::Fraction},
                   {"becomes 0", Unit::Fraction},
                   {"subnormal", Unit::Fraction},
                   {"becomes inf", Unit::Fraction},
                   {"smallest at the scale"},
                   {"largest at the scale"}});
  for (const auto& [name, dtype, range] : tensors) {
    const auto part = [&all = range.count](int64_t some) { return detail::share_of(some, all); };
    table.add_row({name, c10::toString(dtype), static_cast<double>(range.count), part(range.zeros),
                   part(range.flushed()), part(range.subnormal()), part(range.above_float16),
                   range.smallest, range.largest});
  }
  section.table = std::move(table);
  if (gradients.non_zero() > 0) section.charts.push_back(histogram());
  return section;
}

}  // namespace v0
}  // namespace torchamp
