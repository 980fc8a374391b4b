// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/step_count.h>

#include "support/doctest.h"

#include <cstdint>

using torchamp::detail::count_step;
using torchamp::detail::NewStepCounts;
using torchamp::detail::SharedStepCount;

namespace {

int64_t steps(const SharedStepCount& count) { return count->steps.item<int64_t>(); }

}  // namespace

TEST_CASE("Parameters that are met in one step, after equally many steps, share a count") {
  NewStepCounts made;
  const auto a = made.share(torch::kCPU, 0);
  const auto b = made.share(torch::kCPU, 7);
  const auto c = made.share(torch::kCPU, 0);

  CHECK(a == c);
  CHECK(a != b);
  CHECK(a->owners == 2);
  CHECK(steps(a) == 0);
  CHECK(steps(b) == 7);
}

TEST_CASE("The host knows that a step was taken only where it was told so") {
  NewStepCounts made;

  CHECK_FALSE(made.share(torch::kCPU, 0)->is_above_zero);
  CHECK(made.share(torch::kCPU, 1)->is_above_zero);
}

TEST_CASE("A step counts once for all that share a count, and a skipped one not at all") {
  NewStepCounts made;
  auto a = made.share(torch::kCPU, 0);
  auto b = made.share(torch::kCPU, 0);

  count_step({&a, &b}, {});
  count_step({&a, &b}, torch::zeros({}));
  count_step({&a, &b}, torch::ones({}));

  CHECK(a == b);
  CHECK(steps(a) == 2);
}

TEST_CASE("Parameters that leave others behind share a new count, and the others keep theirs") {
  NewStepCounts made;
  auto a = made.share(torch::kCPU, 5);
  auto b = made.share(torch::kCPU, 5);
  auto c = made.share(torch::kCPU, 5);
  count_step({&a, &b}, {});

  CHECK(a == b);
  CHECK(a != c);
  CHECK(steps(a) == 6);
  CHECK(steps(c) == 5);
  CHECK(a->owners == 2);
  CHECK(c->owners == 1);

  count_step({&a, &b, &c}, {});

  CHECK(steps(a) == 7);
  CHECK(steps(c) == 6);
}
