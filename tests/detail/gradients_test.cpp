// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/gradients.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <map>
#include <string>
#include <vector>

using torchamp::detail::Gradients;
using torchamp::detail::HalfGradients;

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

  const auto gradients = Gradients::of(optimizer, HalfGradients::Refused, "test()");

  CHECK(gradients.size() == 3);
  REQUIRE(gradients.groups().size() == 2);
  CHECK(gradients.groups()[0].dtype == torch::kFloat);
  CHECK(gradients.groups()[0].values.size() == 2);
  CHECK(gradients.groups()[1].dtype == torch::kDouble);
  CHECK(gradients.groups()[1].values.size() == 1);
}

TEST_CASE("Complex gradients are pairs of real numbers in a group of their own") {
  auto optimizer = sgd(
      {parameter_with(torch::ones({2})), parameter_with(torch::ones({3}, torch::kComplexFloat))});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Refused, "test()");

  REQUIRE(gradients.groups().size() == 2);
  CHECK(gradients.groups()[1].dtype == torch::kComplexFloat);
  CHECK(gradients.groups()[1].values[0].scalar_type() == torch::kFloat);
  CHECK(gradients.groups()[1].values[0].sizes() == torch::IntArrayRef({3, 2}));
}

TEST_CASE("Every parameter group is walked") {
  auto optimizer = sgd({parameter_with(torch::ones({2}))});
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({parameter_with(torch::ones({3}))}));

  CHECK(Gradients::of(optimizer, HalfGradients::Refused, "test()").size() == 2);
}

TEST_CASE("A gradient that two parameters share is visited once") {
  const auto shared = torch::ones({2});
  auto optimizer = sgd({parameter_with(shared), parameter_with(shared)});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Refused, "test()");

  REQUIRE(gradients.groups().size() == 1);
  CHECK(gradients.groups()[0].values.size() == 1);
}

TEST_CASE("An optimizer without gradients has none") {
  auto optimizer = sgd({torch::zeros({2}).requires_grad_()});

  CHECK(Gradients::of(optimizer, HalfGradients::Refused, "test()").empty());
}

TEST_CASE("An empty gradient counts as a gradient but brings no values") {
  auto optimizer = sgd({parameter_with(torch::ones({0}))});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Refused, "test()");

  CHECK_FALSE(gradients.empty());
  CHECK(gradients.groups().empty());
}

TEST_CASE("The values of dense, sparse and complex gradients share memory with them") {
  const auto indices = torch::tensor({{0, 2}});
  const auto sparse = torch::sparse_coo_tensor(indices, torch::ones({2}), {3});
  const auto complex = torch::ones({2}, torch::kComplexFloat);
  for (const auto& gradient :
       {torch::ones({2}), sparse, complex, complex.clone().conj(), torch::eye(2).to_sparse_csr(),
        torch::imag(torch::full({2}, c10::complex<float>(0, -1)).conj())}) {
    CAPTURE(gradient.toString());

    auto values = torchamp::detail::reachable_values(gradient);
    values.mul_(4);

    CHECK_FALSE(values.is_complex());
    CHECK_FALSE(values.is_neg());
    CHECK(values.layout() == torch::kStrided);
    CHECK(torch::real(gradient.to_dense()).max().item<float>() == 4);
  }
}

TEST_CASE("A float16 gradient is refused by name, with the caller's") {
  auto optimizer =
      sgd({parameter_with(torch::ones({2})), parameter_with(torch::ones({2}, torch::kHalf))});

  CHECK_ERROR(E09, Gradients::of(optimizer, HalfGradients::Refused, "unscale_()"));
  CHECK_ERROR_SAYS("unscale_(): parameter 1 of group 0",
                   Gradients::of(optimizer, HalfGradients::Refused, "unscale_()"));
}

TEST_CASE("A gradient in a layout that cannot be reached is refused") {
  const auto mkldnn = torch::ones({2, 2}).to_mkldnn();
  auto parameter = torch::zeros({2, 2}).requires_grad_();
  parameter.unsafeGetTensorImpl()->mutable_grad() = mkldnn;
  auto optimizer = sgd({parameter});

  CHECK_ERROR(E10, Gradients::of(optimizer, HalfGradients::Refused, "test()"));
}

TEST_CASE("A float16 gradient is taken where master weights stand behind it") {
  auto optimizer = sgd({parameter_with(torch::ones({2}, torch::kHalf))});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Allowed, "test()");

  CHECK(gradients.groups().at(0).dtype == torch::kHalf);
}

TEST_CASE("A complex half gradient is refused with master weights too") {
  auto optimizer = sgd({parameter_with(torch::ones({2}, torch::kComplexHalf))});

  CHECK_ERROR(E10, Gradients::of(optimizer, HalfGradients::Allowed, "test()"));
}

TEST_CASE("A sparse half gradient with duplicates is coalesced, at once or not at all") {
  const auto twice_64000_at_0 =
      torch::sparse_coo_tensor(torch::tensor({{0, 0}}), torch::full({2}, 64000.0), {3})
          .to(torch::kHalf);
  auto parameter = parameter_with(twice_64000_at_0);
  auto optimizer = sgd({parameter});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Allowed, "test()");
  CHECK_FALSE(parameter.grad().is_coalesced());
  CHECK(gradients.groups()[0].values[0].isinf().all().item<bool>());

  gradients.put_copies();
  CHECK(parameter.grad().is_coalesced());
  CHECK(parameter.grad().values().data_ptr() == gradients.groups()[0].values[0].data_ptr());
}

TEST_CASE("A range of parameters is walked as an optimizer's are, and names its culprit") {
  auto range = std::vector{parameter_with(torch::ones({2})), torch::zeros({2}).requires_grad_()};
  CHECK(Gradients::of(range, HalfGradients::Refused, "test()").size() == 1);

  range[1].mutable_grad() = torch::ones({2});
  range.push_back(parameter_with(torch::ones({4, 5}, torch::kHalf)));
  CHECK_ERROR_SAYS("parameter 2, of shape [4, 5]",
                   Gradients::of(range, HalfGradients::Refused, "test()"));

  const std::map<std::string, torch::Tensor> named{{"conv1.weight", range[2]}};
  CHECK_ERROR_SAYS("parameter \"conv1.weight\"",
                   Gradients::of(named, HalfGradients::Refused, "test()"));
}

TEST_CASE("A gradient that has one number for several places is copied, at once or not at all") {
  auto parameter = parameter_with(torch::ones({1}).expand({3}));
  auto optimizer = sgd({parameter});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Refused, "test()");
  CHECK(parameter.grad().stride(0) == 0);

  gradients.put_copies();
  CHECK(parameter.grad().stride(0) == 1);
  CHECK(parameter.grad().data_ptr() == gradients.groups()[0].values[0].data_ptr());
}

TEST_CASE("Two gradients over the same memory are visited once, and over a part are refused") {
  const auto memory = torch::ones({4});
  auto same = sgd({parameter_with(memory.view({2, 2})), parameter_with(memory.view({4}))});
  auto part = sgd({parameter_with(memory.narrow(0, 0, 2)), parameter_with(memory)});
  auto woven =
      sgd({parameter_with(memory.narrow(0, 0, 2)), parameter_with(memory.slice(0, 0, 4, 2))});

  CHECK(Gradients::of(same, HalfGradients::Refused, "test()").groups()[0].values.size() == 1);
  CHECK_ERROR(E10, Gradients::of(part, HalfGradients::Refused, "test()"));
  CHECK_ERROR(E10, Gradients::of(woven, HalfGradients::Refused, "test()"));
}

TEST_CASE("Sparse gradients without a value are gradients, and no two are the same memory") {
  const auto empty = [] {
    return torch::sparse_coo_tensor(torch::empty({1, 0}, torch::kLong), torch::empty({0}), {3});
  };
  auto optimizer = sgd({parameter_with(empty()), parameter_with(empty())});

  const auto gradients = Gradients::of(optimizer, HalfGradients::Refused, "test()");

  CHECK(gradients.size() == 2);
  CHECK(gradients.groups().empty());
}
