// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/series.h>

#include "support/doctest.h"

#include <cstddef>
#include <vector>

using torchamp::Series;

TEST_CASE("A series has an x and a y for each point") {
  Series loss{"loss", "loss"};

  loss.push_back(0, 2.5);
  loss.push_back(1, 1.5);

  CHECK(loss.size() == 2);
  CHECK(loss.x == std::vector<double>{0, 1});
  CHECK(loss.y == std::vector<double>{2.5, 1.5});
}

TEST_CASE("A series marks the point that was added last, once") {
  Series scale{"scale", "loss scale"};

  scale.mark_last();  // there is none
  CHECK(scale.marks.empty());

  scale.push_back(0, 65536);
  scale.push_back(1, 32768);
  scale.mark_last();
  scale.mark_last();
  scale.push_back(2, 32768);
  CHECK(scale.marks == std::vector<std::size_t>{1});
}
