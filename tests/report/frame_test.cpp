// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/frame.h>

#include "support/doctest.h"
#include "support/xml.h"

#include <string>
#include <vector>

using torchamp::detail::Axis;
using torchamp::detail::Frame;
using torchamp::detail::shortened;
using torchamp::detail::spread;
using torchamp::detail::Svg;
using Positions = std::vector<double>;

TEST_CASE("A frame has y upwards") {
  const Frame frame{10, 20, 110, 220};

  CHECK(frame.x(0) == 10);
  CHECK(frame.x(1) == 110);
  CHECK(frame.y(0) == 220);
  CHECK(frame.y(1) == 20);
}

TEST_CASE("Each tick has a label, and the axis says what it shows in which unit") {
  Axis::Options options;
  options.unit = {1e-3, "ms"};
  const Axis axis(0, 0.002, options);  // 0, 0.5, 1.0, 1.5, 2.0
  Svg svg({}, "a");

  torchamp::detail::draw_y_axis(svg, {40, 10, 140, 110}, axis, "time", 8);
  torchamp::detail::draw_x_axis(svg, {40, 10, 140, 110}, axis, "step");

  const Xml xml(svg.finish(150, "", ""));
  CHECK(xml.with_class("ta-grid").size() == 5);
  CHECK(xml.with_class("ta-axis").size() == 6);  // the axis, and a stroke a tick
  const auto texts = xml.with_class("ta-faint");
  REQUIRE(texts.size() == 12);
  CHECK(texts[0].text == "time (ms)");
  CHECK(texts[5].text == "2.0");
  CHECK(texts[5].attribute("y") == "14.5");  // at the top
  CHECK(texts[10].attribute("x") == "140");
  CHECK(texts[11].text == "step (ms)");
}

TEST_CASE("Text without room is shortened by whole signs") {
  CHECK(shortened("forward", 100) == "forward");
  CHECK(shortened("ééééé", torchamp::detail::text_width("ééé")) == "éé…");
  CHECK(shortened("abc", 0) == "…");
}

TEST_CASE("Labels are spread until none covers another") {
  CHECK(spread({10, 50}, 15, 0, 100) == Positions{10, 50});
  CHECK(spread({10, 12, 13}, 15, 0, 100) == Positions{10, 25, 40});
  CHECK(spread({98, 99}, 15, 0, 100) == Positions{85, 100});
  CHECK(spread({-5}, 15, 0, 100) == Positions{0});
  CHECK(spread({}, 15, 0, 100) == Positions{});
}
