// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/utf8.h>

#include "support/doctest.h"

#include <string>

using torchamp::detail::code_point_bytes;

TEST_CASE("A code point has as many bytes as UTF-8 says") {
  CHECK(code_point_bytes("a", 0) == 1);
  CHECK(code_point_bytes("µ", 0) == 2);
  CHECK(code_point_bytes("aµ", 1) == 2);
  CHECK(code_point_bytes("学", 0) == 3);
  CHECK(code_point_bytes("🔥", 0) == 4);
}

TEST_CASE("What is no UTF-8 has no code point") {
  for (const char* invalid : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                              "\xE0\x80\x80", "\xE2\x82", "\xE2\x82z", "\xFF"}) {
    CAPTURE(invalid);
    CHECK(code_point_bytes(invalid, 0) == 0);
  }
}
