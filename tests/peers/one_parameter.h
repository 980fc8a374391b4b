// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler.h>

#include "support/doctest.h"

#include <utility>
#include <vector>

/// A scaler and one parameter, whose gradient a test sets as it likes: what tests of a scale's
/// course need of a training.
struct OneParameter {
  explicit OneParameter(const torchamp::GradScalerOptions& options) : scaler(options) {
    static_cast<void>(scaler.scale(parameter.sum()));
  }

  /// One iteration with this gradient, before it is unscaled. Returns the scale after it.
  double train(float gradient) {
    parameter.mutable_grad() = torch::full({1}, gradient);
    scaler.step(optimizer);
    scaler.update();
    return scaler.get_scale();
  }

  /// The scales after one iteration each.
  std::vector<double> scales_after(const std::vector<float>& gradients) {
    std::vector<double> scales;
    for (const float gradient : gradients) scales.push_back(train(gradient));
    return scales;
  }

  torch::Tensor parameter = torch::zeros({1}, torch::requires_grad());
  torch::optim::SGD optimizer{std::vector<torch::Tensor>{parameter}, torch::optim::SGDOptions(1.0)};
  torchamp::GradScaler scaler;
};
