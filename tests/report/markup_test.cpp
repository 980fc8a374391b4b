// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/markup.h>

#include "support/doctest.h"

#include <string>

using torchamp::detail::escape_markup;

TEST_CASE("Text can open no tag and end no attribute") {
  CHECK(escape_markup("<script>&\"'") == "&lt;script&gt;&amp;&quot;&#39;");
  CHECK(escape_markup("&amp;") == "&amp;amp;");
}

TEST_CASE("Other text stays as it is") {
  CHECK(escape_markup("µ — 学 🔥\n\t1/2") == "µ — 学 🔥\n\t1/2");
  CHECK(escape_markup("") == "");
}

TEST_CASE("What XML has no place for is replaced") {
  const std::string replacement = "\xEF\xBF\xBD";

  CHECK(escape_markup("a\xFFz") == "a" + replacement + "z");
  CHECK(escape_markup(std::string("a\0z", 3)) == "a" + replacement + "z");
  CHECK(escape_markup("\x1B[31m") == replacement + "[31m");
  CHECK(escape_markup("\r\x7F") == replacement + replacement);
  CHECK(escape_markup("\xEF\xBF\xBF") == replacement);
  CHECK(escape_markup("\xEF\xBF\xBE") == replacement);
}
