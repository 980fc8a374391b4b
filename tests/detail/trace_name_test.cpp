// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/trace_name.h>

#include "support/doctest.h"

#include <string>

using torchamp::detail::trace_name;

TEST_CASE("A plain name stays as it is") {
  CHECK(trace_name("forward/conv 1 {x}") == "forward/conv 1 {x}");
  CHECK(trace_name("").empty());
}

TEST_CASE("What JSON or Kineto would trip over becomes a mark of its code point") {
  CHECK(trace_name("a\"b") == "a`u0022b");
  CHECK(trace_name("a\\b") == "a`u005cb");
  CHECK(trace_name("\n\t") == "`u000a`u0009");
  CHECK(trace_name("\x7f") == "`u007f");
  CHECK(trace_name(std::string("\0", 1)) == "`u0000");
}

TEST_CASE("The mark itself is marked, so that a name which looks like one stays as it is") {
  CHECK(trace_name("`u0022") == "`u0060u0022");
}

TEST_CASE("Other scripts become UTF-16 units") {
  CHECK(trace_name("\xc3\xa9") == "`u00e9");                  // é
  CHECK(trace_name("\xe2\x82\xac") == "`u20ac");              // €
  CHECK(trace_name("\xf0\x9f\x98\x80x") == "`ud83d`ude00x");  // U+1F600
  CHECK(trace_name("\xf4\x8f\xbf\xbf") == "`udbff`udfff");    // U+10FFFF, the last
}

TEST_CASE("A byte that is no UTF-8 becomes U+FFFD, and what follows is read on") {
  CHECK(trace_name("\xff!") == "`ufffd!");
  CHECK(trace_name("\xc3") == "`ufffd");                            // cut short
  CHECK(trace_name("\xc3!") == "`ufffd!");                          // no continuation
  CHECK(trace_name("\xc0\xa2") == "`ufffd`ufffd");                  // a quote, in two bytes
  CHECK(trace_name("\xe0\x80\xa2") == "`ufffd`ufffd`ufffd");        // and in three
  CHECK(trace_name("\xed\xa0\x80") == "`ufffd`ufffd`ufffd");        // half a surrogate pair
  CHECK(trace_name("\xf4\x90\x80\x80!").substr(0, 6) == "`ufffd");  // beyond the last
}
