// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// Of a container with tensors and other things, cast_inputs can't make a copy with cast tensors.
// expect: a container with tensors and other things in it

#include <torchamp/core/custom_function.h>

#include <utility>

namespace {

struct Scaled : torchamp::AutocastFunction<Scaled> {
  static constexpr auto cast_inputs = at::kFloat;
#ifdef TORCHAMP_RIGHT_WAY
  static at::Tensor forward(torch::autograd::AutogradContext* /*ctx*/, const at::Tensor& input,
                            double factor) {
    return input * factor;
  }
#else
  static at::Tensor forward(torch::autograd::AutogradContext* /*ctx*/,
                            const std::pair<at::Tensor, double>& input) {
    return input.first * input.second;
  }
#endif
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*ctx*/,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0], {}};
  }
};

}  // namespace

at::Tensor autocast_function_mixed_container(const at::Tensor& input);
at::Tensor autocast_function_mixed_container(const at::Tensor& input) {
#ifdef TORCHAMP_RIGHT_WAY
  return Scaled::apply(input, 2.0);
#else
  return Scaled::apply(std::pair<at::Tensor, double>(input, 2.0));
#endif
}
