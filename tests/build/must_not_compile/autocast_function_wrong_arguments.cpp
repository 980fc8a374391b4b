// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The arguments of apply() are those of forward(), and the complaint is a sentence.
// expect: does not take the arguments given to apply

#include <torchamp/core/custom_function.h>

namespace {

struct Doubled : torchamp::AutocastFunction<Doubled> {
  static at::Tensor forward(torch::autograd::AutogradContext* /*ctx*/, const at::Tensor& input) {
    return input * 2;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* /*ctx*/,
                                                 torch::autograd::variable_list gradients) {
    return {gradients[0] * 2};
  }
};

}  // namespace

at::Tensor autocast_function_wrong_arguments(const at::Tensor& input);
at::Tensor autocast_function_wrong_arguments(const at::Tensor& input) {
#ifdef TORCHAMP_RIGHT_WAY
  return Doubled::apply(input);
#else
  return Doubled::apply(input, 2);
#endif
}
