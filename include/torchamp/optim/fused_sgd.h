// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/optim/fused_optimizer.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/rsub.h>
#include <c10/core/ScalarType.h>
#include <torch/optim/sgd.h>

#include <array>
#include <cstdint>
#include <optional>

namespace torchamp {
inline namespace v0 {
namespace detail {

struct FusedSGDKernel
    : FusedKernel<torch::optim::SGD, torch::optim::SGDOptions, torch::optim::SGDParamState> {
  static constexpr FusedOperator fused{"aten::_fused_sgd_", "FusedSGD", "torch::optim::SGD"};

  /// Whoever loads a momentum buffer takes it for one that a step has filled.
  static constexpr bool saves_unfilled = false;

  static bool remembers(const Options& options) { return options.momentum() != 0; }

  /// The first step sets the momentum buffer to the gradient. Without dampening a step from a
  /// buffer of zeros does the same.
  static bool first_step_differs(const Options& options) {
    return options.momentum() != 0 && options.dampening() != 0;
  }
  static std::array<at::Tensor*, 3> moments(State& state, const Options& /*options*/) {
    return {&state.momentum_buffer(), nullptr, nullptr};
  }

  /// The stock state has no number; where there is a buffer, a step was taken.
  static int64_t steps(const State& state) { return state.momentum_buffer().defined() ? 1 : 0; }
  static void set_steps(State& /*state*/, int64_t /*steps*/) {}

  static void run(const Options& options, const FusedLists& lists) {
    if (!first_step_differs(options) || !lists.is_first_step_possible) {
      return run(options, lists, /*is_first_step=*/false, lists.found_inf);
    }
    if (!lists.found_inf) return run(options, lists, /*is_first_step=*/true, {});
    // Only the device knows whether an earlier step was taken. The operator is called for both
    // cases, and does nothing in the one that is not.
    const at::Tensor is_later = lists.steps[0].gt(1).to(at::kFloat);
    const at::Tensor is_first = at::rsub(is_later, 1);
    run(options, lists, /*is_first_step=*/true, at::maximum(*lists.found_inf, is_later));
    run(options, lists, /*is_first_step=*/false, at::maximum(*lists.found_inf, is_first));
  }

 private:
  static void run(const Options& options, const FusedLists& lists, bool is_first_step,
                  const std::optional<at::Tensor>& found_inf) {
    at::_fused_sgd_(lists.params, lists.grads, lists.moments[0], options.weight_decay(),
                    options.momentum(), options.lr(), options.dampening(), options.nesterov(),
                    /*maximize=*/false, is_first_step, lists.grad_scale, found_inf);
  }
};

}  // namespace detail

/// torch::optim::SGD whose step is one operator; see FusedOptimizer.
/// Source: torch.optim.SGD(fused=True), whose numbers it has, also where the very first step is
/// skipped, after which Python's has a momentum buffer that nobody has set.
using FusedSGD = FusedOptimizer<detail::FusedSGDKernel>;

}  // namespace v0
}  // namespace torchamp
