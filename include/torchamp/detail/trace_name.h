// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace torchamp {
inline namespace v0 {
namespace detail {

// Note [Names in traces]
// Kineto writes names of ranges into JSON, each release in another way: some leave quotes and
// backslashes as they are, which breaks the file, newer ones write other characters in their place
// and "unknown" for a name that is not ASCII. So a name is handed over in ASCII: what is not safe
// becomes `u and four hexadecimal digits, as \u in JSON but for the first byte. When the trace is
// written, trace_file.h sets that byte right.
inline constexpr char trace_name_mark = '`';

/// The UTF-8 code point at `i`, which is moved behind it; U+FFFD and one byte for what is none.
inline std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const std::size_t begin = i++;
  const std::uint32_t first = byte(begin);
  if (first < 0x80) return first;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || begin + length > text.size()) return 0xFFFD;
  std::uint32_t code = first & (0x7Fu >> length);
  for (std::size_t at = begin + 1; at < begin + length; ++at) {
    if ((byte(at) & 0xC0u) != 0x80u) return 0xFFFD;
    code = code << 6 | (byte(at) & 0x3Fu);
  }
  const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0xFFFD;
  i = begin + length;
  return code;
}

/// `name` in safe ASCII; see Note [Names in traces].
inline std::string trace_name(std::string_view name) {
  std::string safe;
  const auto append = [&](std::uint32_t unit) {
    safe += trace_name_mark;
    safe += 'u';
    for (int shift = 12; shift >= 0; shift -= 4) safe += "0123456789abcdef"[unit >> shift & 0xFu];
  };
  for (std::size_t i = 0; i < name.size();) {
    const std::uint32_t code = next_code_point(name, i);
    const bool plain = code >= 0x20 && code < 0x7F && code != '"' && code != '\\' &&
                       code != static_cast<std::uint32_t>(trace_name_mark);
    if (plain) {
      safe += static_cast<char>(code);
    } else if (code < 0x10000) {
      append(code);
    } else {  // JSON has UTF-16, so two units
      append(0xD800 + ((code - 0x10000) >> 10));
      append(0xDC00 + ((code - 0x10000) & 0x3FFu));
    }
  }
  return safe;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
