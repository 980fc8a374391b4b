// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/report_text.h>

#include "report/sample_report.h"
#include "support/comma_locale.h"
#include "support/doctest.h"
#include "support/golden.h"

#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>

using torchamp::Report;
using torchamp::wrap_text;

namespace {

std::string text_of(const Report& report) {
  std::ostringstream out;
  torchamp::write_text(report, out);
  return out.str();
}

}  // namespace

TEST_CASE("A report as text looks as it did, in every locale") {
  check_golden("report.txt", text_of(sample_report()));
  const CommaLocale commas;
  check_golden("report.txt", text_of(sample_report()));
}

TEST_CASE("A report as text looks the same whatever the stream was set to") {
  std::ostringstream out;
  out << std::setfill('*') << std::hex << std::left << std::setprecision(1);

  torchamp::write_text(sample_report(), out);

  CHECK(out.str() == text_of(sample_report()));
}

TEST_CASE("An empty report is its title") { CHECK(text_of(Report{}) == "FP32 against AMP\n"); }

TEST_CASE("Labels with line breaks do not break a table") {
  Report report = sample_report();
  report.variants[0].metrics[0].label = "step,\nmedian";

  CHECK(text_of(report).find("step, median") != std::string::npos);
}

TEST_CASE("Nothing in a report commands the terminal") {
  const std::string red = "a\x1B[31mb\x7F";
  Report report = sample_report();
  report.title = report.verdict[0] = report.variants[0].label = red;
  report.variants[0].metrics[0].label = report.environment[0].value = red;
  report.sections[0].title = red;

  const std::string text = text_of(report);

  CHECK(text.find('\x1B') == std::string::npos);
  CHECK(text.find('\x7F') == std::string::npos);
  CHECK(text.find("a [31mb") != std::string::npos);
}

TEST_CASE("Lines are broken at blanks, and a list is indented") {
  CHECK(wrap_text("") == "\n");
  CHECK(wrap_text("one two three", 7) == "one two\nthree\n");
  CHECK(wrap_text("one two three", 8) == "one two\nthree\n");
  CHECK(wrap_text("- one two", 5, 2) == "- one\n  two\n");
  CHECK(wrap_text("a verylongword b", 5) == "a\nverylongword\nb\n");
  CHECK(wrap_text("éé éé", 5) == "éé éé\n");
  CHECK(wrap_text("  a \n b ") == "a b\n");
}

TEST_CASE("A report that makes no sense is not written as text") {
  Report report = sample_report();
  report.variants[1].id = "";
  std::ostringstream out;

  CHECK_THROWS_WITH_AS(torchamp::write_text(report, out), doctest::Contains("[torchamp.E29]"),
                       std::invalid_argument);

  CHECK(out.str() == "");
}
