// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Writes a dict of numbers as a pickle of protocol 2, in the few operations that Python's
/// `torch.load(file, weights_only=True)` takes from anyone.
class PickleWriter {
 public:
  PickleWriter() : bytes_("\x80\x02}(") {}

  void add(const char* key, int64_t number);
  void add(const char* key, double number);
  void add(const char* key, bool value) {
    add_text(key);
    bytes_ += value ? '\x88' : '\x89';
  }

  /// Between these two, entries go to a dict that is the entry `key`.
  void begin_dict(const char* key) {
    add_text(key);
    bytes_ += "}(";
  }
  void end_dict() { bytes_ += 'u'; }

  /// All that was added. Nothing can be added after it.
  std::string finish() {
    bytes_ += "u.";
    return std::move(bytes_);
  }

 private:
  void add_text(const std::string& text) {
    bytes_ += 'X';
    add_little_endian(text.size(), 4);
    bytes_ += text;
  }
  void add_little_endian(uint64_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(number >> 8 * i & 0xFF);
  }

  std::string bytes_;
};

inline void PickleWriter::add(const char* key, int64_t number) {
  add_text(key);
  if (number == static_cast<int32_t>(number)) {
    bytes_ += 'J';
    add_little_endian(static_cast<uint64_t>(number), 4);
  } else {
    bytes_ += "\x8A\x08";
    add_little_endian(static_cast<uint64_t>(number), 8);
  }
}

inline void PickleWriter::add(const char* key, double number) {
  add_text(key);
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  bytes_ += 'G';
  for (int i = 7; i >= 0; --i) bytes_ += static_cast<char>(bits >> 8 * i & 0xFF);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
