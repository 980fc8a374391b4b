// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/markup.h>
#include <torchamp/report/table.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// How a chart is drawn.
struct SvgOptions {
  double width = 440;   ///< in units of the drawing: text is 13 high, the page scales both
  double height = 280;  ///< of the part with the axes of line charts and histograms
  /// A file of its own: with its colours, its background, and the title drawn. Otherwise a part of
  /// a page that has the style sheet `chart_style()`.
  bool alone = true;
  std::string id_prefix{};  ///< before every id, so that no two in a page are the same
};

/// The style sheet of all charts: light and dark, the light one on paper.
std::string chart_style();

namespace detail {

/// One colour of the charts for light and dark. Blue, orange, green and purple after Okabe and Ito,
/// whom the colour-blind can thank; darker or lighter so that text in them is readable as well.
struct ChartColour {
  const char* light;
  const char* dark;
};
inline constexpr ChartColour chart_colours[] = {{"#0067a8", "#5cbcf0"}, {"#b34a00", "#f0a030"},
                                                {"#00734f", "#38cfa0"}, {"#97407f", "#e79bc9"},
                                                {"#4d4d4d", "#cfcfcf"}, {"#6b5f00", "#f0e442"}};
inline constexpr std::size_t chart_colour_count = sizeof(chart_colours) / sizeof(chart_colours[0]);
inline constexpr ChartColour chart_paper{"#ffffff", "#15181e"};
inline constexpr ChartColour chart_ink{"#1c2026", "#e8eaee"};
inline constexpr ChartColour chart_faint_ink{"#565d68", "#a9b0bb"};  // labels of ticks
inline constexpr ChartColour chart_grid{"#dfe2e7", "#343a45"};

/// The colour, dash, marker and hatching of the n-th of several. Up to the sixth, colours, dashes
/// and hatchings differ; markers do up to the fourth.
inline std::size_t style_of(std::size_t n) { return n % chart_colour_count; }

/// About how wide a text is, in units of the drawing: a little more than most fonts take.
inline double text_width(const std::string& text, double size = 13) {
  return 0.58 * size * static_cast<double>(display_width(text));
}

/// A coordinate: two digits after the point, as far as they say something.
inline std::string coordinate(double value) {
  std::string text = format_fixed(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

/// The commands of a cross, which marks a point.
inline std::string cross(double x, double y) {
  return "M" + coordinate(x - 4) + " " + coordinate(y - 4) + "l8 8M" + coordinate(x - 4) + " " +
         coordinate(y + 4) + "l8 -8";
}

/// The commands of a triangle with its upper edge at y, which says that a value has no place.
inline std::string down_triangle(double x, double y) {
  return "M" + coordinate(x - 4.5) + " " + coordinate(y) + "l9 0l-4.5 8Z";
}

/// An SVG that grows element by element.
class Svg {
 public:
  /// Where text stands relative to its position.
  enum class Anchor { Start, Middle, End };

  Svg(const SvgOptions& options, const std::string& id) : options_(options), id_(id) {}

  /// The id of a part, for references within the drawing.
  std::string part_id(const std::string& part) const {
    return options_.id_prefix + id_ + "-" + part;
  }

  void text(double x, double y, const std::string& words, const std::string& style,
            Anchor anchor = Anchor::Start) {
    static constexpr const char* names[] = {"start", "middle", "end"};
    body_ += "<text class=\"" + style + "\" x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
             "\" text-anchor=\"" + names[static_cast<int>(anchor)] + "\">" + escape_markup(words) +
             "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& style) {
    body_ += "<line class=\"" + style + "\" x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) +
             "\" x2=\"" + coordinate(x2) + "\" y2=\"" + coordinate(y2) + "\"/>\n";
  }
  void rectangle(double x, double y, double width, double height, const std::string& style) {
    body_ += "<rect class=\"" + style + "\" x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
             "\" width=\"" + coordinate(width) + "\" height=\"" + coordinate(height) + "\"/>\n";
  }
  /// `commands` are those of the attribute d.
  void path(const std::string& commands, const std::string& style) {
    body_ += "<path class=\"" + style + "\" d=\"" + commands + "\"/>\n";
  }
  /// Circle, square, triangle or diamond of series `n`.
  void marker(std::size_t n, double x, double y, double size = 4);
  /// Elements as they are.
  void raw(const std::string& elements) { body_ += elements; }

  /// The whole drawing; `description` says in words what it shows.
  std::string finish(double height, const std::string& title, const std::string& description) const;

 private:
  SvgOptions options_;
  std::string id_;
  std::string body_;
};

inline void Svg::marker(std::size_t n, double x, double y, double size) {
  const auto at = [&](double dx, double dy) {
    return coordinate(x + dx * size) + " " + coordinate(y + dy * size);
  };
  std::string commands;
  switch (style_of(n) % 4) {
    case 0: {
      const std::string radius = coordinate(size);
      const std::string arc = "A" + radius + " " + radius + " 0 1 1 ";
      commands = "M" + at(-1, 0) + arc + at(1, 0) + arc + at(-1, 0) + "Z";
      break;
    }
    case 1:
      commands = "M" + at(-0.9, -0.9) + "L" + at(0.9, -0.9) + "L" + at(0.9, 0.9) + "L" +
                 at(-0.9, 0.9) + "Z";
      break;
    case 2:
      commands = "M" + at(0, -1.15) + "L" + at(1.1, 0.85) + "L" + at(-1.1, 0.85) + "Z";
      break;
    default:
      commands = "M" + at(0, -1.3) + "L" + at(1.3, 0) + "L" + at(0, 1.3) + "L" + at(-1.3, 0) + "Z";
  }
  path(commands, "ta-marker ta-fill" + std::to_string(style_of(n)));
}

inline std::string Svg::finish(double height, const std::string& title,
                               const std::string& description) const {
  const std::string title_id = part_id("title");
  const std::string description_id = part_id("desc");
  const double top = options_.alone ? 26 : 0;  // room for the title
  const std::string size =
      coordinate(options_.width) + "\" height=\"" + coordinate(height + top) + "\"";
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ta-chart\" viewBox=\"0 " +
                    coordinate(-top) + " " + coordinate(options_.width) + " " +
                    coordinate(height + top) + "\" width=\"" + size +
                    " role=\"img\" aria-labelledby=\"" + title_id + " " + description_id + "\">\n";
  svg += "<title id=\"" + title_id + "\">" + escape_markup(title) + "</title>\n";
  svg += "<desc id=\"" + description_id + "\">" + escape_markup(description) + "</desc>\n";
  if (options_.alone) {
    svg += "<style>\n" + chart_style() + "</style>\n";
    svg += "<rect class=\"ta-paper\" x=\"0\" y=\"" + coordinate(-top) + "\" width=\"" + size +
           "/>\n<text class=\"ta-title\" x=\"8\" y=\"-6\">" + escape_markup(title) + "</text>\n";
  }
  return svg + body_ + "</svg>\n";
}

/// The rules of one of the two modes.
inline std::string chart_colour_rules(const char* ChartColour::*mode) {
  std::string rules =
      std::string(".ta-paper{fill:") + chart_paper.*mode + "}\n.ta-ink{fill:" + chart_ink.*mode +
      "}\n.ta-title{fill:" + chart_ink.*mode + "}\n.ta-faint{fill:" + chart_faint_ink.*mode +
      "}\n.ta-grid{stroke:" + chart_grid.*mode +
      "}\n.ta-axis,.ta-mark,.ta-limit{stroke:" + chart_ink.*mode +
      "}\n.ta-leader{stroke:" + chart_faint_ink.*mode +
      "}\n.ta-marker,.ta-hatch,.ta-over{stroke:" + chart_paper.*mode + "}\n";
  for (std::size_t i = 0; i < chart_colour_count; ++i) {
    const std::string n = std::to_string(i);
    const std::string colour = chart_colours[i].*mode;
    rules += ".ta-line" + n + "{stroke:" + colour + "}\n.ta-fill" + n + "{fill:" + colour + "}\n";
  }
  return rules;
}

}  // namespace detail

inline std::string chart_style() {
  static constexpr const char* dashes[] = {"none", "7 3", "2 3", "9 3 2 3", "12 4", "4 4"};
  std::string style =
      ".ta-chart{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation "
      "Sans',sans-serif;"
      "font-size:13px}\n"
      ".ta-title{font-size:15px;font-weight:600}\n"
      ".ta-axis,.ta-grid,.ta-leader{stroke-width:1;fill:none}\n"
      ".ta-line{fill:none;stroke-width:2;stroke-linejoin:round}\n"
      ".ta-line.ta-pale{stroke-width:1;stroke-opacity:.35;stroke-dasharray:none}\n"
      ".ta-over{paint-order:stroke;stroke-width:4;stroke-linejoin:round}\n"
      ".ta-mark{fill:none;stroke-width:2}\n"
      ".ta-marker{stroke-width:1}\n"
      ".ta-hatch{fill:none;stroke-width:1.5}\n"
      ".ta-limit{stroke-width:1.5;stroke-dasharray:5 3}\n"
      ".ta-name{font-weight:600}\n";
  for (std::size_t i = 1; i < detail::chart_colour_count; ++i) {
    style += ".ta-line" + std::to_string(i) + "{stroke-dasharray:" + dashes[i] + "}\n";
  }
  // Dark on a screen only: paper is light.
  return style + detail::chart_colour_rules(&detail::ChartColour::light) +
         "@media screen and (prefers-color-scheme:dark){\n" +
         detail::chart_colour_rules(&detail::ChartColour::dark) + "}\n";
}

}  // namespace v0
}  // namespace torchamp
