// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/closure_check.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

TEST_CASE("LBFGS is known through its base and by its own type; others pass") {
  const std::vector<torch::Tensor> parameters{torch::ones({1}).requires_grad_()};
  torch::optim::LBFGS lbfgs(parameters);
  torch::optim::SGD sgd(parameters, 1.0);
  torch::optim::Optimizer& base = lbfgs;

  CHECK_ERROR(E19, torchamp::detail::check_needs_no_closure(lbfgs));
  CHECK_ERROR(E19, torchamp::detail::check_needs_no_closure(base));
  CHECK_NOTHROW(torchamp::detail::check_needs_no_closure(sgd));
}

TEST_CASE("A type that is not polymorphic passes") {
  struct {
  } plain;

  CHECK_NOTHROW(torchamp::detail::check_needs_no_closure(plain));
}

TEST_CASE("A closure is refused while scaling, with a cure, and not otherwise") {
  CHECK_ERROR(E19, torchamp::detail::check_no_closure(/*scaling=*/true));
  CHECK_ERROR_SAYS("then step(optimizer)", torchamp::detail::check_no_closure(/*scaling=*/true));
  CHECK_NOTHROW(torchamp::detail::check_no_closure(/*scaling=*/false));
}
