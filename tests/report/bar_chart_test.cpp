// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/bar_chart.h>

#include "report/charts.h"
#include "support/comma_locale.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/xml.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using torchamp::BarChart;
using torchamp::Unit;

namespace {

BarChart times() {
  BarChart chart{"time", "Time per step", "time", Unit::Seconds};
  chart.groups = {"forward", "backward"};
  chart.bars = {{"FP32", {0.004, 0.008}}, {"AMP bf16", {0.002, 0.004}}};
  return chart;
}

double width_of(const XmlElement& bar) { return std::stod(bar.attribute("width")); }

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("Each value has a bar as long as it is large, with name and number at its end") {
  const Xml xml(svg_of(times()));

  CHECK(xml.error() == "");
  const auto bars = xml.with_class("ta-bar");
  REQUIRE(bars.size() == 4);
  CHECK(width_of(bars[0]) == doctest::Approx(2 * width_of(bars[1])).epsilon(0.001));
  CHECK(width_of(bars[2]) == doctest::Approx(2 * width_of(bars[0])).epsilon(0.001));
  CHECK(bars[0].attribute("x") == bars[3].attribute("x"));
  for (const char* text : {"forward", "backward", "FP32 4.00 ms", "AMP bf16 2.00 ms",
                           "FP32 8.00 ms", "time (ms)", "0"}) {
    CAPTURE(text);
    CHECK(has(texts_of(xml), text));
  }
}

TEST_CASE("The name of a group stands above its bars, as wide as the drawing") {
  BarChart chart = times();
  chart.groups[1] = "peak memory of a step, tensors of it alone";

  const Xml xml(svg_of(chart));

  const auto bars = xml.with_class("ta-bar");
  const auto y_of = [](const XmlElement& element) { return std::stod(element.attribute("y")); };
  for (const XmlElement& text : xml.with_tag("text")) {
    if (text.text == chart.groups[0]) CHECK(y_of(text) < y_of(bars.at(0)));
    if (text.text != chart.groups[1]) continue;
    CHECK(y_of(text) < y_of(bars.at(2)));
    CHECK(y_of(text) > y_of(bars.at(1)) + std::stod(bars.at(1).attribute("height")));
  }
  CHECK(has(texts_of(xml), chart.groups[1]));
}

TEST_CASE("Bars differ in hatching as well as in colour") {
  const Xml xml(svg_of(times()));

  CHECK(xml.with_class("ta-bar").at(0).has_class("ta-fill0"));
  CHECK(xml.with_class("ta-bar").at(1).has_class("ta-fill1"));
  REQUIRE(xml.with_tag("pattern").size() == 1);
  std::size_t hatched = 0;
  for (const XmlElement& element : xml.with_tag("rect")) {
    hatched += element.attribute("fill") == "url(#time-hatch1)" ? 1 : 0;
  }
  CHECK(hatched == 2);
}

TEST_CASE("A value that is not there has no bar, and the chart says so") {
  BarChart chart = times();
  chart.bars[0].values[0] = std::nullopt;
  chart.bars[1].values[0] = std::numeric_limits<double>::infinity();

  const Xml xml(svg_of(chart));

  CHECK(xml.error() == "");
  CHECK(xml.with_class("ta-bar").size() == 2);
  CHECK(has(texts_of(xml), "FP32 not measured"));
  CHECK(has(texts_of(xml), "AMP bf16 inf"));
}

TEST_CASE("A bar of a negative value lies on the other side of zero") {
  BarChart chart = times();
  chart.unit = Unit::Plain;
  chart.bars[0].values = {-4.0, 4.0};

  const auto bars = Xml(svg_of(chart)).with_class("ta-bar");

  CHECK(width_of(bars[0]) == doctest::Approx(width_of(bars[2])).epsilon(0.001));
  CHECK(std::stod(bars[0].attribute("x")) + width_of(bars[0]) ==
        doctest::Approx(std::stod(bars[2].attribute("x"))));
}

TEST_CASE("The drawing is as high as its bars need") {
  BarChart chart = times();
  const double two = std::stod(Xml(svg_of(chart)).elements().at(0).attribute("height"));
  chart.groups.push_back("step");
  for (auto& bars : chart.bars) bars.values.push_back(0.001);

  CHECK(std::stod(Xml(svg_of(chart)).elements().at(0).attribute("height")) - two == 68);
}

TEST_CASE("Charts of no group, of zeros alone, and of many bars with long names can be drawn") {
  BarChart chart{"a", "a", "a", Unit::Bytes};
  CHECK(Xml(svg_of(chart)).error() == "");

  chart.groups = {std::string(200, 'g')};
  for (int i = 0; i < 10; ++i) chart.bars.push_back({std::string(100, 'n'), {0.0}});
  const Xml xml(svg_of(chart));

  CHECK(xml.error() == "");
  CHECK(xml.with_class("ta-bar").size() == 10);
  for (const XmlElement& text : xml.with_tag("text")) CHECK(text.text.size() < 60);
}

TEST_CASE("A bar chart says in words what it shows, whatever its names are") {
  BarChart chart = times();
  chart.title = chart.groups[0] = chart.bars[0].name = chart.label = "<script>&\"'";

  const std::string svg = svg_of(chart);

  CHECK(Xml(svg).error() == "");
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(Xml(svg).with_tag("desc").at(0).text.find("AMP bf16 2.00 ms") != std::string::npos);
}

TEST_CASE("A bar chart that makes no sense is refused, and nothing is written") {
  BarChart chart = times();
  chart.groups.pop_back();
  std::ostringstream out;

  CHECK_THROWS_WITH_AS(torchamp::write_svg(chart, out), doctest::Contains("[torchamp.E29]"),
                       std::invalid_argument);

  CHECK(out.str() == "");
}

TEST_CASE("Bar charts look as they did, in every locale") {
  const CommaLocale commas;
  check_golden("bars.svg", svg_of(times()));
}
