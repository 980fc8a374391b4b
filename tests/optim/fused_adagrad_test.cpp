// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/fused_adagrad.h>

#include "support/doctest.h"

#include <type_traits>

// What all fused optimizers share is tested in fused_optimizer_test.cpp.

static_assert(std::is_base_of_v<torch::optim::Adagrad, torchamp::FusedAdagrad>);

TEST_CASE("FusedAdagrad divides by the root of the sum of squares: 1 - 0.5 * 3 / sqrt(16 + 9)") {
  const auto weight = torch::ones({1}).requires_grad_();
  torchamp::FusedAdagrad adagrad({weight},
                                 torch::optim::AdagradOptions(0.5).initial_accumulator_value(16));
  weight.mutable_grad() = torch::full({1}, 3.0);

  adagrad.step();

  CHECK(weight.item<float>() == doctest::Approx(0.7));
}

TEST_CASE("FusedAdagrad steps parameters that were added later, from the initial value") {
  torchamp::FusedAdagrad adagrad({torch::ones({1})},
                                 torch::optim::AdagradOptions(0.5).initial_accumulator_value(16));
  const auto weight = torch::ones({1}).requires_grad_();
  adagrad.add_param_group(torch::optim::OptimizerParamGroup({weight}));
  weight.mutable_grad() = torch::full({1}, 3.0);

  adagrad.step();

  CHECK(weight.item<float>() == doctest::Approx(0.7));
}
