// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// U+FFFD, which stands for what is no text.
inline constexpr char replacement_character[] = "\xEF\xBF\xBD";

/// How many bytes the UTF-8 code point at `i` has; 0 if there is none.
inline std::size_t code_point_bytes(const std::string& value, std::size_t i) {
  const auto first = static_cast<unsigned char>(value[i]);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || i + bytes > value.size()) return 0;

  unsigned long code_point = first & (0x7Fu >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) {
    const auto next = static_cast<unsigned char>(value[i + k]);
    if ((next & 0xC0u) != 0x80u) return 0;
    code_point = code_point << 6 | (next & 0x3Fu);
  }
  // Not in more bytes than needed, no half of a UTF-16 pair, none beyond the last one.
  constexpr std::array<unsigned long, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return code_point < least[bytes] || surrogate || code_point > 0x10FFFF ? 0 : bytes;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
