// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/tensor_names.h>

#include "support/doctest.h"

#include <string>

using torchamp::detail::memory_of;
using torchamp::detail::TensorNames;

TEST_CASE("A tensor and its views have the name that it is registered by") {
  const auto weight = torch::ones({2, 3});
  TensorNames names;
  CHECK(names.empty());
  names.add("conv2.weight", weight);

  CHECK(names.name_of(weight) == "conv2.weight");
  CHECK(names.name_of(weight.t()) == "conv2.weight");
  CHECK(names.name_of(weight[1]) == "conv2.weight");
  CHECK(names.name_of(torch::ones({2, 3})) == "");
  CHECK(names.registered_name_of(torch::ones({1})) == nullptr);
  CHECK(names.name_of(torch::Tensor()) == "");
}

TEST_CASE("Parameters that share a memory are told apart by their place in it") {
  const auto flat = torch::ones({4});
  TensorNames names;
  names.add("a", flat.slice(0, 0, 2));
  names.add("b", flat.slice(0, 2, 4));

  CHECK(names.name_of(flat.slice(0, 2, 4).view({1, 2})) == "b");
  CHECK(names.name_of(flat.slice(0, 1, 2)) == "a");
  CHECK(names.name_of(flat) == "");
}

TEST_CASE("Casts have the name of what was cast, as long as they live") {
  const auto weight = torch::ones({2, 2});
  TensorNames names;
  names.add("weight", weight);
  auto cast = weight.to(torch::kHalf);
  CHECK(names.name_of(cast) == "");

  names.follow(weight.t(), cast);
  names.follow(torch::ones({1}), torch::ones({1}));
  CHECK(names.name_of(cast) == "weight");
  CHECK(names.name_of(cast.t()) == "weight");

  const auto kept = cast;
  for (int i = 0; i < 200; ++i) {
    cast = weight.to(torch::kHalf);  // memory of an earlier one, mostly
    CHECK(names.name_of(cast) == "");
    names.follow(weight, cast);
  }
  CHECK(names.name_of(kept) == "weight");
}

TEST_CASE("A parameter that moves to other memory keeps its name") {
  auto weight = torch::ones({2});
  TensorNames names;
  names.add("weight", weight);

  weight.set_data(torch::zeros({2}));

  CHECK(names.name_of(weight) == "weight");
}

TEST_CASE("A gradient is named after its parameter") {
  const auto weight = torch::ones({2}, torch::requires_grad());
  weight.mutable_grad() = torch::ones({2});
  TensorNames names;
  names.add("weight", weight);

  CHECK(names.name_of(weight.grad()) == "gradient of weight");
  CHECK(names.registered_name_of(weight.grad()) == nullptr);
}

TEST_CASE(
    "A sparse tensor has the memory of its values, a meta tensor has some, nothing has none") {
  const auto values = torch::ones({2});
  const auto sparse = torch::sparse_coo_tensor(torch::tensor({{0, 1}}), values, {2});
  const auto csr = torch::eye(2).to_sparse_csr();

  CHECK(memory_of(sparse) == memory_of(values));
  CHECK(memory_of(csr) == memory_of(csr.values()));
  CHECK(memory_of(torch::Tensor()) == nullptr);
}
