// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/report_tables.h>

#include "report/sample_report.h"
#include "support/doctest.h"

#include <string>
#include <vector>

using torchamp::detail::comparison_rows;
using torchamp::detail::metric_rows;
using torchamp::detail::TextRows;
using Row = std::vector<std::string>;

TEST_CASE("The metrics and phases of all variants stand side by side") {
  const TextRows rows = metric_rows(sample_report());

  REQUIRE(rows.size() == 8);
  CHECK(rows[0] == Row{"", "FP32", "TF32", "AMP fp16"});
  CHECK(rows[1] == Row{"step, median", "8.00 ms", "6.00 ms", "4.00 ms"});
  CHECK(rows[4] == Row{"final loss scale", "no scaling", "no scaling", "32,768"});
  CHECK(rows[5] == Row{"forward", "3.00 ms", "2.25 ms", "1.50 ms"});
}

TEST_CASE("A metric that a variant does not have was not measured") {
  CHECK(metric_rows(sample_report()).at(7) ==
        Row{"unscale", "not measured", "not measured", "200 µs"});
}

TEST_CASE("A comparison names both variants and its interval") {
  const TextRows rows = comparison_rows(sample_report());

  REQUIRE(rows.size() == 3);
  CHECK(rows[1] ==
        Row{"time per step, AMP fp16 / FP32", "0.50x", "0.48x to 0.53x (95 %)", "12", "yes"});
  CHECK(rows[2].back() == "no");
}

TEST_CASE("Data tables, metrics and facts become rows of text") {
  const torchamp::Report report = sample_report();

  CHECK(torchamp::detail::text_rows(*report.sections[0].table) ==
        TextRows{{"parameter", "zeros"}, {"fc.weight", "12"}, {"fc.bias", ""}});
  CHECK(torchamp::detail::text_rows(report.sections[0].metrics) ==
        TextRows{{"", "value"}, {"zeros", "12.5 %"}});
  CHECK(torchamp::detail::text_rows(report.environment).at(2) == Row{"device", "cpu, 2 threads"});
}
