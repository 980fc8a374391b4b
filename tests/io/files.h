// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/io/zip_file.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

/// A file that Python wrote; see data/make.py.
inline std::string golden(const std::string& name) {
  return (std::filesystem::path(__FILE__).parent_path() / "data" / name).string();
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A file in the directory that the tests run in, gone with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(std::string path, const std::string& content) : path_(std::move(path)) {
    write(content);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const std::string& content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string little_endian_bytes(uint64_t number, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> 8 * i & 0xFF);
  return bytes;
}

/// A zip file with one record, as `torch.save` writes it. With `wide`, its sizes and places stand
/// in the 64-bit records, as they do in files beyond 4 GiB.
inline std::string zipped(const std::string& name, const std::string& content, bool wide = false) {
  const auto number = little_endian_bytes;
  const uint64_t size = content.size();
  const auto checksum = number(torchamp::detail::zip_checksum(content), 4);
  const std::string local = "PK\x03\x04" + std::string(10, '\0') + checksum + number(size, 4) +
                            number(size, 4) + number(name.size(), 2) + number(0, 2) + name;
  const std::string extra =
      wide ? number(1, 2) + number(24, 2) + number(size, 8) + number(size, 8) + number(0, 8) : "";
  const uint64_t shown = wide ? 0xFFFFFFFF : size;
  const std::string directory = "PK\x01\x02" + std::string(12, '\0') + checksum + number(shown, 4) +
                                number(shown, 4) + number(name.size(), 2) +
                                number(extra.size(), 2) + std::string(10, '\0') +
                                number(wide ? 0xFFFFFFFF : 0, 4) + name + extra;
  const uint64_t begin = local.size() + size;
  std::string end;
  if (wide) {
    end = "PK\x06\x06" + number(44, 8) + std::string(12, '\0') + number(1, 8) + number(1, 8) +
          number(directory.size(), 8) + number(begin, 8);
    end += "PK\x06\x07" + number(0, 4) + number(begin + directory.size(), 8) + number(1, 4);
  }
  end += "PK\x05\x06" + std::string(4, '\0') + number(1, 2) + number(1, 2) +
         number(wide ? 0xFFFFFFFF : directory.size(), 4) + number(wide ? 0xFFFFFFFF : begin, 4) +
         number(0, 2);
  return local + content + directory + end;
}
