// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What the tests of jmp (mixed precision for JAX) ask of its loss scales. A period there is a
// growth interval here.
#include <torchamp/core/grad_scaler.h>

#include "peers/one_parameter.h"
#include "support/doctest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using torchamp::BasicGradScaler;
using torchamp::ConstantLossScale;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;

namespace {
const float infinity = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("A scaler that does nothing hands back the very loss it was given") {
  GradScaler scaler(GradScalerOptions().enabled(false));
  const auto loss = torch::ones({}, torch::kHalf);

  CHECK(scaler.scale(loss).is_same(loss));
}

TEST_CASE("A constant scale multiplies the loss, divides the gradients and never moves") {
  OneParameter training(GradScalerOptions().init_scale(1));
  BasicGradScaler<ConstantLossScale> scaler(GradScalerOptions().init_scale(256));

  for (const float factor : {1.0F, infinity, 1.0F}) {
    training.optimizer.zero_grad();
    CHECK(scaler.scale(torch::full({}, 3.0)).item<float>() == 768);
    scaler.scale((training.parameter * factor).sum()).backward();
    scaler.step(training.optimizer);
    CHECK(training.parameter.grad().item<float>() == factor);
    scaler.update();
    CHECK(scaler.get_scale() == 256);
  }
}

TEST_CASE("The scale grows at exactly the end of a period, and the count starts at 0 again") {
  for (const auto& [interval, factor] : {std::make_pair(20, 2.0), std::make_pair(30, 3.0)}) {
    CAPTURE(interval);
    OneParameter training(
        GradScalerOptions().init_scale(10).growth_factor(factor).growth_interval(interval));
    for (int period = 1; period <= 3; ++period) {
      for (int step = 1; step < interval; ++step) {
        CHECK(training.train(1) == 10 * std::pow(factor, period - 1));
        CHECK(training.scaler.growth_tracker() == step);
      }
      CHECK(training.train(1) == 10 * std::pow(factor, period));
      CHECK(training.scaler.growth_tracker() == 0);
    }
  }
}

TEST_CASE("A hundred overflows divide by the factor each time, down to the bound that was set") {
  for (const double factor : {2.0, 4.0}) {
    for (const double min_scale : {1.0, 0.3125, 0.25}) {
      CAPTURE(factor);
      CAPTURE(min_scale);
      OneParameter training(GradScalerOptions()
                                .init_scale(32768)
                                .backoff_factor(1 / factor)
                                .min_scale(min_scale)
                                .many_skips(0));
      for (int i = 1; i <= 100; ++i) {
        CHECK(training.train(infinity) == std::max(min_scale, 32768 / std::pow(factor, i)));
        CHECK(training.scaler.growth_tracker() == 0);
      }
    }
  }
}

TEST_CASE("Gradients without a single number are finite") {
  auto parameter = torch::zeros({0}, torch::requires_grad());
  parameter.mutable_grad() = torch::zeros({0});
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(1));
  static_cast<void>(scaler.scale(torch::ones({})));

  CHECK(scaler.step(optimizer).taken());
  scaler.update();

  CHECK(scaler.get_scale() == 8);
}
