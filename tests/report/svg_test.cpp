// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/svg.h>

#include "support/doctest.h"
#include "support/xml.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

using torchamp::chart_style;
using torchamp::SvgOptions;
using torchamp::detail::ChartColour;
using torchamp::detail::coordinate;
using torchamp::detail::Svg;

namespace {

/// How bright a colour "#rrggbb" is, from 0 to 1, as WCAG defines it.
double luminance(const std::string& colour) {
  const auto part = [&](std::size_t at) {
    const double value = std::strtol(colour.substr(at, 2).c_str(), nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

double contrast(const std::string& one, const std::string& other) {
  const double a = luminance(one);
  const double b = luminance(other);
  return ((std::max)(a, b) + 0.05) / ((std::min)(a, b) + 0.05);
}

}  // namespace

TEST_CASE("Every colour of the charts can be read as text, light and dark") {
  using torchamp::detail::chart_paper;
  CHECK(contrast("#000000", "#ffffff") == doctest::Approx(21));
  for (const auto mode : {&ChartColour::light, &ChartColour::dark}) {
    for (const ChartColour& colour : torchamp::detail::chart_colours) {
      CAPTURE(colour.*mode);
      CHECK(contrast(colour.*mode, chart_paper.*mode) >= 4.5);
    }
    CHECK(contrast(torchamp::detail::chart_ink.*mode, chart_paper.*mode) >= 7);
    CHECK(contrast(torchamp::detail::chart_faint_ink.*mode, chart_paper.*mode) >= 4.5);
  }
}

TEST_CASE("The style sheet has both modes, the dark one on screens alone") {
  const std::string style = chart_style();
  const std::size_t dark = style.find("@media screen and (prefers-color-scheme:dark){");

  REQUIRE(dark != std::string::npos);
  CHECK(style.find(".ta-line0{stroke:#0067a8}") < dark);
  CHECK(style.find(".ta-line0{stroke:#5cbcf0}") > dark);
  CHECK(style.find('<') == std::string::npos);
  CHECK(style.find('&') == std::string::npos);
}

TEST_CASE("Neighbours differ in more than colour") {
  const std::string style = chart_style();
  std::set<std::string> markers;
  for (std::size_t n = 0; n < 4; ++n) {
    Svg svg({}, "a");
    svg.marker(n, 0, 0);
    markers.insert(Xml(svg.finish(10, "", "")).with_class("ta-marker").at(0).attribute("d"));
  }

  CHECK(markers.size() == 4);
  CHECK(style.find(".ta-line0{stroke-dasharray") == std::string::npos);
  CHECK(style.find(".ta-line1{stroke-dasharray:7 3}") != std::string::npos);
  CHECK(style.find(".ta-line2{stroke-dasharray:2 3}") != std::string::npos);
}

TEST_CASE("A drawing of its own has title, words, style and paper") {
  Svg svg({}, "loss");
  svg.text(1, 2, "<a> & \"b\"", "ta-ink", Svg::Anchor::End);
  const std::string text = svg.finish(100, "loss <of> a", "2 & 3");
  const Xml xml(text);

  CHECK(xml.error() == "");
  const XmlElement& root = xml.elements().at(0);
  CHECK(root.tag == "svg");
  CHECK(root.attribute("xmlns") == "http://www.w3.org/2000/svg");
  CHECK(root.attribute("role") == "img");
  CHECK(root.attribute("aria-labelledby") == "loss-title loss-desc");
  CHECK(root.attribute("viewBox") == "0 -26 440 126");
  CHECK(xml.with_tag("title").at(0).text == "loss &lt;of&gt; a");
  CHECK(xml.with_tag("desc").at(0).text == "2 &amp; 3");
  CHECK(xml.with_class("ta-title").at(0).text == "loss &lt;of&gt; a");
  CHECK(xml.with_class("ta-paper").size() == 1);
  CHECK(xml.with_tag("style").size() == 1);
  CHECK(xml.with_class("ta-ink").at(0).text == "&lt;a&gt; &amp; &quot;b&quot;");
  CHECK(xml.with_class("ta-ink").at(0).attribute("text-anchor") == "end");
}

TEST_CASE("A drawing in a page leaves title, style and paper to the page, and has ids of its own") {
  SvgOptions options;
  options.alone = false;
  options.id_prefix = "section-a-";

  const Xml xml(Svg(options, "loss").finish(100, "loss", "words"));

  CHECK(xml.error() == "");
  CHECK(xml.with_tag("style").empty());
  CHECK(xml.with_class("ta-title").empty());
  CHECK(xml.with_class("ta-paper").empty());
  CHECK(xml.elements().at(0).attribute("viewBox") == "0 0 440 100");
  CHECK(xml.with_tag("title").at(0).attribute("id") == "section-a-loss-title");
  CHECK(xml.with_tag("desc").at(0).text == "words");
}

TEST_CASE("Coordinates have two digits after the point at most") {
  CHECK(coordinate(12) == "12");
  CHECK(coordinate(12.5) == "12.5");
  CHECK(coordinate(1.0 / 3) == "0.33");
  CHECK(coordinate(-0.001) == "0");
  CHECK(coordinate(100) == "100");
}

TEST_CASE("Wide text is reckoned wider, by its signs and not its bytes") {
  CHECK(torchamp::detail::text_width("ab") > torchamp::detail::text_width("a"));
  CHECK(torchamp::detail::text_width("µ") == torchamp::detail::text_width("m"));
  CHECK(torchamp::detail::text_width("") == 0);
}
