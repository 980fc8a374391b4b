// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/optim/fused_optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adagrad.h>
#include <ATen/ops/full_like.h>
#include <torch/optim/adagrad.h>

#include <array>

namespace torchamp {
inline namespace v0 {
namespace detail {

struct FusedAdagradKernel : FusedKernel<torch::optim::Adagrad, torch::optim::AdagradOptions,
                                        torch::optim::AdagradParamState> {
  static constexpr FusedOperator fused{"aten::_fused_adagrad_", "FusedAdagrad",
                                       "torch::optim::Adagrad"};

  static std::array<at::Tensor*, 3> moments(State& state, const Options& /*options*/) {
    return {&state.sum(), nullptr, nullptr};
  }
  static at::Tensor new_moment(const at::Tensor& parameter, const Options& options) {
    return at::full_like(parameter, options.initial_accumulator_value());
  }

  static void run(const Options& options, const FusedLists& lists) {
    at::_fused_adagrad_(lists.params, lists.grads, lists.moments[0], lists.steps, options.lr(),
                        options.lr_decay(), options.weight_decay(), options.eps(),
                        /*maximize=*/false, lists.grad_scale, lists.found_inf);
  }
};

}  // namespace detail

/// torch::optim::Adagrad whose step is one operator; see FusedOptimizer. LibTorch has the operator
/// for the CPU, and from 2.9 on for CUDA.
/// Source: torch.optim.Adagrad(fused=True), whose numbers it has.
using FusedAdagrad = FusedOptimizer<detail::FusedAdagradKernel>;

}  // namespace v0
}  // namespace torchamp
