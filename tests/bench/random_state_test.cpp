// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/random_state.h>

#include "support/doctest.h"

#include <cstddef>
#include <type_traits>
#include <vector>

using torchamp::RandomState;
using torchamp::RandomStateGuard;

static_assert(!std::is_copy_constructible_v<RandomStateGuard>);
static_assert(!std::is_move_constructible_v<RandomStateGuard>);

TEST_CASE("Two streams of random numbers that take turns are those that each would be alone") {
  torch::manual_seed(1);
  torch::manual_seed(1);
  RandomState one(torch::kCPU);
  RandomState other(torch::kCPU);

  std::vector<torch::Tensor> drawn_by_one;
  std::vector<torch::Tensor> drawn_by_other;
  for (std::size_t turn = 0; turn < 4; ++turn) {
    one.restore();
    drawn_by_one.push_back(torch::rand({1}));
    one = RandomState(torch::kCPU);
    other.restore();
    drawn_by_other.push_back(torch::rand({1}));
    other = RandomState(torch::kCPU);
  }

  torch::manual_seed(1);
  for (std::size_t turn = 0; turn < 4; ++turn) {
    const auto expected = torch::rand({1});
    CHECK(torch::equal(drawn_by_one[turn], expected));
    CHECK(torch::equal(drawn_by_other[turn], expected));
  }
}

TEST_CASE("A seed begins the numbers that LibTorch's own seed begins") {
  torch::manual_seed(3);
  const auto expected = torch::rand({3});
  torch::rand({5});

  RandomState::seed(torch::kCPU, 3);

  CHECK(torch::equal(torch::rand({3}), expected));
  RandomState::seed(torch::kCPU, 4);
  CHECK_FALSE(torch::equal(torch::rand({3}), expected));
}

TEST_CASE("A guard of the random state lets the numbers go on as if nothing had been drawn") {
  torch::manual_seed(7);
  const auto expected = torch::rand({3});
  torch::manual_seed(7);
  {
    const RandomStateGuard guard(torch::kCPU);
    torch::manual_seed(1);
    torch::rand({100});
  }

  CHECK(torch::equal(torch::rand({3}), expected));
}
