// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <vector>

/// Two layers with 8 + 2 and 4 + 2 numbers, the same each time.
struct TwoLayersImpl : torch::nn::Module {
  TwoLayersImpl() : first(4, 2), second(2, 2) {
    register_module("first", first);
    register_module("second", second);
    const torch::NoGradGuard no_grad;
    for (auto& parameter : parameters()) {
      parameter.copy_(torch::arange(1, parameter.numel() + 1).view_as(parameter) / 8);
    }
  }
  torch::Tensor forward(const torch::Tensor& x) { return second(torch::tanh(first(x))); }

  torch::nn::Linear first, second;
};
TORCH_MODULE(TwoLayers);

/// Input number `i`, as numbers that differ.
inline torch::Tensor input(int i) { return torch::arange(i, i + 4).view({1, 4}) / 4.0; }

/// True if two modules have equal parameters, bit for bit.
inline bool equal(const torch::nn::Module& a, const torch::nn::Module& b) {
  const auto ours = a.parameters(), theirs = b.parameters();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!torch::equal(ours[i], theirs[i])) return false;
  }
  return ours.size() == theirs.size();
}
