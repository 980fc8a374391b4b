// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/optim/flat_parameters.h>
#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_sgd.h>
#include <torchamp/torchamp.h>

#include "case.h"

#include <torch/torch.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// What a scaler and an optimizer cost: `scaler.step(optimizer); scaler.update();` over any number
// of tensors. python_side.py has the same cases for torch.amp; numbers that matter to the time are
// the same in both.
namespace benchmarks {

// Note [Gradients that stay what they are]
// Each step divides the gradients by the scale, and nothing here makes new ones. With a scale of 1
// the kernel would leave the multiplication out; with a larger one the gradients would soon be
// denormal numbers, which take a hundred times as long. The float next to 1 has neither fault: a
// million steps take 11 % off a gradient.
inline const float scale_next_to_one = std::nextafter(1.0F, 2.0F);

inline torchamp::GradScalerOptions scaler_options() {
  return torchamp::GradScalerOptions().init_scale(scale_next_to_one).growth_interval(2'000'000'000);
}

/// `count` parameters of `elements` elements, with gradients.
inline std::vector<torch::Tensor> make_parameters(std::int64_t count, std::int64_t elements) {
  std::vector<torch::Tensor> parameters;
  for (std::int64_t i = 0; i < count; ++i) {
    parameters.push_back(torch::ones({elements}).requires_grad_());
    parameters.back().mutable_grad() = torch::full({elements}, 0.75F);
  }
  return parameters;
}

/// torchamp: a GradScaler with any optimizer.
template <class Optimizer>
Case scaler_case(std::shared_ptr<Optimizer> optimizer, std::shared_ptr<void> keep_alive = nullptr) {
  auto scaler = std::make_shared<torchamp::GradScaler>(scaler_options());
  const auto loss = torch::ones({});
  static_cast<void>(scaler->scale(loss));
  const auto step = [=] {
    scaler->step(*optimizer);
    scaler->update();
  };
  const auto iteration = [=, keep = std::move(keep_alive)] {
    static_cast<void>(scaler->scale(loss));
    step();
  };
  return {step, iteration};
}

/// What someone writes who has LibTorch alone and reads how Python does it: no check, no option,
/// one device.
template <class Optimizer>
Case by_hand_case(std::shared_ptr<Optimizer> optimizer) {
  auto scale = torch::full({}, scale_next_to_one);
  auto growth_tracker = torch::zeros({}, torch::kInt);
  const auto step = [=]() mutable {
    std::vector<torch::Tensor> gradients;
    for (const auto& group : optimizer->param_groups()) {
      for (const auto& parameter : group.params()) {
        if (parameter.grad().defined()) gradients.push_back(parameter.grad());
      }
    }
    auto found_inf = torch::zeros({});
    at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, scale.reciprocal());
    if (found_inf.template item<float>() == 0) optimizer->step();
    at::_amp_update_scale_(scale, growth_tracker, found_inf, /*scale_growth_factor=*/2.0,
                           /*scale_backoff_factor=*/0.5, /*growth_interval=*/2'000'000'000);
  };
  return {step, nullptr};
}

template <class Stock, class Fused, class Options>
Case optimizer_case(const std::string& name, std::int64_t count, std::int64_t elements,
                    const Options& options) {
  const auto implementation = words_of(name).back();
  const auto parameters = make_parameters(count, elements);
  if (implementation == "raw") return by_hand_case(std::make_shared<Stock>(parameters, options));
  if (implementation == "plain") return scaler_case(std::make_shared<Stock>(parameters, options));
  if (implementation == "fused") return scaler_case(std::make_shared<Fused>(parameters, options));
  if (implementation == "flat") {
    auto flat = std::make_shared<torchamp::FlatParameters>(parameters);
    return scaler_case(std::make_shared<Fused>(flat->parameters(), options), flat);
  }
  no_such_case(name);
}

/// step/OPTIMIZER/TENSORSxELEMENTS/IMPLEMENTATION
inline Case optimizer_case(const std::string& name) {
  const auto words = words_of(name);
  if (words.size() != 4) no_such_case(name);
  const auto& size = words[2];
  const auto count = std::stoll(size);
  const auto elements = std::stoll(size.substr(size.find('x') + 1));
  if (words[1] == "adam") {
    return optimizer_case<torch::optim::Adam, torchamp::FusedAdam>(name, count, elements,
                                                                   torch::optim::AdamOptions(1e-3));
  }
  if (words[1] == "sgd") {
    return optimizer_case<torch::optim::SGD, torchamp::FusedSGD>(
        name, count, elements, torch::optim::SGDOptions(1e-3).momentum(0.9));
  }
  no_such_case(name);
}

}  // namespace benchmarks
