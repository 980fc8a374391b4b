// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/each_tensor.h>

#include "support/doctest.h"

#include <optional>
#include <vector>

using torchamp::detail::for_each_tensor;
using torchamp::detail::for_each_tensor_in;

TEST_CASE("Tensors are found in lists, optional ones too, and nowhere else") {
  const auto count = [](const c10::IValue& value) {
    int tensors = 0;
    for_each_tensor(value, [&](const at::Tensor&) { ++tensors; });
    return tensors;
  };
  const auto x = torch::ones({1});
  c10::List<std::optional<at::Tensor>> optional;
  optional.push_back(x);
  optional.push_back(std::nullopt);

  CHECK(count(x) == 1);
  CHECK(count(torch::Tensor()) == 0);
  CHECK(count(std::vector<torch::Tensor>{x, x}) == 2);
  CHECK(count(optional) == 1);
  CHECK(count(3.0) == 0);
  CHECK(count(std::vector<int64_t>{1, 2}) == 0);
}

TEST_CASE("The tensors of several values come in their order") {
  const auto x = torch::ones({1});
  const auto y = torch::ones({2});
  const auto z = torch::ones({3});
  std::vector<int64_t> sizes;

  for_each_tensor_in(std::vector<c10::IValue>{x, 2.0, std::vector<torch::Tensor>{y, z}, x},
                     [&](const at::Tensor& tensor) { sizes.push_back(tensor.numel()); });

  CHECK(sizes == std::vector<int64_t>{1, 2, 3, 1});
}
