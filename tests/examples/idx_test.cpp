// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/idx.h"

#include "examples/scratch_folder.h"
#include "support/doctest.h"

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

using examples::read_idx;

namespace {

/// 3 labels: 4, 5 and 6.
const std::string labels{0, 0, 8, 1, 0, 0, 0, 3, 4, 5, 6};
/// One image of 2 x 2.
const std::string image{0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 7, 8, 9, 10};

}  // namespace

TEST_CASE("An idx file is read, plain and gzipped alike") {
  const ScratchFolder folder;
  const std::vector<std::uint8_t> expected{4, 5, 6};

  const auto plain = read_idx(folder.write("plain", labels), {});
  const auto gzipped = read_idx(write_gzipped(folder, "gzipped.gz", labels), {});

  CHECK(plain.count == 3);
  CHECK(plain.bytes == expected);
  CHECK(gzipped.bytes == expected);
}

TEST_CASE("An idx file may hold a single image") {
  const ScratchFolder folder;

  const auto file = read_idx(folder.write("one", image), {2, 2});

  CHECK(file.count == 1);
  CHECK(file.bytes == std::vector<std::uint8_t>{7, 8, 9, 10});
}

TEST_CASE("An idx file larger than the pieces it is read in is read whole") {
  const ScratchFolder folder;
  const std::string many = labels.substr(0, 4) + std::string{0, 0x20, 0, 1};  // 2^21 + 1 labels

  const auto file = read_idx(write_gzipped(folder, "many.gz", many + std::string(2097153, 9)), {});

  CHECK(file.bytes.size() == 2097153);
  CHECK(file.bytes.back() == 9);
}

TEST_CASE("A missing file is refused by its name") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.path() / "gone", {}),
                       doctest::Contains("gone: expected a file, found no such file"),
                       std::runtime_error);
  CHECK_THROWS_AS(read_idx(folder.path(), {}), std::runtime_error);
}

TEST_CASE("A file of another kind is refused with both numbers") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.write("labels", labels), {2, 2}),
                       doctest::Contains("labels: expected an idx file that begins with "
                                         "0x00000803, found 0x00000801"),
                       std::runtime_error);
  CHECK_THROWS_AS(read_idx(folder.write("text", "no idx file at all"), {}), std::runtime_error);
}

TEST_CASE("Images of another size are refused with both sizes") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.write("image", image), {2, 28}),
                       doctest::Contains("image: expected items of size 28, found 2"),
                       std::runtime_error);
}

TEST_CASE("A file that ends within its header is refused") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.write("empty", ""), {}),
                       doctest::Contains("empty: expected 4 bytes with the kind of file, "
                                         "found the end of the file"),
                       std::runtime_error);
  CHECK_THROWS_AS(read_idx(folder.write("header", labels.substr(0, 6)), {}), std::runtime_error);
}

TEST_CASE("A file without items is refused") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.write("none", std::string{0, 0, 8, 1, 0, 0, 0, 0}), {}),
                       doctest::Contains("none: expected at least 1 item"), std::runtime_error);
}

TEST_CASE("A truncated file is refused with how much it has") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.write("short", labels.substr(0, 10)), {}),
                       doctest::Contains("short: expected 3 bytes for 3 items, "
                                         "found the end after 2"),
                       std::runtime_error);
}

TEST_CASE("Data after the last item is refused") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_idx(folder.write("long", labels + "x"), {}),
                       doctest::Contains("long: expected the end after 3 items, found more data"),
                       std::runtime_error);
}

TEST_CASE("A header that promises more than there is takes no memory for it") {
  const ScratchFolder folder;
  const std::string hostile = image.substr(0, 4) + std::string{-1, -1, -1, -1} + image.substr(8);

  CHECK_THROWS_WITH_AS(read_idx(folder.write("hostile", hostile), {2, 2}),
                       doctest::Contains("hostile: expected 17179869180 bytes for 4294967295 "
                                         "items, found the end after 4"),
                       std::runtime_error);
}

TEST_CASE("A damaged gzip file is refused, wherever the damage is") {
  const ScratchFolder folder;
  const std::string good = ScratchFolder::read(write_gzipped(folder, "good.gz", labels));
  std::string other_checksum = good;
  other_checksum[good.size() - 8] ^= 1;

  for (const std::string& bad :
       {good.substr(0, good.size() - 3), good.substr(0, good.size() / 2), other_checksum}) {
    CAPTURE(bad.size());
    CHECK_THROWS_WITH_AS(read_idx(folder.write("bad.gz", bad), {}), doctest::Contains("bad.gz: "),
                         std::runtime_error);
  }
}
