// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/compare_options.h>

#include "support/doctest.h"

using torchamp::CompareOptions;

TEST_CASE("The options of a comparison begin with values for a first look") {
  const CompareOptions options;

  CHECK(options.rounds() == 30);
  CHECK(options.warmup() == 3);
  CHECK(options.seed() == 1);
  CHECK(options.confidence() == 0.95);
  CHECK(options.tolerance() == 0.05);
  CHECK(options.items_per_step() == 0);
  CHECK_FALSE(options.prepare());
  CHECK_FALSE(options.progress());
}

TEST_CASE("The options of a comparison are set in a chain") {
  int64_t prepared = -1;
  const auto options = CompareOptions().rounds(5).item_name("images").prepare(
      [&](int64_t round) { prepared = round; });
  options.prepare()(7);

  CHECK(options.rounds() == 5);
  CHECK(options.item_name() == "images");
  CHECK(prepared == 7);
}
