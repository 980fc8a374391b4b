// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/axis.h>
#include <torchamp/report/chart.h>
#include <torchamp/report/chart_words.h>
#include <torchamp/report/check_report.h>
#include <torchamp/report/frame.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/svg.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

namespace torchamp {
inline namespace v0 {

/// Draws the bars as an SVG: they lie, group below group, each group under its name. A bar begins
/// at zero, and has its name and its number at its end. Bars differ in colour and in hatching. The
/// drawing is as high as the bars need.
/// Throws: [E29] if `check_chart` refuses the chart; nothing is written.
void write_svg(const BarChart& chart, std::ostream& out, const SvgOptions& options = {});

namespace detail {

/// Draws one chart.
class BarChartDrawing {
 public:
  BarChartDrawing(const BarChart& chart, const SvgOptions& options)
      : chart_(chart), options_(options), svg_(options, chart.id) {}

  std::string draw();

 private:
  static constexpr double bar_height = 17;
  static constexpr double bar_step = 20;
  static constexpr double group_gap = 28;  // above each group, for its name

  static bool drawn(const std::optional<double>& value) { return value && std::isfinite(*value); }
  Axis axis() const;
  void define_hatching();
  void draw_group(std::size_t group, double y, const Axis& axis);
  /// "FP32  12.3 ms", what stands at the end of a bar.
  std::string value_text(std::size_t bar, std::size_t group) const;

  const BarChart& chart_;
  const SvgOptions& options_;
  Svg svg_;
  Frame frame_{};
};

inline Axis BarChartDrawing::axis() const {
  double low = 0;
  double high = 0;
  for (const BarChart::Bars& bars : chart_.bars) {
    for (const std::optional<double>& value : bars.values) {
      if (!drawn(value)) continue;
      low = (std::min)(low, *value);
      high = (std::max)(high, *value);
    }
  }
  Axis::Options options;
  options.unit = axis_unit(chart_.unit, (std::max)(std::fabs(low), high));
  options.whole = chart_.unit == Unit::Count;
  options.ticks = 4;
  options.from_zero = true;
  return Axis(low, high, options);
}

inline std::string BarChartDrawing::value_text(std::size_t bar, std::size_t group) const {
  const std::optional<double>& value = chart_.bars[bar].values[group];
  const std::string name = shortened(chart_.bars[bar].name, 0.32 * options_.width);
  return name + (name.empty() ? "" : " ") + (value ? format(*value, chart_.unit) : "not measured");
}

inline std::string BarChartDrawing::draw() {
  double values = 0;
  for (std::size_t group = 0; group < chart_.groups.size(); ++group) {
    for (std::size_t bar = 0; bar < chart_.bars.size(); ++bar) {
      values = (std::max)(values, text_width(value_text(bar, group)));
    }
  }
  const auto groups = static_cast<double>(chart_.groups.size());
  const double group_step = bar_step * static_cast<double>(chart_.bars.size()) + group_gap;
  frame_ = {10, 4, options_.width - values - 14, 4 + groups * group_step};
  frame_.right = (std::max)(frame_.right, frame_.left + 20);

  const Axis values_axis = axis();
  define_hatching();
  for (const Axis::Tick& tick : values_axis.ticks()) {
    const double x = frame_.x(tick.place);
    svg_.line(x, frame_.top, x, frame_.bottom, "ta-grid");
  }
  // Labels of ticks need more room than bars do: every second one if they would touch.
  double free_from = -1e9;
  for (const Axis::Tick& tick : values_axis.ticks()) {
    const double half = text_width(tick.label) / 2;
    const double x = frame_.x(tick.place);
    if (x - half < free_from) continue;
    svg_.text(x, frame_.bottom + 16, tick.label, "ta-faint", Svg::Anchor::Middle);
    free_from = x + half + 8;
  }
  svg_.text(frame_.left, frame_.bottom + 34, with_unit(chart_.label, values_axis), "ta-faint");
  for (std::size_t group = 0; group < chart_.groups.size(); ++group) {
    draw_group(group, frame_.top + group_gap + static_cast<double>(group) * group_step,
               values_axis);
  }
  const double zero = frame_.x(values_axis.place(0));
  svg_.line(zero, frame_.top, zero, frame_.bottom, "ta-axis");
  return svg_.finish(frame_.bottom + 44, chart_.title, describe(chart_));
}

/// Lines over the bars of all but the first, in the colour of the paper.
inline void BarChartDrawing::define_hatching() {
  static constexpr const char* patterns[] = {"M-2 2l4 -4M0 8l8 -8M6 10l4 -4", "M0 4h8",
                                             "M-2 6l4 4M0 0l8 8M6 -2l4 4", "M4 0v8",
                                             "M0 4h8M4 0v8"};
  constexpr std::size_t count = sizeof(patterns) / sizeof(patterns[0]);
  if (chart_.bars.size() < 2) return;
  std::string definitions = "<defs>\n";
  for (std::size_t i = 0; i < count && i + 1 < chart_.bars.size(); ++i) {
    definitions += "<pattern id=\"" + svg_.part_id("hatch" + std::to_string(i + 1)) +
                   "\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
                   "<path class=\"ta-hatch\" d=\"" +
                   patterns[i] + "\"/></pattern>\n";
  }
  svg_.raw(definitions + "</defs>\n");
}

/// `y` is where its first bar begins.
inline void BarChartDrawing::draw_group(std::size_t group, double y, const Axis& axis) {
  svg_.text(frame_.left + 4, y - 6, shortened(chart_.groups[group], options_.width - 20),
            "ta-ink ta-over");
  for (std::size_t bar = 0; bar < chart_.bars.size(); ++bar, y += bar_step) {
    const std::optional<double>& value = chart_.bars[bar].values[group];
    const std::size_t style = style_of(bar);
    double end = frame_.x(axis.place(0));
    if (drawn(value)) {
      const double from = frame_.x(axis.place((std::min)(*value, 0.0)));
      const double to = frame_.x(axis.place((std::max)(*value, 0.0)));
      svg_.rectangle(from, y, to - from, bar_height, "ta-bar ta-fill" + std::to_string(style));
      if (style > 0) {
        svg_.raw("<rect fill=\"url(#" + svg_.part_id("hatch" + std::to_string(style)) + ")\" x=\"" +
                 coordinate(from) + "\" y=\"" + coordinate(y) + "\" width=\"" +
                 coordinate(to - from) + "\" height=\"" + coordinate(bar_height) + "\"/>\n");
      }
      end = to;
    }
    svg_.text(end + 6, y + 13, value_text(bar, group), "ta-ink ta-over");
  }
}

}  // namespace detail

inline void write_svg(const BarChart& chart, std::ostream& out, const SvgOptions& options) {
  check_chart(chart);
  out << detail::BarChartDrawing(chart, options).draw();
}

}  // namespace v0
}  // namespace torchamp
