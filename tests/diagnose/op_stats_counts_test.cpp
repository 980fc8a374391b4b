// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/op_stats_counts.h>

#include "diagnose/op_stats_rows.h"
#include "support/doctest.h"

#include <chrono>

using std::chrono::seconds;
using torchamp::detail::OperatorFacts;
using torchamp::detail::OpStatsCounts;

namespace {

OperatorFacts named(const char* name) {
  OperatorFacts op;
  op.name = name;
  return op;
}

}  // namespace

TEST_CASE("Calls are added up by operator and dtype, overloads in one row") {
  const OperatorFacts add = named("aten::add");
  const OperatorFacts add_number = named("aten::add");
  const OperatorFacts mm = named("aten::mm");
  OpStatsCounts counts;

  counts.row(add, at::kFloat).add(4, seconds(1));
  counts.row(add, at::kFloat).add(4, seconds(2));
  counts.row(add, at::kHalf).add(2, seconds(1));
  counts.row(add_number, at::kFloat).add(8, seconds(4));
  counts.row(mm, at::kFloat).add(100, seconds(1));
  const auto report = counts.report();

  CHECK(rows_of(report) ==
        Rows{{"aten::mm Float", 1, 100}, {"aten::add Float", 3, 16}, {"aten::add Half", 1, 2}});
  CHECK(row_of(report, "aten::add", at::kFloat).seconds == 7);
}

TEST_CASE("Rows with the same bytes are in the order of their names") {
  const OperatorFacts a = named("aten::a");
  const OperatorFacts b = named("aten::b");
  OpStatsCounts counts;
  counts.row(b, at::kFloat).add(4, seconds(1));
  counts.row(a, at::kFloat).add(4, seconds(1));

  CHECK(rows_of(counts.report()) == Rows{{"aten::a Float", 1, 4}, {"aten::b Float", 1, 4}});
}

TEST_CASE("Casts, reuses and times get to the report") {
  OpStatsCounts counts;
  counts.casts_to_lower.add(1, seconds(1));
  counts.casts_to_wider.add(2, seconds(2));
  counts.casts_back.add(3, seconds(3));
  counts.other_casts.add(4, seconds(4));
  counts.cached_casts = 5;
  counts.cached_casts_bytes = 6;
  counts.time = seconds(7);
  counts.lower_time = seconds(8);
  counts.on_accelerator = true;
  const auto report = counts.report();

  CHECK(casts_of(report.casts_to_lower) == Casts{1, 1});
  CHECK(casts_of(report.casts_to_wider) == Casts{1, 2});
  CHECK(casts_of(report.casts_back) == Casts{1, 3});
  CHECK(casts_of(report.other_casts) == Casts{1, 4});
  CHECK(report.other_casts.seconds == 4);
  CHECK(report.cached_casts == 5);
  CHECK(report.cached_casts_bytes == 6);
  CHECK(report.seconds == 7);
  CHECK(report.lower_seconds == 8);
  CHECK(report.on_accelerator);
}
