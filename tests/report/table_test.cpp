// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/table.h>

#include "support/doctest.h"

#include <iomanip>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

using torchamp::Table;

namespace {

std::string text_of(const Table& table) {
  std::ostringstream out;
  out << table;
  return out.str();
}

}  // namespace

TEST_CASE("Table sets the first column to the left and the others to the right") {
  Table table({"", "FP32", "AMP"});
  table.add_row({"step", "8 ms", "12.3 ms"});
  table.add_row({"images", "100", "7"});

  CHECK(text_of(table) ==
        "        FP32      AMP\n"
        "------  ----  -------\n"
        "step    8 ms  12.3 ms\n"
        "images   100        7\n");
}

TEST_CASE("Table lines up cells with signs of several bytes and ends no line in blanks") {
  Table table({"é", "time", ""});
  table.add_row({"abc", "5 µs", ""});
  table.add_row({"d", "10 µs", ""});

  CHECK(text_of(table) ==
        "é     time\n"
        "---  -----\n"
        "abc   5 µs\n"
        "d    10 µs\n");
}

TEST_CASE("Table looks the same whatever the stream was set to") {
  Table table({"a"});
  table.add_row({"b"});
  std::ostringstream out;

  out << std::setfill('*') << std::left << table;

  CHECK(out.str() == "a\n-\nb\n");
}

TEST_CASE("Table refuses a row of another width and keeps what it had") {
  Table table({"a", "b"});
  table.add_row({"1", "2"});
  const std::string before = text_of(table);

  CHECK_THROWS_WITH_AS(table.add_row({"3"}),
                       doctest::Contains("[torchamp.E14] Table::add_row(): the row has 1 cells, "
                                         "the table 2 columns"),
                       std::invalid_argument);
  CHECK_THROWS_AS(table.add_row({"3", "4", "5"}), std::invalid_argument);

  CHECK(text_of(table) == before);
  CHECK(table.rows() == 1);
}

TEST_CASE("Table refuses a cell with a line break and keeps what it had") {
  Table table({"a"});

  CHECK_THROWS_WITH_AS(table.add_row({"1\n2"}), doctest::Contains("[torchamp.E14]"),
                       std::invalid_argument);
  CHECK_THROWS_AS(Table({"a\r"}), std::invalid_argument);

  CHECK(table.rows() == 0);
}

TEST_CASE("Table refuses to have no column") {
  CHECK_THROWS_WITH_AS(Table({}), doctest::Contains("[torchamp.E14]"), std::invalid_argument);
}

TEST_CASE("Times have three digits and the unit that fits") {
  CHECK(torchamp::format_seconds(0) == "0 s");
  CHECK(torchamp::format_seconds(75) == "75.0 s");
  CHECK(torchamp::format_seconds(1.25) == "1.25 s");
  CHECK(torchamp::format_seconds(0.0123) == "12.3 ms");
  CHECK(torchamp::format_seconds(0.00087) == "870 µs");
  CHECK(torchamp::format_seconds(1.5e-8) == "15.0 ns");
  CHECK(torchamp::format_seconds(-0.0123) == "-12.3 ms");
}

TEST_CASE("A time just below a unit is rounded up into it") {
  CHECK(torchamp::format_seconds(0.9994) == "999 ms");
  CHECK(torchamp::format_seconds(0.9996) == "1.00 s");
  CHECK(torchamp::format_seconds(9.996) == "10.0 s");
}

TEST_CASE("Sizes are in decimal units, small ones exact") {
  CHECK(torchamp::format_bytes(0) == "0 B");
  CHECK(torchamp::format_bytes(999) == "999 B");
  CHECK(torchamp::format_bytes(1000) == "1.00 kB");
  CHECK(torchamp::format_bytes(27300000) == "27.3 MB");
  CHECK(torchamp::format_bytes(141000000000) == "141 GB");
  CHECK(torchamp::format_bytes(2000000000000) == "2.00 TB");
  CHECK(torchamp::format_bytes(-27300000) == "-27.3 MB");
}

TEST_CASE("Counts have a comma every three digits") {
  CHECK(torchamp::format_count(0) == "0");
  CHECK(torchamp::format_count(999) == "999");
  CHECK(torchamp::format_count(60000) == "60,000");
  CHECK(torchamp::format_count(-1234567) == "-1,234,567");
  CHECK(torchamp::format_count((std::numeric_limits<std::int64_t>::min)()) ==
        "-9,223,372,036,854,775,808");
}

TEST_CASE("Ratios and fixed numbers are rounded to what they show") {
  CHECK(torchamp::format_ratio(5.318) == "5.32x");
  CHECK(torchamp::format_ratio(0.0204) == "0.02x");
  CHECK(torchamp::format_ratio(123.4) == "123x");
  CHECK(torchamp::format_fixed(0.42126, 4) == "0.4213");
}
