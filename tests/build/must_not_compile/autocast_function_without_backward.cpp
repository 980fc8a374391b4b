// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A custom function has a backward.
// expect: write static variable_list backward

#include <torchamp/core/custom_function.h>

namespace {

struct Tripled : torchamp::AutocastFunction<Tripled> {
  static at::Tensor forward(torch::autograd::AutogradContext* /*ctx*/, const at::Tensor& input) {
    return input * 3;
  }
#ifdef TORCHAMP_RIGHT_WAY
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*ctx*/,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * 3};
  }
#endif
};

}  // namespace

at::Tensor autocast_function_without_backward(const at::Tensor& input);
at::Tensor autocast_function_without_backward(const at::Tensor& input) {
  return Tripled::apply(input);
}
