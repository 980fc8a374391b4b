// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

#include <torchamp/optim/copy_lists.h>

#include "support/doctest.h"
#include "support/operators.h"

using torchamp::CopyLists;

TEST_CASE("Copies are sorted by dtypes, and one operator makes all of a kind") {
  const auto one = torch::ones({2}), two = torch::full({3}, 2.0), three = torch::full({1}, 3.0);
  auto half = torch::zeros({2}, torch::kHalf), half2 = torch::zeros({3}, torch::kHalf);
  auto bfloat = torch::zeros({1}, torch::kBFloat16), full = torch::zeros({1});
  CopyLists lists;
  lists.add(half, one);
  lists.add(half2, two);
  CHECK(lists.size() == 1);
  lists.add(bfloat, three);
  CHECK(lists.size() == 2);
  lists.add(full, bfloat);
  OperatorCounter copies("aten::_foreach_copy_");

  lists.copy();

  CHECK(lists.size() == 3);
  CHECK(copies.more() == 3);
  CHECK(half.equal(one.to(torch::kHalf)));
  CHECK(half2.equal(two.to(torch::kHalf)));
  CHECK(bfloat.item<float>() == 3);
  CHECK(full.item<float>() == 3);  // in the order in which they were added
}

TEST_CASE("Copies round to nearest, and write leaves that require gradients") {
  auto leaf = torch::zeros({2}, torch::kHalf).requires_grad_();
  CopyLists lists;
  lists.add(leaf, torch::tensor({1.0f + 0.75f / 1024, 1.0f + 0.25f / 1024}));

  lists.copy();

  CHECK(leaf[0].item<float>() == 1.0f + 1.0f / 1024);
  CHECK(leaf[1].item<float>() == 1.0f);
}

TEST_CASE("Nothing to copy calls nothing") {
  OperatorCounter copies("aten::_foreach_copy_");

  CopyLists().copy();

  CHECK(copies.more() == 0);
}
