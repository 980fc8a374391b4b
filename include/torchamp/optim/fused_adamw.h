// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_optimizer.h>

#include <ATen/ops/_fused_adamw.h>
#include <torch/optim/adamw.h>

#include <tuple>

namespace torchamp {
inline namespace v0 {
namespace detail {

struct FusedAdamWKernel : FusedAdamMoments<torch::optim::AdamW, torch::optim::AdamWOptions,
                                           torch::optim::AdamWParamState> {
  static constexpr FusedOperator fused{"aten::_fused_adamw_", "FusedAdamW", "torch::optim::AdamW"};

  static void run(const Options& options, const FusedLists& lists) {
    const auto& [exp_avgs, exp_avg_sqs, max_exp_avg_sqs] = lists.moments;
    at::_fused_adamw_(lists.params, lists.grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs,
                      lists.steps, options.lr(), std::get<0>(options.betas()),
                      std::get<1>(options.betas()), options.weight_decay(), options.eps(),
                      options.amsgrad(), /*maximize=*/false, lists.grad_scale, lists.found_inf);
  }
};

}  // namespace detail

/// torch::optim::AdamW whose step is one operator; see FusedOptimizer.
///
///     torchamp::FusedAdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-3));
///     …
///     scaler.step(optimizer);  // the host reads nothing
///
/// Source: torch.optim.AdamW(fused=True), whose numbers it has.
using FusedAdamW = FusedOptimizer<detail::FusedAdamWKernel>;

}  // namespace v0
}  // namespace torchamp
