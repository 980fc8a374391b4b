// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/page_style.h>

#include "support/doctest.h"

#include <algorithm>
#include <string>

using torchamp::detail::page_style;

TEST_CASE("The page has colours for light and dark, the dark ones on screens alone") {
  const std::string style = page_style();
  const std::size_t dark = style.find("@media screen and (prefers-color-scheme:dark){");

  REQUIRE(dark != std::string::npos);
  CHECK(style.find("--paper:#ffffff") < dark);
  CHECK(style.find("--paper:#15181e") > dark);
  CHECK(style.find("--paper:#15181e") != std::string::npos);
}

TEST_CASE("The page has rules for narrow screens and for paper") {
  CHECK(page_style().find("@media (max-width:") != std::string::npos);
  CHECK(page_style().find("@media print{") != std::string::npos);
}

TEST_CASE("A long word in the first column of a table is broken, so that the numbers are seen") {
  CHECK(page_style().find("tbody th{font-weight:400;overflow-wrap:anywhere;min-width:6rem}") !=
        std::string::npos);
}

TEST_CASE("The style sheet can stand in a page, and needs nothing from elsewhere") {
  const std::string style = page_style();

  CHECK(style.find_first_of("<&") == std::string::npos);
  CHECK(style.find("@import") == std::string::npos);
  CHECK(style.find("url(") == std::string::npos);
  CHECK(std::count(style.begin(), style.end(), '{') == std::count(style.begin(), style.end(), '}'));
}
