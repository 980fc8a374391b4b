// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

/// What an idx file, the format of MNIST and its relatives, holds: `count` items of equal size.
struct IdxFile {
  std::int64_t count;
  std::vector<std::uint8_t> bytes;
};

/// Reads an idx file of unsigned bytes, plain or gzipped, whose items have the sizes `item_sizes`:
/// {28, 28} for images, {} for labels. The count is whatever the header gives, down to 1.
/// Throws: std::runtime_error with the file's name, what was expected and what was found, if it is
/// missing, damaged, of another kind, or not exactly as long as its header says.
IdxFile read_idx(const std::filesystem::path& path, const std::vector<std::uint32_t>& item_sizes);

namespace detail {

/// A file as a stream of bytes; zlib unpacks it on the way if it is gzipped.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path) : path_(path) {
    if (!std::filesystem::is_regular_file(path)) fail("a file", "no such file");
    file_.reset(gzopen(path.string().c_str(), "rb"));
    if (!file_) fail("a file that can be read", "it cannot be opened");
  }

  /// Appends `count` bytes to `bytes`, fewer at the end of the file. Takes memory only as data
  /// comes: the header of a damaged file may promise more than there is memory.
  void read(std::uint64_t count, std::vector<std::uint8_t>& bytes) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20;
    while (count > 0) {
      const auto piece = static_cast<unsigned>((std::min)(count, piece_bytes));
      const std::size_t before = bytes.size();
      bytes.resize(before + piece);
      const int got = gzread(file_.get(), bytes.data() + before, piece);
      bytes.resize(before + static_cast<std::size_t>((std::max)(got, 0)));
      check_stream();
      if (got <= 0) return;
      count -= static_cast<std::uint64_t>(got);
    }
  }

  std::uint32_t read_number(const std::string& meaning) {
    std::vector<std::uint8_t> bytes;
    read(4, bytes);
    if (bytes.size() < 4) fail("4 bytes with " + meaning, "the end of the file");
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
           std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
  }

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    throw std::runtime_error(path_.string() + ": expected " + expected + ", found " + found);
  }

 private:
  void check_stream() const {
    int code = Z_OK;
    const char* text = gzerror(file_.get(), &code);
    if (code != Z_OK && code != Z_STREAM_END) {
      fail("intact data", std::string("damage (zlib: ") + text + ")");
    }
  }

  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

inline std::string hexadecimal(std::uint32_t number) {
  std::ostringstream out;
  out << "0x" << std::hex << std::setw(8) << std::setfill('0') << number;
  return out.str();
}

}  // namespace detail

inline IdxFile read_idx(const std::filesystem::path& path,
                        const std::vector<std::uint32_t>& item_sizes) {
  detail::ByteReader reader(path);

  // The first number says "unsigned bytes" (8) and how many dimensions there are, the count first.
  const auto expected_kind = static_cast<std::uint32_t>(0x801 + item_sizes.size());
  const std::uint32_t kind = reader.read_number("the kind of file");
  if (kind != expected_kind) {
    reader.fail("an idx file that begins with " + detail::hexadecimal(expected_kind),
                detail::hexadecimal(kind));
  }
  const std::uint32_t count = reader.read_number("the number of items");
  if (count == 0) reader.fail("at least 1 item", "a header that says 0");
  std::uint64_t item_bytes = 1;
  for (const std::uint32_t expected_size : item_sizes) {
    const std::uint32_t size = reader.read_number("the size of an item");
    if (size != expected_size) {
      reader.fail("items of size " + std::to_string(expected_size), std::to_string(size));
    }
    item_bytes *= size;
  }

  IdxFile file{count, {}};
  const std::uint64_t data_bytes = count * item_bytes;
  reader.read(data_bytes, file.bytes);
  if (file.bytes.size() < data_bytes) {
    reader.fail(std::to_string(data_bytes) + " bytes for " + std::to_string(count) + " items",
                "the end after " + std::to_string(file.bytes.size()));
  }
  std::vector<std::uint8_t> rest;
  reader.read(1, rest);  // also makes zlib compare its checksum
  if (!rest.empty()) {
    reader.fail("the end after " + std::to_string(count) + " items", "more data");
  }
  return file;
}

}  // namespace examples
