// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What flashlight's tests ask of its scaler, PyTorch's distributed tests of the sharded one, and
// PyTorch's tests of the lazy backend of the two operators.
#include <torchamp/core/grad_scaler.h>
#include <torchamp/io/archive.h>

#include "peers/one_parameter.h"
#include "support/doctest.h"

#include <limits>
#include <sstream>
#include <utility>
#include <vector>

using torchamp::GradScaler;
using torchamp::GradScalerOptions;

namespace {
const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();
}  // namespace

// --- flashlight --------------------------------------------------------------------------------

TEST_CASE("A loss that is scaled, and whose gradients are unscaled, gives the gradients it had") {
  auto plain = torch::tensor({1.5F, -2.0F, 3.0F}, torch::requires_grad());
  auto scaled = plain.detach().clone().requires_grad_();
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{scaled}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(4096));

  plain.square().sum().backward();
  scaler.scale(scaled.square().sum()).backward();
  CHECK(scaled.grad().equal(plain.grad() * 4096));
  scaler.unscale_(optimizer);

  CHECK(scaled.grad().equal(plain.grad()));
}

TEST_CASE(
    "A scaler read from a file has the scale of the one written, and its interval and count") {
  GradScaler scaler(GradScalerOptions().init_scale(32).growth_interval(100)), loaded;
  auto state = scaler.state_dict();
  state.growth_tracker = 5;
  scaler.load_state_dict(state);
  std::stringstream file;
  torch::save(scaler, file);

  torch::load(loaded, file);

  CHECK(loaded.get_scale() == 32);
  CHECK(loaded.get_growth_interval() == 100);
  CHECK(loaded.growth_tracker() == 5);
}

// --- PyTorch, distributed: what holds for one process ------------------------------------------

TEST_CASE("Losses in pairs of vectors are scaled on a CPU, and come back as they were nested") {
  GradScaler scaler(GradScalerOptions().init_scale(2));
  const auto four = torch::full({1}, 4.0);

  const auto scaled = scaler.scale(
      std::make_pair(std::vector<torch::Tensor>{four, four}, std::make_pair(four, four)));

  REQUIRE(scaled.first.size() == 2);
  CHECK(scaled.first[0].item<float>() == 8);
  CHECK(scaled.first[1].item<float>() == 8);
  CHECK(scaled.second.first.item<float>() == 8);
  CHECK(scaled.second.second.item<float>() == 8);
}

TEST_CASE("A step with an inf gradient is not taken and says so") {
  OneParameter training(GradScalerOptions().init_scale(4));
  training.parameter.mutable_grad() = torch::full({1}, infinity);

  CHECK(training.scaler.step(training.optimizer).skipped());

  CHECK(training.parameter.item<float>() == 0);
}

// --- PyTorch, lazy backend ---------------------------------------------------------------------

TEST_CASE("With an inverse scale of a fifth, gradients are divided by five, and a NaN is noted") {
  auto parameter = torch::zeros({4}, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  for (const bool with_nan : {false, true}) {
    CAPTURE(with_nan);
    GradScaler scaler(GradScalerOptions().init_scale(5));
    static_cast<void>(scaler.scale(torch::ones({})));
    parameter.mutable_grad() = torch::tensor({1.0F, 2.0F, with_nan ? not_a_number : 3.0F, 4.0F});

    const auto result = scaler.step(optimizer);

    CHECK(result.found_inf().item<float>() == (with_nan ? 1 : 0));
    for (const int64_t place : {0, 1, 3}) {
      CHECK(parameter.grad()[place].item<float>() ==
            doctest::Approx(static_cast<double>(place + 1) * 0.2));
    }
  }
}

TEST_CASE("From 4 the scale doubles at the third good step, and an inf halves it") {
  OneParameter training(GradScalerOptions().init_scale(4).growth_interval(3));

  CHECK(training.scales_after({1, 1, 1}) == std::vector<double>{4, 4, 8});
  CHECK(training.scaler.growth_tracker() == 0);
  CHECK(training.scales_after({1, infinity}) == std::vector<double>{8, 4});
  CHECK(training.scaler.growth_tracker() == 0);
}
