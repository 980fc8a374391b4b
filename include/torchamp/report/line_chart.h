// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/axis.h>
#include <torchamp/report/chart.h>
#include <torchamp/report/chart_words.h>
#include <torchamp/report/check_report.h>
#include <torchamp/report/frame.h>
#include <torchamp/report/line_chart_axes.h>
#include <torchamp/report/series.h>
#include <torchamp/report/svg.h>
#include <torchamp/report/thin.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Draws the lines as an SVG: each with a colour and a dash of its own, up to the sixth, a marker
/// of its own, up to the fourth, and its name at its end. Names that are long or many stand above,
/// and make the drawing higher if they have to. Marked points are crossed. Where a value is NaN,
/// inf or, on a logarithmic axis, not above 0, the line has a gap, and a triangle at the edge says
/// so. Many points are thinned without losing a peak; over more than 200 on a linear axis their
/// means are drawn, so that noisy lines can be told apart. Throws: [E29] if `check_chart` refuses
/// the chart; nothing is written.
void write_svg(const LineChart& chart, std::ostream& out, const SvgOptions& options = {});

namespace detail {

/// Draws one chart.
class LineChartDrawing {
 public:
  LineChartDrawing(const LineChart& chart, const SvgOptions& options)
      : chart_(chart), options_(options), svg_(options, chart.id) {}

  std::string draw();

 private:
  static constexpr double name_gap = 17;  // from name to name at the ends

  struct Point {
    double x;  // on the drawing
    double y;
    bool shown;  // the axis has a place for it
  };

  /// The style of line n.
  std::size_t style(std::size_t n) const { return chart_.styles.empty() ? n : chart_.styles[n]; }
  void draw_legend();
  void draw_line(std::size_t n, const Axis& x, const Axis& y);
  void draw_markers(std::size_t n, const std::vector<Point>& points);
  void draw_marks(const Series& line, const Axis& x, const Axis& y);
  void draw_names();
  Point point(double at, double value, const Axis& x, const Axis& y) const;
  static std::string path_of(const std::vector<Point>& points);
  bool any_marks() const;
  bool any_gaps(const Axis& y) const;

  const LineChart& chart_;
  const SvgOptions& options_;
  Svg svg_;
  Frame frame_{};
  bool names_at_ends_ = true;
  bool has_gaps_ = false;
  std::vector<std::vector<Point>> drawn_;  // of each line, or their means
  std::vector<double> ends_;               // y on the drawing of each line's last point
};

inline std::string LineChartDrawing::draw() {
  const Axis x = line_chart_x_axis(chart_);
  const Axis y = line_chart_y_axis(chart_);
  double names = 0;
  // They are bold, which is wider.
  for (const std::string& name : chart_.names) names = (std::max)(names, text_width(name, 16));
  names_at_ends_ = names <= 0.3 * options_.width &&
                   name_gap * static_cast<double>(chart_.names.size()) <= options_.height - 100;
  frame_ = {label_room(y) + 4, 30, options_.width - (names_at_ends_ ? names + 30 : 26),
            options_.height - 44};
  frame_.right = (std::max)(frame_.right, frame_.left + 20);
  has_gaps_ = any_gaps(y);

  draw_legend();
  draw_y_axis(svg_, frame_, y, chart_.lines.empty() ? "" : chart_.lines.front().label, 14);
  draw_x_axis(svg_, frame_, x, chart_.lines.empty() ? "" : chart_.lines.front().x_label);
  for (std::size_t n = 0; n < chart_.lines.size(); ++n) draw_line(n, x, y);
  for (std::size_t n = 0; n < chart_.lines.size(); ++n) draw_markers(n, drawn_[n]);
  for (const Series& line : chart_.lines) draw_marks(line, x, y);
  if (names_at_ends_) draw_names();
  return svg_.finish(frame_.bottom + 44, chart_.title, describe(chart_));
}

inline bool LineChartDrawing::any_marks() const {
  return std::any_of(chart_.lines.begin(), chart_.lines.end(),
                     [](const Series& line) { return !line.marks.empty(); });
}

inline bool LineChartDrawing::any_gaps(const Axis& y) const {
  for (const Series& line : chart_.lines) {
    for (const double value : line.y) {
      if (!y.shows(value)) return true;
    }
  }
  return false;
}

/// Rows below the label of the y axis; they make the frame smaller, but not too small to read.
inline void LineChartDrawing::draw_legend() {
  double x = 14;
  double y = 34;
  bool any = false;
  // Returns where the sign in front of the text belongs.
  const auto place = [&](const std::string& text) {
    const double width = text_width(text) + 34;
    if (any && x + width > options_.width) {
      x = 14;
      y += 19;
    }
    any = true;
    const double at = x;
    svg_.text(at + 10, y, text, "ta-ink");
    x += width;
    return at;
  };
  if (!names_at_ends_) {
    for (std::size_t n = 0; n < chart_.names.size(); ++n) {
      const double at = place(shortened(chart_.names[n], options_.width - 40));
      svg_.marker(style(n), at, y - 4.5);
    }
  }
  if (any_marks()) {
    std::string meaning = "marked";
    for (const Series& line : chart_.lines) {
      if (!line.marks.empty() && !line.marked_as.empty()) meaning = line.marked_as;
    }
    const double at = place(shortened(meaning, options_.width - 40));
    svg_.path(cross(at, y - 4.5), "ta-mark");
  }
  if (has_gaps_) {
    const bool linear = chart_.lines.front().y_scale == AxisScale::Linear;
    const double at = place(linear ? "NaN or inf" : "NaN, inf or not above 0");
    svg_.path(down_triangle(at, y - 8), "ta-ink");
  }
  if (std::any_of(chart_.lines.begin(), chart_.lines.end(), averaged)) {
    place("pale: all points, line: means of " + std::to_string(points_in_a_mean(chart_)));
  }
  if (any) frame_.top = y + 14;
  frame_.bottom = (std::max)(frame_.bottom, frame_.top + 100);
}

inline LineChartDrawing::Point LineChartDrawing::point(double at, double value, const Axis& x,
                                                       const Axis& y) const {
  const double across = frame_.x(x.place(at));
  if (y.shows(value)) return {across, frame_.y(y.place(value)), true};
  return {across, value > 0 ? frame_.top : frame_.bottom - 8, false};
}

inline std::string LineChartDrawing::path_of(const std::vector<Point>& points) {
  std::string commands;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].shown) continue;
    const bool begins = i == 0 || !points[i - 1].shown;
    commands += begins ? 'M' : 'L';
    commands += coordinate(points[i].x) + " " + coordinate(points[i].y);
  }
  return commands;
}

inline void LineChartDrawing::draw_line(std::size_t n, const Axis& x, const Axis& y) {
  const Series& line = chart_.lines[n];
  const std::string number = std::to_string(style_of(style(n)));
  // Two columns a unit: screens have more dots than the drawing has units.
  const auto columns = static_cast<std::size_t>(2 * (std::max)(frame_.right - frame_.left, 1.0));
  std::vector<Point> points;
  std::string gaps;
  for (const std::size_t i : thin(line.x, line.y, columns)) {
    points.push_back(point(line.x[i], line.y[i], x, y));
    if (!points.back().shown) gaps += down_triangle(points.back().x, points.back().y);
  }
  const std::string all = path_of(points);
  if (!all.empty()) {
    svg_.path(all, (averaged(line) ? "ta-line ta-pale ta-line" : "ta-line ta-line") + number);
  }
  if (!gaps.empty()) svg_.path(gaps, "ta-gap ta-fill" + number);

  if (averaged(line)) {
    const Means means = means_of(line.x, line.y, points_in_a_mean(chart_));
    points.clear();
    for (std::size_t i = 0; i < means.x.size(); ++i) {
      points.push_back(point(means.x[i], means.y[i], x, y));
    }
    const std::string middle = path_of(points);
    if (!middle.empty()) svg_.path(middle, "ta-line ta-line" + number);
  }

  double end = frame_.bottom;
  for (const Point& last : points) {
    if (last.shown) end = last.y;
  }
  ends_.push_back(end);
  drawn_.push_back(std::move(points));
}

/// At every point if they are few, else at some, not the same ones for each line; and where a point
/// stands alone, which makes no line.
inline void LineChartDrawing::draw_markers(std::size_t n, const std::vector<Point>& points) {
  const double apart = (frame_.right - frame_.left) / 6;
  const bool few = points.size() <= 24;
  double next = frame_.left + apart * (0.3 + 0.3 * static_cast<double>(style(n) % 3));
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].shown) continue;
    const bool alone =
        (i == 0 || !points[i - 1].shown) && (i + 1 == points.size() || !points[i + 1].shown);
    if (!few && !alone && points[i].x < next) continue;
    svg_.marker(style(n), points[i].x, points[i].y, few ? 3.5 : 4.5);
    while (next <= points[i].x) next += apart;
  }
}

inline void LineChartDrawing::draw_marks(const Series& line, const Axis& x, const Axis& y) {
  std::string crosses;
  Point last{-10, -10, false};
  for (const std::size_t i : line.marks) {
    const Point at = point(line.x[i], line.y[i], x, y);
    if (std::fabs(at.x - last.x) < 0.5 && std::fabs(at.y - last.y) < 0.5) continue;
    crosses += cross(at.x, at.y);
    last = at;
  }
  if (!crosses.empty()) svg_.path(crosses, "ta-mark");
}

inline void LineChartDrawing::draw_names() {
  std::vector<std::size_t> order(ends_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ends_[a] < ends_[b]; });
  std::vector<double> wanted;
  for (const std::size_t n : order) wanted.push_back(ends_[n]);
  const std::vector<double> placed = spread(wanted, name_gap, frame_.top + 4, frame_.bottom - 4);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t n = order[i];
    if (std::fabs(placed[i] - wanted[i]) > 3) {
      svg_.line(frame_.right, wanted[i], frame_.right + 8, placed[i], "ta-leader");
    }
    svg_.marker(style(n), frame_.right + 13, placed[i]);
    svg_.text(frame_.right + 21, placed[i] + 4.5, chart_.names[n],
              "ta-name ta-fill" + std::to_string(style_of(style(n))));
  }
}

}  // namespace detail

inline void write_svg(const LineChart& chart, std::ostream& out, const SvgOptions& options) {
  check_chart(chart);
  out << detail::LineChartDrawing(chart, options).draw();
}

}  // namespace v0
}  // namespace torchamp
