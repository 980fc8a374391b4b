// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/amp_optimizer.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

using torchamp::AmpOptimizer;
using torchamp::detail::HalfGradients;

namespace {

struct Sgd : torch::optim::SGD, AmpOptimizer {
  explicit Sgd(bool masters)
      : SGD(std::vector<torch::Tensor>{torch::ones({1})}, 1.0), masters_(masters) {}
  bool has_master_weights() const override { return masters_; }
  bool masters_;
};

}  // namespace

TEST_CASE("An AmpOptimizer is found through a reference to any of its bases") {
  Sgd sgd(true);
  torch::optim::Optimizer& base = sgd;
  AmpOptimizer* const expected = &sgd;

  CHECK(torchamp::detail::as_amp_optimizer(sgd) == expected);
  CHECK(torchamp::detail::as_amp_optimizer(base) == expected);
}

TEST_CASE("Other optimizers, and types without virtual functions, are none") {
  torch::optim::SGD sgd(std::vector<torch::Tensor>{torch::ones({1})}, 1.0);
  std::vector<torch::Tensor> range;

  CHECK(torchamp::detail::as_amp_optimizer(sgd) == nullptr);
  CHECK(torchamp::detail::as_amp_optimizer(range) == nullptr);
}

TEST_CASE("Half gradients are allowed only to an optimizer that has master weights") {
  Sgd with(true), without(false);
  torch::optim::SGD stock(std::vector<torch::Tensor>{torch::ones({1})}, 1.0);

  CHECK(torchamp::detail::half_gradients_of(with) == HalfGradients::Allowed);
  CHECK(torchamp::detail::half_gradients_of(without) == HalfGradients::Refused);
  CHECK(torchamp::detail::half_gradients_of(stock) == HalfGradients::Refused);
}

TEST_CASE("By default an AmpOptimizer promises nothing") {
  struct : AmpOptimizer {
  } plain;

  CHECK_FALSE(plain.has_master_weights());
  CHECK_FALSE(plain.decides_on_device());
  CHECK_ERROR(E20, plain.step_unless(torch::zeros({})));
}

TEST_CASE("An object has one address through all of its bases") {
  Sgd sgd(true);
  torch::optim::Optimizer& base = sgd;
  AmpOptimizer& amp = sgd;

  CHECK(torchamp::detail::address_of(base) == torchamp::detail::address_of(sgd));
  CHECK(torchamp::detail::address_of(amp) == torchamp::detail::address_of(sgd));
}
