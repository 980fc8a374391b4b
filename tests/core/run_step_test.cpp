// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/run_step.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <stdexcept>

TEST_CASE("The cast of a weight is dropped by a step, also by one that throws") {
  const auto weight = torch::ones({2, 2}).requires_grad_();
  const auto input = torch::ones({1, 2}, torch::kBFloat16);
  const auto fail = [] { throw std::runtime_error("step"); };
  const torchamp::AutocastGuard region(torch::kCPU,
                                       torchamp::AutocastOptions().cache_enabled(true));
  at::linear(input, weight);
  CastCounter casts;

  at::linear(input, weight);
  CHECK(casts.more() == 0);
  torchamp::detail::run_step([] {});
  at::linear(input, weight);
  CHECK(casts.more() == 1);
  CHECK_THROWS_AS(torchamp::detail::run_step(fail), std::runtime_error);
  at::linear(input, weight);
  CHECK(casts.more() == 1);
}
