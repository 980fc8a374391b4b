// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/byte_reader.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cstdint>
#include <limits>

using torchamp::detail::ByteReader;
using torchamp::detail::little_endian;

TEST_CASE("Numbers are read with the lowest byte first") {
  CHECK(little_endian("\x01\x02\x03", 0, 2) == 0x0201);
  CHECK(little_endian("\x01\x02\x03", 1, 2) == 0x0302);
  CHECK(little_endian("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 0, 8) == ~uint64_t{0});
}

TEST_CASE("A reader takes bytes, numbers and lines one after the other") {
  ByteReader in("ab\x01\x02line\nrest", "read()");

  CHECK(in.take(2) == "ab");
  CHECK(in.take_number(2) == 0x0201);
  CHECK(in.take_line() == "line");
  CHECK(in.take(4) == "rest");
  CHECK(in.take(0).empty());
}

TEST_CASE("A reader refuses to go beyond the end, however far, and stays where it was") {
  ByteReader in("abc", "read()");
  in.take(1);

  CHECK_ERROR(E18, in.take(3));
  CHECK_ERROR(E18, in.take(std::numeric_limits<uint64_t>::max()));
  CHECK_ERROR(E18, in.take_number(8));
  CHECK_ERROR(E18, in.take_line());

  CHECK(in.take(2) == "bc");
}

TEST_CASE("A complaint names the file and the position") {
  ByteReader in("abc", "read(): \"x.pt\"");
  in.take(2);

  CHECK_NOTHROW(in.check(true, "is right"));
  CHECK_ERROR_SAYS("read(): \"x.pt\" is damaged: byte 2 of its pickle is wrong;",
                   in.check(false, "is wrong"));
}
