// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/fused_adamw.h>

#include "support/doctest.h"

#include <type_traits>

// What all fused optimizers share is tested in fused_optimizer_test.cpp.

static_assert(std::is_base_of_v<torch::optim::AdamW, torchamp::FusedAdamW>);

TEST_CASE("FusedAdamW decays weights beside the gradient: 8 * (1 - 0.25 * 0.5) - 0.25") {
  const auto weight = torch::full({1}, 8.0).requires_grad_();
  torchamp::FusedAdamW adam({weight}, torch::optim::AdamWOptions(0.25).weight_decay(0.5));
  weight.mutable_grad() = torch::full({1}, 3.0);

  adam.step();

  CHECK(weight.item<float>() == doctest::Approx(6.75));
}
