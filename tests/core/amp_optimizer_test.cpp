// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/grad_scaler.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

using torchamp::AmpOptimizer;

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
  const auto half = torch::ones({1}, torch::kHalf);
  half.mutable_grad() = torch::ones({1}, torch::kHalf);
  Sgd with(true), without(false);
  with.param_groups()[0].params() = {half};
  without.param_groups()[0].params() = {half};
  torch::optim::SGD stock(std::vector<torch::Tensor>{half}, 1.0);

  CHECK(torchamp::detail::gradients_to_unscale(with, "test").size() == 1);
  CHECK_ERROR(E09, torchamp::detail::gradients_to_unscale(without, "test"));
  CHECK_ERROR(E09, torchamp::detail::gradients_to_unscale(stock, "test"));
}

TEST_CASE("Parameters to unscale stand in for those of the groups, in unscale_() and in step()") {
  struct Masters : torch::optim::SGD, AmpOptimizer {
    explicit Masters(const torch::Tensor& parameter)
        : SGD(std::vector<torch::Tensor>{parameter}, 1.0) {}
    std::vector<torch::Tensor> parameters_to_unscale() override {
      master.mutable_grad() = param_groups()[0].params()[0].grad().to(torch::kFloat);
      return {master};
    }
    torch::Tensor step(LossClosure /*closure*/ = nullptr) override { return master.grad(); }
    torch::Tensor master = torch::ones({1});
  };
  const auto half = torch::ones({1}, torch::kHalf);
  half.mutable_grad() = torch::full({1}, 8.0, torch::kHalf);
  Masters unscaled(half), stepped(half);
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(4.0));
  (void)scaler.scale(torch::ones({}));

  scaler.unscale_(unscaled);
  scaler.step(stepped);

  CHECK(unscaled.master.grad().item<float>() == 2);
  CHECK(stepped.master.grad().item<float>() == 2);
  CHECK(half.grad().item<float>() == 8);
}

TEST_CASE("By default an AmpOptimizer promises nothing") {
  struct : AmpOptimizer {
  } plain;

  CHECK_FALSE(plain.has_master_weights());
  CHECK_FALSE(plain.decides_on_device());
  CHECK(plain.parameters_to_unscale().empty());
  CHECK_ERROR(E20, plain.step_unless(torch::zeros({}), torch::Tensor()));
}

TEST_CASE("An object has one address through all of its bases") {
  Sgd sgd(true);
  torch::optim::Optimizer& base = sgd;
  AmpOptimizer& amp = sgd;

  CHECK(torchamp::detail::address_of(base) == torchamp::detail::address_of(sgd));
  CHECK(torchamp::detail::address_of(amp) == torchamp::detail::address_of(sgd));
}
