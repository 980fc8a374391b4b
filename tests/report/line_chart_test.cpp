// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/line_chart.h>

#include "report/charts.h"
#include "support/comma_locale.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/xml.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using torchamp::AxisScale;
using torchamp::LineChart;
using torchamp::Series;

namespace {

const double infinity = std::numeric_limits<double>::infinity();

Series series(const std::vector<double>& y) {
  Series line{"loss", "loss"};
  for (std::size_t i = 0; i < y.size(); ++i) line.push_back(static_cast<double>(i), y[i]);
  return line;
}

LineChart two_losses() {
  LineChart chart{"loss", "Loss by step"};
  chart.lines = {series({2.5, 2, 1.5, 1.25}), series({2.5, 2.25, 1.75})};
  chart.names = {"FP32", "AMP bf16"};
  return chart;
}

LineChart scale_with_skips() {
  LineChart chart{"scale", "Loss scale by step"};
  Series scale = series({65536, 32768, 16384, 16384, 32768});
  scale.label = "loss scale";
  scale.y_scale = AxisScale::Log2;
  scale.marks = {1, 2};
  scale.marked_as = "skipped step";
  chart.lines = {scale};
  chart.names = {"AMP fp16"};
  return chart;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("Each line has its points, its own style, and its name at its end") {
  const Xml xml(svg_of(two_losses()));

  CHECK(xml.error() == "");
  REQUIRE(xml.with_class("ta-line").size() == 2);
  CHECK(points_of(xml.with_class("ta-line0").at(0)) == 4);
  CHECK(points_of(xml.with_class("ta-line1").at(0)) == 3);
  CHECK(pieces_of(xml.with_class("ta-line0").at(0)) == 1);
  const auto names = xml.with_class("ta-name");
  REQUIRE(names.size() == 2);
  CHECK(names[0].has_class("ta-fill1"));  // from the top: AMP ends higher
  CHECK(names[0].text == "AMP bf16");
  CHECK(xml.with_class("ta-marker").size() == 4 + 3 + 2);  // points, and before the names
  CHECK(has(texts_of(xml), "loss"));
  CHECK(has(texts_of(xml), "step"));
}

TEST_CASE("A line keeps the style that it is given") {
  LineChart chart = two_losses();
  chart.styles = {2, 0};

  const Xml xml(svg_of(chart));

  CHECK(points_of(xml.with_class("ta-line2").at(0)) == 4);
  CHECK(points_of(xml.with_class("ta-line0").at(0)) == 3);
  CHECK(xml.with_class("ta-line1").empty());
}

TEST_CASE("Skipped steps are crossed on the scale, and the legend says what a cross is") {
  const Xml xml(svg_of(scale_with_skips()));

  CHECK(xml.error() == "");
  const auto marks = xml.with_class("ta-mark");
  REQUIRE(marks.size() == 2);  // the one of the legend first
  CHECK(pieces_of(marks[0]) == 2);
  CHECK(pieces_of(marks[1]) == 4);  // two strokes each
  CHECK(has(texts_of(xml), "skipped step"));
  CHECK(has(texts_of(xml), "32,768"));
  CHECK(has(texts_of(xml), "65,536"));
}

TEST_CASE("A value that is not finite makes a gap, a sign at the edge, and a line in the legend") {
  LineChart chart = two_losses();
  chart.lines[0] = series({2, infinity - infinity, 1, 1, infinity, -infinity, 1, 1});

  const Xml xml(svg_of(chart));

  CHECK(xml.error() == "");
  const XmlElement line = xml.with_class("ta-line0").at(0);
  CHECK(points_of(line) == 5);
  CHECK(pieces_of(line) == 3);
  CHECK(pieces_of(xml.with_class("ta-gap").at(0)) == 3);
  CHECK(has(texts_of(xml), "NaN or inf"));
  CHECK_FALSE(has(texts_of(Xml(svg_of(two_losses()))), "NaN or inf"));
}

TEST_CASE("On a logarithmic axis 0 makes a gap too") {
  LineChart chart = scale_with_skips();
  chart.lines[0].y[3] = 0;

  const Xml xml(svg_of(chart));

  CHECK(pieces_of(xml.with_class("ta-line0").at(0)) == 2);
  CHECK(has(texts_of(xml), "NaN, inf or not above 0"));
}

TEST_CASE("A point that stands alone has a marker") {
  LineChart chart = two_losses();
  std::vector<double> y(100, infinity);
  y[50] = 1;
  chart.lines = {series(y)};
  chart.names = {"FP32"};

  const Xml xml(svg_of(chart));

  CHECK(xml.with_class("ta-marker").size() == 2);  // and the one before the name
}

TEST_CASE("Many points are drawn pale below their means, without losing a peak") {
  std::vector<double> y(100000, 1);
  y[54321] = 7;
  LineChart chart = two_losses();
  chart.lines = {series(y), series({2, 1})};

  const std::string svg = svg_of(chart);
  const Xml xml(svg);

  CHECK(xml.error() == "");
  const XmlElement pale = xml.with_class("ta-pale").at(0);
  CHECK(points_of(pale) > 100);
  CHECK(points_of(pale) < 4 * 2 * 440);
  CHECK(points_of(xml.with_class("ta-line0").at(1)) == 100);
  CHECK(xml.with_class("ta-pale").size() == 1);  // the short line is drawn as it is
  CHECK(has(texts_of(xml), "pale: all points, line: means of 1000"));
  CHECK(svg.size() < 100000);
  // The top of the frame is 8, a tick above 7; the peak is just below it.
  chart.lines[0].y[54321] = 1;
  CHECK(Xml(svg_of(chart)).with_class("ta-pale").at(0).attribute("d") != pale.attribute("d"));
}

TEST_CASE("Long names stand in the legend") {
  LineChart chart = two_losses();
  chart.names[1] = "AMP float16 with FlatParameters and FusedAdam";

  const Xml xml(svg_of(chart));

  CHECK(xml.with_class("ta-name").empty());
  CHECK(has(texts_of(xml), "FP32"));
  CHECK(has(texts_of(xml), chart.names[1]));
}

TEST_CASE("Names at the ends have the room that bold letters take") {
  LineChart chart = two_losses();
  chart.names = {"AMP WWWW bf16", "FP32"};

  const Xml xml(svg_of(chart));

  REQUIRE(xml.with_class("ta-name").size() == 2);
  for (const XmlElement& name : xml.with_class("ta-name")) {
    const double room = 440 - std::stod(name.attribute("x"));
    CHECK(room >= 9 * static_cast<double>(name.text.size()));  // of 13 units, letters are 9 wide
  }
}

TEST_CASE("Twenty lines, with short names or long ones, stay in the drawing") {
  for (const std::string& suffix : {std::string(), std::string(60, 'x')}) {
    LineChart chart{"loss", "Loss by step"};
    for (int i = 0; i < 20; ++i) {
      chart.lines.push_back(series({2, 1}));
      chart.names.push_back("variant " + std::to_string(i) + suffix);
    }

    const Xml xml(svg_of(chart));

    CHECK(xml.error() == "");
    CHECK(xml.with_class("ta-name").empty());
    const double height = std::stod(xml.elements().at(0).attribute("height"));
    for (const XmlElement& text : xml.with_tag("text")) {
      if (text.has_class("ta-title")) continue;  // above the chart
      CHECK(std::stod(text.attribute("y")) >= 0);
      CHECK(std::stod(text.attribute("y")) <= height - 26);
    }
    // The frame is not upside down: the line goes down from 2 to 1.
    const std::string path = xml.with_class("ta-line0").at(0).attribute("d");
    const double begin = std::stod(path.substr(path.find(' ')));
    CHECK(std::stod(path.substr(path.rfind(' '))) > begin + 50);
  }
}

TEST_CASE("However narrow a drawing is, it ends") {
  LineChart chart{"loss", "Loss by step"};
  chart.lines = {series(std::vector<double>(40, 1000))};
  chart.lines[0].y[20] = 1001;
  chart.names = {"AMP"};
  for (const double width : {100.0, 60.0, 0.0}) {
    torchamp::SvgOptions options;
    options.width = width;
    CHECK(Xml(svg_of(chart, options)).error() == "");
  }
}

TEST_CASE("Charts of no line, no point, one point and equal points can be drawn") {
  LineChart chart{"a", "a"};
  CHECK(Xml(svg_of(chart)).error() == "");

  for (const std::vector<double>& y : {std::vector<double>{},
                                       {5},
                                       {0},
                                       {5, 5, 5},
                                       {infinity},
                                       {1e308, -1e308},
                                       {1e-310, 2e-310}}) {
    for (const AxisScale scale : {AxisScale::Linear, AxisScale::Log2, AxisScale::Log10}) {
      CAPTURE(y.size());
      chart.lines = {series(y)};
      chart.lines[0].y_scale = scale;
      chart.names = {"FP32"};
      const Xml xml(svg_of(chart));
      CHECK(xml.error() == "");
      for (const XmlElement& element : xml.elements()) {
        for (const char* name : {"d", "x", "y", "x1", "y1", "x2", "y2"}) {
          CHECK(element.attribute(name).find_first_of("naif") == std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("A chart says in words what it shows, whatever its names are") {
  LineChart chart = two_losses();
  chart.title = chart.names[0] = chart.lines[0].label = "<script>&\"'";

  const std::string svg = svg_of(chart);
  const Xml xml(svg);

  CHECK(xml.error() == "");
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(xml.with_tag("desc").at(0).text.find("4 points, from 2.5 at step 0 to 1.25 at step 3") !=
        std::string::npos);
}

TEST_CASE("A chart that makes no sense is refused, and nothing is written") {
  LineChart chart = two_losses();
  chart.names.pop_back();
  std::ostringstream out;

  CHECK_THROWS_WITH_AS(torchamp::write_svg(chart, out), doctest::Contains("[torchamp.E29]"),
                       std::invalid_argument);

  CHECK(out.str() == "");
}

TEST_CASE("Line charts look as they did, in every locale") {
  check_golden("loss.svg", svg_of(two_losses()));
  const CommaLocale commas;
  check_golden("loss.svg", svg_of(two_losses()));
  check_golden("scale.svg", svg_of(scale_with_skips()));
}
