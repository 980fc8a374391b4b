// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/io/byte_reader.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The records of a file that Python's `torch.save` wrote: a zip file, in which nothing is
/// compressed, with one folder. Reads what is asked for and nothing else, however large the file;
/// believes no number in it before it has been compared with the size of the file.
class ZipFile {
 public:
  /// No record that torchamp asks for, nor the list of all records, is as large as this.
  static constexpr uint64_t largest = uint64_t{64} << 20;

  /// `caller` begins the text of errors.   Throws: [E18] if `path` is no such file.
  ZipFile(const std::string& path, const char* caller);

  /// `name` is without the folder, as "data.pkl".
  bool has(std::string_view name) const { return find(name) != nullptr; }

  /// Throws: [E18] if there is no such record, or it is damaged.
  std::string read(std::string_view name);

  /// The function and the file, for the text of an error.
  const std::string& where() const { return where_; }

 private:
  struct Record {
    std::string name;
    uint32_t crc;
    uint16_t method;
    uint64_t packed_size, size, offset;
  };

  const Record* find(std::string_view name) const;
  void check_is_zip();
  std::pair<uint64_t, uint64_t> find_directory();
  void read_directory(const std::string& directory);
  std::string bytes(uint64_t offset, uint64_t count);
  void check_undamaged(bool condition) const;

  std::string where_;
  std::ifstream file_;
  uint64_t size_ = 0;
  std::vector<Record> records_;
};

/// The checksum of zip files (CRC-32).
inline uint32_t zip_checksum(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  return ~crc;
}

inline ZipFile::ZipFile(const std::string& path, const char* caller)
    : where_(std::string(caller) + "(): \"" + path + "\"") {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  TORCHAMP_CHECK(E18, std::filesystem::exists(status), where_,
                 ": there is no such file; check the path, which is relative to the directory that"
                 " the program was started in");
  TORCHAMP_CHECK(E18, std::filesystem::is_regular_file(status), where_,
                 " is a directory or a device; name the file that torch.save wrote");
  size_ = std::filesystem::file_size(path, error);
  file_.open(path, std::ios::binary);
  TORCHAMP_CHECK(E18, !error && file_.is_open(), where_,
                 ": the file cannot be opened; check who may read it");
  check_is_zip();
  const auto [offset, size] = find_directory();
  check_undamaged(size <= largest);
  read_directory(bytes(offset, size));
}

inline const ZipFile::Record* ZipFile::find(std::string_view name) const {
  for (const auto& record : records_) {
    const auto slash = record.name.find('/');
    if (slash != std::string::npos && std::string_view(record.name).substr(slash + 1) == name) {
      return &record;
    }
  }
  return nullptr;
}

inline std::string ZipFile::read(std::string_view name) {
  const Record* record = find(name);
  TORCHAMP_CHECK(E18, record != nullptr, where_, " has no record ", name,
                 ", so it was not written by torch.save; write it with torch.save(state, file)");
  TORCHAMP_CHECK(E18, record->method == 0 && record->packed_size == record->size, where_,
                 ": the record ", name,
                 " is compressed, which torch.save does not do; write the"
                 " file with torch.save(state, file)");
  TORCHAMP_CHECK(E18, record->size <= largest, where_, ": the record ", name, " has ", record->size,
                 " bytes, too many for a state; save it in a file of its own");
  constexpr std::size_t header_size = 30;
  const std::string header = bytes(record->offset, header_size);
  check_undamaged(header.compare(0, 4, "PK\x03\x04") == 0);
  const uint64_t names = little_endian(header, 26, 2) + little_endian(header, 28, 2);
  std::string content = bytes(record->offset + header_size + names, record->size);
  // 0: torch.serialization.set_crc32_options(False) was said, and there is none.
  check_undamaged(record->crc == 0 || record->crc == zip_checksum(content));
  return content;
}

inline void ZipFile::check_is_zip() {
  TORCHAMP_CHECK(E18, size_ > 0, where_, " is empty; write it again");
  const std::string start = bytes(0, size_ < 4 ? size_ : 4);
  TORCHAMP_CHECK(E18, start[0] != '\x80', where_,
                 " is in the format that torch.save had before PyTorch 1.6, or is a plain pickle;"
                 " load it in Python, and write it with torch.save(state, file)");
  TORCHAMP_CHECK(E18, start == "PK\x03\x04", where_,
                 " is no file of torch.save; write it with torch.save(scaler.state_dict(), file)");
}

/// Where the list of all records begins, and its size in bytes.
inline std::pair<uint64_t, uint64_t> ZipFile::find_directory() {
  constexpr uint64_t end_size = 22, longest_comment = 0xFFFF, locator_size = 20, wide_size = 56;
  const uint64_t tail_size = (std::min)(size_, end_size + longest_comment);
  const std::string tail = bytes(size_ - tail_size, tail_size);
  const auto end = tail.rfind("PK\x05\x06");
  check_undamaged(end != std::string::npos && tail.size() - end >= end_size);
  const uint64_t size = little_endian(tail, end + 12, 4);
  const uint64_t offset = little_endian(tail, end + 16, 4);
  if (size != 0xFFFFFFFF && offset != 0xFFFFFFFF) return {offset, size};

  // The numbers did not fit, and stand with 64 bits in a record of their own.
  check_undamaged(end >= locator_size && tail.compare(end - locator_size, 4, "PK\x06\x07") == 0);
  const std::string wide = bytes(little_endian(tail, end - locator_size + 8, 8), wide_size);
  check_undamaged(wide.compare(0, 4, "PK\x06\x06") == 0);
  return {little_endian(wide, 48, 8), little_endian(wide, 40, 8)};
}

inline void ZipFile::read_directory(const std::string& directory) {
  constexpr std::size_t header_size = 46;
  for (std::size_t at = 0; at < directory.size();) {
    check_undamaged(directory.size() - at >= header_size &&
                    directory.compare(at, 4, "PK\x01\x02") == 0);
    const auto name_size = static_cast<std::size_t>(little_endian(directory, at + 28, 2));
    const auto extra_size = static_cast<std::size_t>(little_endian(directory, at + 30, 2));
    const auto comment_size = static_cast<std::size_t>(little_endian(directory, at + 32, 2));
    const std::size_t record_size = header_size + name_size + extra_size + comment_size;
    check_undamaged(directory.size() - at >= record_size);
    Record record{directory.substr(at + header_size, name_size),
                  static_cast<uint32_t>(little_endian(directory, at + 16, 4)),
                  static_cast<uint16_t>(little_endian(directory, at + 10, 2)),
                  little_endian(directory, at + 20, 4),
                  little_endian(directory, at + 24, 4),
                  little_endian(directory, at + 42, 4)};
    // What did not fit into 32 bits stands in the extra field 1, in this order.
    std::size_t extra = at + header_size + name_size;
    const std::size_t extra_end = extra + extra_size;
    while (extra_end - extra >= 4) {
      const auto field_size = static_cast<std::size_t>(little_endian(directory, extra + 2, 2));
      const bool wide = little_endian(directory, extra, 2) == 1;
      extra += 4;
      check_undamaged(extra_end - extra >= field_size);
      std::size_t number = extra;
      for (uint64_t* value : {&record.size, &record.packed_size, &record.offset}) {
        if (!wide || *value != 0xFFFFFFFF || extra + field_size - number < 8) continue;
        *value = little_endian(directory, number, 8);
        number += 8;
      }
      extra += field_size;
    }
    records_.push_back(std::move(record));
    at += record_size;
  }
}

inline std::string ZipFile::bytes(uint64_t offset, uint64_t count) {
  check_undamaged(offset <= size_ && count <= size_ - offset);
  std::string content(static_cast<std::size_t>(count), '\0');
  file_.seekg(static_cast<std::streamoff>(offset));
  file_.read(content.data(), static_cast<std::streamsize>(count));
  check_undamaged(static_cast<bool>(file_));
  return content;
}

inline void ZipFile::check_undamaged(bool condition) const {
  TORCHAMP_CHECK(E18, condition, where_,
                 " is damaged or was not written to its end; write it"
                 " again");
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
