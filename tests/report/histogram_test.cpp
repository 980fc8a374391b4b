// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/histogram.h>

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

using torchamp::Histogram;

namespace {

Histogram exponents() {
  Histogram chart{"exponents", "Exponents of gradients", "magnitude"};
  chart.powers_of_two = true;
  chart.first_bin = -20;
  chart.counts = {100, 0, 400, 200};
  chart.limits = {{-18.5, "below: subnormal"}, {-16.5, "above: inf"}};
  return chart;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("Each count that is not 0 has a bar as high as it is large") {
  const Xml xml(svg_of(exponents()));

  CHECK(xml.error() == "");
  const auto bars = xml.with_class("ta-bar");
  REQUIRE(bars.size() == 3);
  const auto height = [&](std::size_t i) { return std::stod(bars[i].attribute("height")); };
  CHECK(height(1) == doctest::Approx(4 * height(0)).epsilon(0.001));
  CHECK(height(2) == doctest::Approx(2 * height(0)).epsilon(0.001));
  CHECK(has(texts_of(xml), "2⁻¹⁸"));
  CHECK(has(texts_of(xml), "magnitude"));
  CHECK(has(texts_of(xml), "values"));
  CHECK(has(texts_of(xml), "400"));
}

TEST_CASE("Each limit has a line between its bins and a label") {
  const Xml xml(svg_of(exponents()));

  const auto limits = xml.with_class("ta-limit");
  REQUIRE(limits.size() == 2);
  CHECK(has(texts_of(xml), "below: subnormal"));
  // Between the first bar and the second, which has an empty bin on its left.
  const auto bars = xml.with_class("ta-bar");
  const double at = std::stod(limits[0].attribute("x1"));
  CHECK(at > std::stod(bars[0].attribute("x")));
  CHECK(at < std::stod(bars[1].attribute("x")));
  // A limit beyond the counts is on the drawing too.
  CHECK(std::stod(limits[1].attribute("x1")) < 440);
}

TEST_CASE("No limit's line runs through the label of another") {
  Histogram chart = exponents();
  chart.limits = {{-18.5, "below: becomes 0"}, {-17.5, "below: subnormal"}, {-16.5, "above: inf"}};

  const Xml xml(svg_of(chart));

  const auto lines = xml.with_class("ta-limit");
  REQUIRE(lines.size() == 3);
  std::size_t labels = 0;
  std::vector<XmlElement> papers;  // what is drawn on lies under what comes later
  for (const XmlElement& element : xml.elements()) {
    if (element.has_class("ta-limit")) papers.clear();
    if (element.has_class("ta-paper")) papers.push_back(element);
    for (const Histogram::Limit& limit : chart.limits) {
      if (element.tag != "text" || element.text != limit.label) continue;
      ++labels;
      REQUIRE(papers.size() == labels);
      const auto number = [&](const char* name) {
        return std::stod(papers.back().attribute(name));
      };
      const double y = std::stod(element.attribute("y"));
      CHECK(number("y") <= y - 10);
      CHECK(number("y") + number("height") >= y + 3);
      CHECK(number("width") == doctest::Approx(torchamp::detail::text_width(limit.label)));
      // Its own line stays free.
      const double at = std::stod(lines[labels - 1].attribute("x1"));
      CHECK((number("x") > at || number("x") + number("width") < at));
    }
  }
  CHECK(labels == 3);
}

TEST_CASE("However narrow a histogram is, it can be drawn") {
  for (const double width : {100.0, 60.0, 0.0}) {
    torchamp::SvgOptions options;
    options.width = width;
    const Xml xml(svg_of(exponents(), options));
    CHECK(xml.error() == "");
    for (const XmlElement& bar : xml.with_class("ta-bar")) {
      CHECK(std::stod(bar.attribute("width")) > 0);
    }
  }
}

TEST_CASE("A count of one among millions is seen") {
  Histogram chart = exponents();
  chart.counts = {1, 1e8};

  const auto bars = Xml(svg_of(chart)).with_class("ta-bar");

  CHECK(std::stod(bars.at(0).attribute("height")) == 1);
}

TEST_CASE("Bins that are no powers are plain numbers") {
  Histogram chart = exponents();
  chart.powers_of_two = false;

  CHECK(has(texts_of(Xml(svg_of(chart))), "-18"));
}

TEST_CASE("A histogram without counts can be drawn") {
  Histogram chart{"a", "a", "a"};
  CHECK(Xml(svg_of(chart)).error() == "");
  chart.counts = {0, 0};
  CHECK(Xml(svg_of(chart)).error() == "");
}

TEST_CASE("A histogram says in words what it shows, whatever its names are") {
  Histogram chart = exponents();
  chart.title = chart.x_label = chart.y_label = chart.limits[0].label = "<script>&\"'";

  const std::string svg = svg_of(chart);

  CHECK(Xml(svg).error() == "");
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(Xml(svg).with_tag("desc").at(0).text.find("Histogram: 700 ") != std::string::npos);
}

TEST_CASE("A histogram that makes no sense is refused, and nothing is written") {
  std::ostringstream out;
  for (const double count : {-1.0, std::numeric_limits<double>::infinity()}) {
    Histogram chart = exponents();
    chart.counts[1] = count;
    CHECK_THROWS_WITH_AS(torchamp::write_svg(chart, out), doctest::Contains("[torchamp.E29]"),
                         std::invalid_argument);
  }
  Histogram chart = exponents();
  chart.limits[0].at = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(torchamp::write_svg(chart, out), std::invalid_argument);

  CHECK(out.str() == "");
}

TEST_CASE("Histograms look as they did, in every locale") {
  const CommaLocale commas;
  check_golden("histogram.svg", svg_of(exponents()));
}
