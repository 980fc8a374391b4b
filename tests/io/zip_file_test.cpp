// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/zip_file.h>

#include "io/files.h"
#include "support/doctest.h"
#include "support/errors.h"

#include <cstddef>
#include <filesystem>
#include <string>

using torchamp::detail::zip_checksum;
using torchamp::detail::ZipFile;

namespace {

/// What stands in the record "data.pkl" of a file with this content.
std::string record_in(const std::string& content) {
  const TemporaryFile file("zip_file_test.pt", content);
  return ZipFile(file.path(), "read").read("data.pkl");
}

/// The same bytes but for those at `offset` from the first `where`, or from the end of it.
std::string with(std::string bytes, const std::string& where, std::size_t offset,
                 const std::string& other) {
  return bytes.replace(bytes.find(where) + offset, other.size(), other);
}

const char list_entry[] = "PK\x01\x02", end_entry[] = "PK\x05\x06";

}  // namespace

TEST_CASE("A record of a file that Python wrote is read") {
  ZipFile file(golden("scaler.pt"), "read");

  CHECK(file.has("data.pkl"));
  CHECK(file.has(".data/serialization_id"));
  CHECK_FALSE(file.has("scaler/data.pkl"));
  CHECK_FALSE(file.has("constants.pkl"));
  CHECK(file.read("version") == "3\n");
  CHECK(file.read("data.pkl").substr(0, 2) == "\x80\x02");
}

TEST_CASE("A record is read where the file has no checksum, and where its numbers have 64 bits") {
  CHECK(ZipFile(golden("no_checksum.pt"), "read").read("data.pkl").size() > 100);
  CHECK(record_in(zipped("x/data.pkl", "content")) == "content");
  CHECK(record_in(zipped("x/data.pkl", "content", /*wide=*/true)) == "content");
}

TEST_CASE("The checksum is that of zip files") {
  CHECK(zip_checksum("123456789") == 0xCBF43926);
  CHECK(zip_checksum("") == 0);
}

TEST_CASE("A path that is no file is refused with the reason") {
  CHECK_ERROR(E18, ZipFile("no/such/file.pt", "read"));
  CHECK_ERROR_SAYS("read(): \"no/such/file.pt\": there is no such file",
                   ZipFile("no/such/file.pt", "read"));
  CHECK_ERROR_SAYS("is a directory", ZipFile(".", "read"));
}

TEST_CASE("A file that is no zip file is refused with the reason") {
  CHECK_ERROR_SAYS("is empty", record_in(""));
  CHECK_ERROR_SAYS("no file of torch.save", record_in("P"));
  CHECK_ERROR_SAYS("no file of torch.save", record_in("hello, this is text"));
  CHECK_ERROR_SAYS("had before PyTorch 1.6", ZipFile(golden("legacy.pt"), "read"));
}

TEST_CASE("A record that is not there is named") {
  CHECK_ERROR_SAYS("no record data.pkl", record_in(zipped("x/other", "content")));
  CHECK_ERROR_SAYS("no record data.pkl", record_in(zipped("data.pkl", "content")));
}

TEST_CASE("A file that ends too early is refused wherever that is") {
  const TemporaryFile file("zip_file_truncated_test.pt");
  for (const auto& whole : {content_of(golden("scaler.pt")), zipped("x/data.pkl", "text", true)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      file.write(whole.substr(0, size));
      CHECK_ERROR(E18, ZipFile(file.path(), "read").read("data.pkl"));
    }
  }
}

TEST_CASE("A changed byte in a record is noticed") {
  const std::string good = zipped("x/data.pkl", "content");

  CHECK_ERROR_SAYS("is damaged", record_in(with(good, "content", 3, "d")));
}

TEST_CASE("Sizes and places that do not fit the file are refused") {
  const std::string good = zipped("x/data.pkl", "content");
  const std::string huge = "\xFF\xFF\xFF\x7F";
  CHECK_ERROR(E18, record_in(with(good, list_entry, 20, huge + huge)));        // both sizes
  CHECK_ERROR(E18, record_in(with(good, list_entry, 20, "\xFE\xFF\x01")));     // one of them
  CHECK_ERROR(E18, record_in(with(good, list_entry, 42, huge)));               // the place
  CHECK_ERROR(E18, record_in(with(good, list_entry, 28, "\xFF\xFF")));         // the name
  CHECK_ERROR(E18, record_in(with(good, list_entry, 30, "\xFF")));             // the extra field
  CHECK_ERROR(E18, record_in(with(good, end_entry, 12, huge)));                // the list
  CHECK_ERROR(E18, record_in(with(good, end_entry, 16, huge)));                // its place
  CHECK_ERROR(E18, record_in(with(good, end_entry, 12, "\xFF\xFF\xFF\xFF")));  // 64 bits, not there
  CHECK_ERROR(E18, record_in(with(good, "PK\x03\x04", 26, "\xFF\xFF")));       // the second name
  CHECK_ERROR(E18, record_in(with(good, list_entry, 42, "\x01")));             // no record there

  const std::string wide = zipped("x/data.pkl", "content", true);
  const std::string beyond = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF";
  CHECK_ERROR(E18, record_in(with(wide, "PK\x06\x07", 8, beyond)));
  CHECK_ERROR(E18, record_in(with(wide, "PK\x06\x06", 40, beyond)));
  CHECK_ERROR(E18, record_in(with(wide, "PK\x06\x06", 48, beyond)));
  CHECK_ERROR(E18, record_in(with(wide, list_entry, 46 + 10 + 2, "\xFF\xFF")));  // the field's size
  CHECK_ERROR(E18, record_in(with(wide, list_entry, 46 + 10 + 4, beyond)));      // the size in it
  CHECK_ERROR(E18, record_in(with(wide, list_entry, 46 + 10 + 4 + 16, beyond)));  // the place
}

TEST_CASE("A compressed record is refused") {
  CHECK_ERROR_SAYS("compressed",
                   record_in(with(zipped("x/data.pkl", "content"), list_entry, 10, "\x08")));
}

TEST_CASE("A record that is too large for a state is refused unread") {
  const TemporaryFile file("zip_file_large_test.pt", zipped("x/data.pkl", "content"));
  const std::string good = content_of(file.path());
  // A gap of 128 MiB after the record, which most file systems do not store.
  const auto list = good.find(list_entry);
  const uint64_t gap = uint64_t{128} << 20;
  const auto size = little_endian_bytes(gap, 4);
  auto tail = with(good.substr(list), list_entry, 20, size + size);
  tail = with(tail, end_entry, 16, little_endian_bytes(list + gap, 4));
  file.write(good.substr(0, list));
  std::filesystem::resize_file(file.path(), list + gap);
  std::ofstream(file.path(), std::ios::binary | std::ios::app) << tail;

  CHECK_ERROR_SAYS("too many for a state", ZipFile(file.path(), "read").read("data.pkl"));
}
