// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/cast_nodes.h>

#include "support/doctest.h"

using torchamp::detail::CastNodes;

TEST_CASE("A node is known by its thread and its number together") {
  CastNodes nodes;
  CHECK_FALSE(nodes.has(1, 7));
  nodes.add(1, 7);

  CHECK(nodes.has(1, 7));
  CHECK_FALSE(nodes.has(2, 7));
  CHECK_FALSE(nodes.has(1, 8));
}

TEST_CASE("The last ones are remembered, however many came before, and the oldest forgotten") {
  CastNodes nodes(3);
  for (int i = 0; i < 10; ++i) nodes.add(1, i);

  for (int i = 7; i < 10; ++i) CHECK(nodes.has(1, i));
  CHECK_FALSE(nodes.has(1, 0));
  CHECK_FALSE(nodes.has(1, 3));
}
