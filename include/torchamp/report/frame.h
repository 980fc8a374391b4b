// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/axis.h>
#include <torchamp/report/svg.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The rectangle that two axes span, in units of the drawing.
struct Frame {
  double left;
  double top;
  double right;
  double bottom;

  double x(double part) const { return left + (right - left) * part; }
  double y(double part) const { return bottom - (bottom - top) * part; }
};

/// The room that the labels of a vertical axis take.
inline double label_room(const Axis& axis) {
  double room = 0;
  for (const Axis::Tick& tick : axis.ticks()) room = (std::max)(room, text_width(tick.label));
  return room + 12;
}

/// "time per step (ms)".
inline std::string with_unit(const std::string& label, const Axis& axis) {
  return axis.unit_name().empty() ? label : label + " (" + axis.unit_name() + ")";
}

/// The vertical axis: a line across the frame and a label at each tick, what it shows above.
inline void draw_y_axis(Svg& svg, const Frame& frame, const Axis& axis, const std::string& label,
                        double label_y) {
  svg.text(8, label_y, with_unit(label, axis), "ta-faint");
  for (const Axis::Tick& tick : axis.ticks()) {
    const double y = frame.y(tick.place);
    svg.line(frame.left, y, frame.right, y, "ta-grid");
    svg.text(frame.left - 6, y + 4.5, tick.label, "ta-faint", Svg::Anchor::End);
  }
}

/// The horizontal axis: the lower edge of the frame, with a stroke and a label at each tick.
inline void draw_x_axis(Svg& svg, const Frame& frame, const Axis& axis, const std::string& label) {
  svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "ta-axis");
  for (const Axis::Tick& tick : axis.ticks()) {
    const double x = frame.x(tick.place);
    svg.line(x, frame.bottom, x, frame.bottom + 4, "ta-axis");
    svg.text(x, frame.bottom + 18, tick.label, "ta-faint", Svg::Anchor::Middle);
  }
  svg.text((frame.left + frame.right) / 2, frame.bottom + 36, with_unit(label, axis), "ta-faint",
           Svg::Anchor::Middle);
}

/// What there is room for, and "…" for the rest.
inline std::string shortened(const std::string& text, double room) {
  if (text_width(text) <= room) return text;
  std::string shorter;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = (std::max)(code_point_bytes(text, i), std::size_t{1});
    std::string longer = shorter + text.substr(i, bytes);
    if (text_width(longer + "…") > room) break;
    shorter = std::move(longer);
    i += bytes;
  }
  return shorter + "…";
}

/// Positions as near to the wanted ones, which ascend, as leaves `gap` between neighbours and, if
/// there is room for all, none above `top` or below `bottom`.
inline std::vector<double> spread(std::vector<double> wanted, double gap, double top,
                                  double bottom) {
  double least = top;
  for (double& position : wanted) {
    position = (std::max)(position, least);
    least = position + gap;
  }
  double most = bottom;
  for (std::size_t i = wanted.size(); i-- > 0;) {
    wanted[i] = (std::min)(wanted[i], most);
    most = wanted[i] - gap;
  }
  return wanted;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
