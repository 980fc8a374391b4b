// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/flat_layout.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

using torchamp::detail::FlatLayout;

TEST_CASE("There is a buffer for each group and dtype, in the order in which they come") {
  const auto one = [](torch::ScalarType dtype) { return torch::ones({1}, dtype).requires_grad_(); };
  torch::optim::SGD optimizer(
      std::vector<torch::optim::OptimizerParamGroup>{
          {{one(torch::kFloat), one(torch::kDouble), one(torch::kFloat)}}, {{one(torch::kDouble)}}},
      torch::optim::SGDOptions(1));
  const auto layout = FlatLayout::of(optimizer);

  REQUIRE(layout.buffers().size() == 3);
  CHECK(layout.buffers()[0].parameters.size() == 2);
  CHECK(layout.buffers()[0].parameters[1].place.index == 2);
  CHECK(layout.buffers()[1].dtype == torch::kDouble);
  CHECK(layout.buffers()[1].group == 0);
  CHECK(layout.buffers()[2].dtype == torch::kDouble);
  CHECK(layout.buffers()[2].group == 1);
}

TEST_CASE("Parameters that lie side by side in one memory can be flat, those that overlap cannot") {
  const auto memory = torch::zeros({4});
  const auto part = [&](int from, int to) { return memory.slice(0, from, to).requires_grad_(); };
  const std::vector<torch::Tensor> apart = {part(2, 4), part(0, 2)};
  const std::vector<torch::Tensor> overlapping = {part(2, 4), part(0, 3)};
  CHECK_NOTHROW(FlatLayout::of(apart));
  CHECK_ERROR(E22, FlatLayout::of(overlapping));
}

TEST_CASE("Parameters without elements or gradients are left out") {
  const std::vector<torch::Tensor> parameters = {
      torch::zeros({0}).requires_grad_(), torch::zeros({2}), torch::zeros({1}).requires_grad_()};
  const auto layout = FlatLayout::of(parameters);
  REQUIRE(layout.buffers().size() == 1);
  CHECK(layout.buffers()[0].parameters.size() == 1);
  CHECK(layout.buffers()[0].parameters[0].place.index == 2);
}
