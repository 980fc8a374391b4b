// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/fused_adam.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <type_traits>
#include <vector>

// What all fused optimizers share is tested in fused_optimizer_test.cpp.

static_assert(std::is_base_of_v<torch::optim::Adam, torchamp::FusedAdam>);

TEST_CASE("FusedAdam takes the first step as by hand: lr to where the gradient points") {
  const auto weight = torch::ones({3}).requires_grad_();
  torchamp::FusedAdam adam({weight}, torch::optim::AdamOptions(0.25));
  weight.mutable_grad() = torch::tensor({4.0f, -2.0f, 0.0f});

  adam.step();

  CHECK(torch::allclose(weight, torch::tensor({0.75f, 1.25f, 1.0f})));
}

TEST_CASE("FusedAdam calls LibTorch's fused operator once for large tensors") {
  std::vector<torch::Tensor> weights;
  for (int i = 0; i < 3; ++i) weights.push_back(torch::ones({70000}));
  torchamp::FusedAdam adam(weights);
  for (const auto& weight : weights) weight.mutable_grad() = torch::ones_like(weight);
  OperatorCounter calls("aten::_fused_adam_");

  adam.step();

  CHECK(calls.more() == 1);
}
