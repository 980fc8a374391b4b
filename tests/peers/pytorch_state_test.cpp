// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What PyTorch's tests ask of a GradScaler that is saved and loaded. A pickle there is an archive
// of LibTorch here.
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/diagnose/inject.h>
#include <torchamp/io/archive.h>

#include "support/doctest.h"

#include <sstream>
#include <utility>
#include <vector>

using torchamp::GradScaler;
using torchamp::GradScalerOptions;

namespace {

/// A scaler that has been through a file.
GradScaler saved_and_loaded(const GradScaler& scaler) {
  std::stringstream file;
  torch::save(scaler, file);
  GradScaler loaded(GradScalerOptions().enabled(scaler.is_enabled()));
  torch::load(loaded, file);
  return loaded;
}

}  // namespace

TEST_CASE("A scaler saved before or after its first use, enabled or not, goes on as it was") {
  for (const bool enabled : {true, false}) {
    for (const bool used : {true, false}) {
      CAPTURE(enabled);
      CAPTURE(used);
      GradScaler scaler(GradScalerOptions()
                            .init_scale(3)
                            .growth_factor(4)
                            .backoff_factor(0.5)
                            .growth_interval(2)
                            .enabled(enabled));
      const auto four = torch::full({}, 4.0);
      if (used) CHECK(scaler.scale(four).item<float>() == (enabled ? 12 : 4));

      auto loaded = saved_and_loaded(scaler);

      CHECK(loaded.is_enabled() == enabled);
      CHECK(loaded.growth_tracker() == 0);
      CHECK_FALSE(loaded.scale_tensor().defined());
      if (enabled) {
        CHECK(loaded.get_scale() == 3);
        CHECK(loaded.get_growth_factor() == 4);
        CHECK(loaded.get_backoff_factor() == 0.5);
        CHECK(loaded.get_growth_interval() == 2);
      }
      CHECK(loaded.scale(four).item<float>() == (enabled ? 12 : 4));
    }
  }
}

TEST_CASE(
    "A loaded state replaces scale, factors, interval and count, before and after first use") {
  for (const bool used : {true, false}) {
    CAPTURE(used);
    const GradScaler source(
        GradScalerOptions().init_scale(3).growth_factor(4).backoff_factor(0.5).growth_interval(2));
    GradScaler target(GradScalerOptions().init_scale(6).growth_factor(7).backoff_factor(0.8));
    auto counted = target.state_dict();
    counted.growth_tracker = 7;
    target.load_state_dict(counted);
    if (used) static_cast<void>(target.scale(torch::ones({})));
    CHECK(target.get_scale() == 6);
    CHECK(target.growth_tracker() == 7);

    target.load_state_dict(source.state_dict());

    CHECK(target.get_scale() == 3);
    CHECK(target.get_growth_factor() == 4);
    CHECK(target.get_backoff_factor() == 0.5);
    CHECK(target.get_growth_interval() == 2);
    CHECK(target.growth_tracker() == 0);
  }
}

TEST_CASE("A scaler saved and loaded in every float16 iteration trains bit for bit as one kept") {
  const auto train = [](bool through_files) {
    torch::manual_seed(1);
    torch::nn::Sequential model(torch::nn::Linear(8, 8), torch::nn::Linear(8, 8));
    torch::optim::SGD optimizer(model->parameters(), 1.0);
    GradScaler scaler(GradScalerOptions().init_scale(128).growth_interval(1));
    const torchamp::GradientInjection inf_in_the_third_step(model, "1.weight",
                                                            torchamp::Injection().call(3));
    for (int i = 0; i < 4; ++i) {
      const auto input = torch::randn({8, 8}), target = torch::randn({8, 8});
      optimizer.zero_grad();
      const auto loss =
          torchamp::autocast(torch::kCPU, torchamp::AutocastOptions(torch::kHalf),
                             [&] { return torch::mse_loss(model->forward(input), target); });
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      if (through_files) scaler = saved_and_loaded(scaler);
    }
    CHECK(scaler.get_scale() == 128 * 8 * 0.5);
    return torch::nn::utils::parameters_to_vector(model->parameters());
  };

  CHECK(train(true).equal(train(false)));
}
