// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/utf8.h>

#include <cstddef>
#include <string>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Plain text as it stands in HTML and SVG, between tags and in quoted attributes alike.
///
/// The five signs of markup are escaped. What XML has no place for (bytes that are no UTF-8,
/// control characters, U+FFFE and U+FFFF) becomes U+FFFD.
inline std::string escape_markup(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = code_point_bytes(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F;
    const bool no_character = bytes == 3 && (text.compare(i, 3, "\xEF\xBF\xBE") == 0 ||
                                             text.compare(i, 3, "\xEF\xBF\xBF") == 0);
    if (bytes == 0 || control || no_character) {
      escaped += replacement_character;
    } else if (byte == '&') {
      escaped += "&amp;";
    } else if (byte == '<') {
      escaped += "&lt;";
    } else if (byte == '>') {
      escaped += "&gt;";
    } else if (byte == '"') {
      escaped += "&quot;";
    } else if (byte == '\'') {
      escaped += "&#39;";
    } else {
      escaped.append(text, i, bytes);
    }
    i += bytes == 0 ? 1 : bytes;
  }
  return escaped;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
