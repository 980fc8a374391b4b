// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/named_tensors.h>

#include "support/doctest.h"

#include <map>
#include <string>
#include <vector>

using torchamp::detail::named_parameters_of;

namespace {

template <class Model>
std::string names_of(Model&& model) {
  std::string names;
  for (const auto& [name, tensor] : named_parameters_of(model)) names += name + " ";
  return names;
}

}  // namespace

TEST_CASE("Modules, holders, pointers and ranges give their parameters with names") {
  torch::nn::Sequential sequential(torch::nn::Linear(1, 1));
  CHECK(names_of(sequential) == "0.weight 0.bias ");
  CHECK(names_of(*sequential) == "0.weight 0.bias ");
  CHECK(names_of(sequential.ptr()) == "0.weight 0.bias ");
  CHECK(names_of(sequential->named_parameters()) == "0.weight 0.bias ");
  const std::map<std::string, torch::Tensor> map{{"a", torch::ones({})}};
  CHECK(names_of(map) == "a ");
}

TEST_CASE("Parameters without names have their place, and undefined ones are left out") {
  const std::vector<torch::Tensor> parameters{torch::ones({}), torch::Tensor(), torch::ones({})};
  CHECK(names_of(parameters) == "parameter 0 parameter 2 ");
}

TEST_CASE("The tensors are those of the model, not copies") {
  torch::nn::Linear linear(1, 1);
  CHECK(named_parameters_of(linear)[0].second.is_same(linear->weight));
}
