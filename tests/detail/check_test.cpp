// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/check.h>

#include "support/doctest.h"

#include <string>

TEST_CASE("TORCHAMP_CHECK passes a condition that holds") {
  CHECK_NOTHROW([] { TORCHAMP_CHECK(E03, 1 + 1 == 2, "not reached"); }());
}

TEST_CASE("TORCHAMP_CHECK throws a c10::ValueError that begins with the id and streams its parts") {
  std::string text;

  try {
    TORCHAMP_CHECK(E03, 1 + 1 == 3, "sum is ", 2, "; expected ", 3);
  } catch (const c10::ValueError& error) {
    text = error.what_without_backtrace();
  }

  CHECK(text == "[torchamp.E03] sum is 2; expected 3");
}
