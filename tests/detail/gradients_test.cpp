// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/gradients.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

using torchamp::detail::Gradients;

namespace {

torch::Tensor parameter_with(const torch::Tensor& gradient) {
  auto parameter = torch::zeros_like(gradient).requires_grad_();
  parameter.mutable_grad() = gradient;
  return parameter;
}

torch::optim::SGD sgd(std::vector<torch::Tensor> parameters) {
  return torch::optim::SGD(std::move(parameters), /*lr=*/1.0);
}

}  // namespace

TEST_CASE("Gradients are grouped by dtype, and parameters without one are passed over") {
  auto without = torch::zeros({2}).requires_grad_();
  auto optimizer =
      sgd({parameter_with(torch::ones({2})), without,
           parameter_with(torch::ones({3}, torch::kDouble)), parameter_with(torch::ones({4}))});

  const auto gradients = Gradients::of(optimizer, "test()");

  CHECK(gradients.size() == 3);
  REQUIRE(gradients.groups().size() == 2);
  CHECK(gradients.groups()[0].dtype == torch::kFloat);
  CHECK(gradients.groups()[0].values.size() == 2);
  CHECK(gradients.groups()[1].dtype == torch::kDouble);
  CHECK(gradients.groups()[1].values.size() == 1);
}

TEST_CASE("Every parameter group is walked") {
  auto optimizer = sgd({parameter_with(torch::ones({2}))});
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({parameter_with(torch::ones({3}))}));

  CHECK(Gradients::of(optimizer, "test()").size() == 2);
}

TEST_CASE("A gradient that two parameters share is visited once") {
  const auto shared = torch::ones({2});
  auto optimizer = sgd({parameter_with(shared), parameter_with(shared)});

  const auto gradients = Gradients::of(optimizer, "test()");

  REQUIRE(gradients.groups().size() == 1);
  CHECK(gradients.groups()[0].values.size() == 1);
}

TEST_CASE("An optimizer without gradients has none") {
  auto optimizer = sgd({torch::zeros({2}).requires_grad_()});

  CHECK(Gradients::of(optimizer, "test()").empty());
}

TEST_CASE("An empty gradient counts as a gradient but brings no values") {
  auto optimizer = sgd({parameter_with(torch::ones({0}))});

  const auto gradients = Gradients::of(optimizer, "test()");

  CHECK_FALSE(gradients.empty());
  CHECK(gradients.groups().empty());
}

TEST_CASE("The values of dense, sparse and complex gradients share memory with them") {
  const auto indices = torch::tensor({{0, 2}});
  const auto sparse = torch::sparse_coo_tensor(indices, torch::ones({2}), {3});
  const auto complex = torch::ones({2}, torch::kComplexFloat);
  for (const auto& gradient :
       {torch::ones({2}), sparse, complex, complex.clone().conj(), torch::eye(2).to_sparse_csr()}) {
    CAPTURE(gradient.toString());

    auto values = torchamp::detail::reachable_values(gradient);
    values.mul_(4);

    CHECK_FALSE(values.is_complex());
    CHECK(values.layout() == torch::kStrided);
    CHECK(torch::real(gradient.to_dense()).max().item<float>() == 4);
  }
}

TEST_CASE("A float16 gradient is refused by name, with the caller's") {
  auto optimizer =
      sgd({parameter_with(torch::ones({2})), parameter_with(torch::ones({2}, torch::kHalf))});

  CHECK_ERROR(E09, Gradients::of(optimizer, "unscale_()"));
  CHECK_ERROR_SAYS("unscale_(): parameter 1 of group 0", Gradients::of(optimizer, "unscale_()"));
}

TEST_CASE("A gradient in a layout that cannot be reached is refused") {
  const auto mkldnn = torch::ones({2, 2}).to_mkldnn();
  auto parameter = torch::zeros({2, 2}).requires_grad_();
  parameter.unsafeGetTensorImpl()->mutable_grad() = mkldnn;
  auto optimizer = sgd({parameter});

  CHECK_ERROR(E10, Gradients::of(optimizer, "test()"));
}
