// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/fused_check.h>

#include "support/doctest.h"
#include "support/errors.h"

using torchamp::detail::FusedOperator;
using torchamp::detail::has_kernel;
using torchamp::detail::is_laid_out_as;

namespace {

void check(const torch::Tensor& parameter) {
  const FusedOperator adam{"aten::_fused_adam_", "FusedAdam", "torch::optim::Adam"};
  torchamp::detail::check_can_be_fused(parameter, adam, [] { return "parameter 3"; });
}

torch::Tensor with_gradient(const torch::Tensor& parameter) {
  parameter.mutable_grad() = torch::ones_like(parameter);
  return parameter;
}

}  // namespace

TEST_CASE("Tensors are laid out alike if their elements stand at the same places") {
  const auto matrix = torch::ones({2, 3});

  CHECK(is_laid_out_as(torch::zeros({2, 3}), matrix));
  CHECK_FALSE(is_laid_out_as(torch::zeros({3, 2}).t(), matrix));
  CHECK_FALSE(is_laid_out_as(torch::zeros({3, 2}), matrix));
  CHECK_FALSE(is_laid_out_as(torch::zeros({2, 3}, torch::kDouble), matrix));
  CHECK_FALSE(is_laid_out_as(torch::zeros({2, 3}).to_sparse(), matrix));
  CHECK_FALSE(is_laid_out_as(torch::Tensor(), matrix));
}

TEST_CASE("Strides of dimensions of size 1 do not matter") {
  CHECK(is_laid_out_as(torch::ones({3, 1}), torch::ones({1, 3}).t()));
}

TEST_CASE("Whether there is a kernel is asked of the dispatcher") {
  CHECK(has_kernel("aten::_fused_adam_", torch::ones({1})));
  CHECK_FALSE(has_kernel("aten::_fused_adam_", torch::ones({1}, torch::kMeta)));
  CHECK_FALSE(has_kernel("aten::no_such_operator_", torch::ones({1})));
}

TEST_CASE("Dense parameters of every floating-point dtype can be stepped") {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
    CHECK_NOTHROW(check(with_gradient(torch::ones({2, 3}, dtype))));
  }
  CHECK_NOTHROW(check(with_gradient(torch::ones({2, 3}).t())));
}

TEST_CASE("What cannot be stepped is named, with what to use instead") {
  auto sparse = torch::ones({2, 3});
  sparse.mutable_grad() = torch::ones({2, 3}).to_sparse();

  CHECK_ERROR(E26, check(with_gradient(torch::ones({1}, torch::kComplexFloat))));
  CHECK_ERROR_SAYS("torch::optim::Adam",
                   check(with_gradient(torch::ones({1}, torch::kComplexFloat))));
  CHECK_ERROR(E26, check(sparse));
  CHECK_ERROR_SAYS("parameter 3", check(sparse));
  CHECK_ERROR(E26, check(with_gradient(torch::ones({2, 3}).slice(1, 0, 2))));
  CHECK_ERROR_SAYS("gaps", check(with_gradient(torch::ones({2, 3}).slice(1, 0, 2))));
  CHECK_ERROR(E26, check(with_gradient(torch::ones({1}, torch::kMeta))));
  CHECK_ERROR_SAYS("_fused_adam_", check(with_gradient(torch::ones({1}, torch::kMeta))));
}
