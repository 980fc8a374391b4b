// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/axis.h>
#include <torchamp/report/chart.h>
#include <torchamp/report/chart_words.h>
#include <torchamp/report/check_report.h>
#include <torchamp/report/frame.h>
#include <torchamp/report/svg.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Draws the counts as an SVG, a bar for each that is not 0, and the limits as lines across them.
/// Throws: [E29] if `check_chart` refuses the chart; nothing is written.
void write_svg(const Histogram& chart, std::ostream& out, const SvgOptions& options = {});

namespace detail {

/// Draws one chart.
class HistogramDrawing {
 public:
  HistogramDrawing(const Histogram& chart, const SvgOptions& options)
      : chart_(chart), options_(options), svg_(options, chart.id) {}

  std::string draw();

 private:
  Axis x_axis() const;
  void draw_bars(const Axis& x, const Axis& y);
  void draw_limits(const Axis& x);

  const Histogram& chart_;
  const SvgOptions& options_;
  Svg svg_;
  Frame frame_{};
};

/// From half a bin below the first to half a bin above the last, or as far as the limits lie.
inline Axis HistogramDrawing::x_axis() const {
  double low = chart_.first_bin - 0.5;
  double high = low + (std::max)(static_cast<double>(chart_.counts.size()), 1.0);
  for (const Histogram::Limit& limit : chart_.limits) {
    low = (std::min)(low, limit.at - 0.5);
    high = (std::max)(high, limit.at + 0.5);
  }
  Axis::Options options;
  options.ticks = 6;
  options.whole = true;
  options.round_ends = false;
  return Axis(low, high, options);
}

inline std::string HistogramDrawing::draw() {
  double most = 0;
  for (const double count : chart_.counts) most = (std::max)(most, count);
  Axis::Options options;
  options.whole = true;
  options.from_zero = true;
  const Axis x = x_axis();
  const Axis y(0, most, options);
  const double limits = 17 * static_cast<double>(chart_.limits.size());
  frame_ = {label_room(y) + 4, 30 + limits, options_.width - 22, options_.height - 44 + limits};
  frame_.right = (std::max)(frame_.right, frame_.left + 20);

  draw_y_axis(svg_, frame_, y, chart_.y_label, 14);
  draw_bars(x, y);
  svg_.line(frame_.left, frame_.bottom, frame_.right, frame_.bottom, "ta-axis");
  for (const Axis::Tick& tick : x.ticks()) {
    const double at = frame_.x(tick.place);
    svg_.line(at, frame_.bottom, at, frame_.bottom + 4, "ta-axis");
    svg_.text(at, frame_.bottom + 18,
              chart_.powers_of_two ? power_text(2, static_cast<int>(tick.value)) : tick.label,
              "ta-faint", Svg::Anchor::Middle);
  }
  svg_.text((frame_.left + frame_.right) / 2, frame_.bottom + 36, chart_.x_label, "ta-faint",
            Svg::Anchor::Middle);
  draw_limits(x);
  return svg_.finish(frame_.bottom + 44, chart_.title, describe(chart_));
}

inline void HistogramDrawing::draw_bars(const Axis& x, const Axis& y) {
  for (std::size_t i = 0; i < chart_.counts.size(); ++i) {
    if (chart_.counts[i] == 0) continue;
    const double bin = chart_.first_bin + static_cast<double>(i);
    const double from = frame_.x(x.place(bin - 0.5));
    const double width = frame_.x(x.place(bin + 0.5)) - from;
    const double gap = (std::min)(1.5, width / 5);
    // A count that is not 0 is seen, however small it is.
    const double height = (std::max)(1.0, frame_.bottom - frame_.y(y.place(chart_.counts[i])));
    svg_.rectangle(from + gap / 2, frame_.bottom - height, width - gap, height, "ta-bar ta-fill0");
  }
}

/// The labels stand above the frame, each in its own row, towards the side with more room. Lines of
/// the rows above pass behind them.
inline void HistogramDrawing::draw_limits(const Axis& x) {
  double y = 30;
  for (const Histogram::Limit& limit : chart_.limits) {
    const double at = frame_.x(x.place(limit.at));
    svg_.line(at, y - 9, at, frame_.bottom, "ta-limit");
    y += 17;
  }
  y = 30;
  for (const Histogram::Limit& limit : chart_.limits) {
    const double at = frame_.x(x.place(limit.at));
    const bool to_the_left = at > options_.width / 2;
    const double room = (to_the_left ? at : options_.width - at) - 12;
    const std::string label = shortened(limit.label, room);
    const double width = text_width(label);
    const double from = at + (to_the_left ? -5 - width : 5);
    svg_.rectangle(from, y - 12, width, 16, "ta-paper");
    svg_.text(to_the_left ? from + width : from, y, label, "ta-ink",
              to_the_left ? Svg::Anchor::End : Svg::Anchor::Start);
    y += 17;
  }
}

}  // namespace detail

inline void write_svg(const Histogram& chart, std::ostream& out, const SvgOptions& options) {
  check_chart(chart);
  out << detail::HistogramDrawing(chart, options).draw();
}

}  // namespace v0
}  // namespace torchamp
