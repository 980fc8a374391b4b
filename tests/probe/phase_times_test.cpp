// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/phase_times.h>
#include <torchamp/report/statistics.h>

#include "support/doctest.h"

#include <vector>

TEST_CASE("The times of laps are their sum, mean, median, 95th percentile, least and most") {
  torchamp::PhaseTimes times;

  torchamp::detail::set_times(times, {50, 10, 40, 20, 30});

  CHECK(times.count == 5);
  CHECK(times.total_seconds == 150);
  CHECK(times.mean_seconds == 30);
  CHECK(times.median_seconds == 30);
  CHECK(times.p95_seconds == doctest::Approx(48));
  CHECK(times.min_seconds == 10);
  CHECK(times.max_seconds == 50);
}

TEST_CASE("One lap is its own median, and 95th percentile, and mean") {
  torchamp::PhaseTimes times;

  torchamp::detail::set_times(times, {4});

  CHECK(times.mean_seconds == 4);
  CHECK(times.median_seconds == 4);
  CHECK(times.p95_seconds == 4);
}

TEST_CASE("The percentile of probe/ is that of report/") {
  const std::vector<double> sorted{1, 2, 4, 8, 16, 32};

  for (const double percent : {0.0, 5.0, 20.0, 33.3, 50.0, 95.0, 100.0}) {
    CHECK(torchamp::detail::sorted_percentile(sorted, percent) ==
          torchamp::percentile(sorted, percent));
  }
}
