// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// `count` bytes at `offset` as a number, the lowest first; the caller knows that they are there.
inline uint64_t little_endian(std::string_view bytes, std::size_t offset, std::size_t count) {
  uint64_t number = 0;
  for (std::size_t i = count; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return number;
}

/// Takes bytes off the front of a file's content, and never one beyond its end.
class ByteReader {
 public:
  /// `where` begins the text of errors. The bytes must outlive the reader.
  ByteReader(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}

  /// Throws: [E18] with the position, unless `condition` holds.
  void check(bool condition, const char* what) const {
    TORCHAMP_CHECK(E18, condition, where_, " is damaged: byte ", at_, " of its pickle ", what,
                   "; write the file again");
  }

  std::string_view take(uint64_t count) {
    check(count <= bytes_.size() - at_, "reaches beyond the end");
    const auto taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }

  /// A number of at most 8 bytes, the lowest first.
  uint64_t take_number(std::size_t bytes) { return little_endian(take(bytes), 0, bytes); }

  /// Up to the next line feed, which is taken too.
  std::string_view take_line() {
    const auto end = bytes_.find('\n', at_);
    check(end != std::string_view::npos, "begins a line that has no end");
    const auto line = take(end - at_);
    take(1);
    return line;
  }

 private:
  std::string_view bytes_;
  std::string where_;
  std::size_t at_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
