// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/svg.h>

#include "support/xml.h"

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

/// What `write_svg` writes for a chart.
template <class Chart>
std::string svg_of(const Chart& chart, const torchamp::SvgOptions& options = {}) {
  std::ostringstream out;
  write_svg(chart, out, options);
  return out.str();
}

/// How many points the path of an element goes through.
inline std::size_t points_of(const XmlElement& element) {
  std::size_t points = 0;
  for (const char sign : element.attribute("d")) points += sign == 'M' || sign == 'L' ? 1 : 0;
  return points;
}

/// How many separate lines it has.
inline std::size_t pieces_of(const XmlElement& element) {
  std::size_t pieces = 0;
  for (const char sign : element.attribute("d")) pieces += sign == 'M' ? 1 : 0;
  return pieces;
}

/// The texts of a drawing.
inline std::vector<std::string> texts_of(const Xml& xml) {
  std::vector<std::string> texts;
  for (const XmlElement& text : xml.with_tag("text")) texts.push_back(text.text);
  return texts;
}
