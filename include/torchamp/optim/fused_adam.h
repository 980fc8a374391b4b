// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/optim/fused_optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adam.h>
#include <torch/optim/adam.h>

#include <array>
#include <tuple>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What Adam and AdamW remember of a parameter.
template <class StockOptimizer, class StockOptions, class StockState>
struct FusedAdamMoments : FusedKernel<StockOptimizer, StockOptions, StockState> {
  static std::array<at::Tensor*, 3> moments(StockState& state, const StockOptions& options) {
    return {&state.exp_avg(), &state.exp_avg_sq(),
            options.amsgrad() ? &state.max_exp_avg_sq() : nullptr};
  }
};

struct FusedAdamKernel : FusedAdamMoments<torch::optim::Adam, torch::optim::AdamOptions,
                                          torch::optim::AdamParamState> {
  static constexpr FusedOperator fused{"aten::_fused_adam_", "FusedAdam", "torch::optim::Adam"};

  static void run(const Options& options, const FusedLists& lists) {
    const auto& [exp_avgs, exp_avg_sqs, max_exp_avg_sqs] = lists.moments;
    at::_fused_adam_(lists.params, lists.grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, lists.steps,
                     options.lr(), std::get<0>(options.betas()), std::get<1>(options.betas()),
                     options.weight_decay(), options.eps(), options.amsgrad(), /*maximize=*/false,
                     lists.grad_scale, lists.found_inf);
  }
};

}  // namespace detail

/// torch::optim::Adam whose step is one operator; see FusedOptimizer.
///
///     torchamp::FusedAdam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
///     …
///     scaler.step(optimizer);  // the host reads nothing
///
/// Source: torch.optim.Adam(fused=True), whose numbers it has.
using FusedAdam = FusedOptimizer<detail::FusedAdamKernel>;

}  // namespace v0
}  // namespace torchamp
