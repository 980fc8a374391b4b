// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/parameters.h>

#include "support/doctest.h"

#include <list>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using torchamp::detail::for_each_parameter;
using torchamp::detail::has_param_groups;
using torchamp::detail::has_step;
using torchamp::detail::is_parameter_range;

namespace {

/// The places of an owner's parameters, as messages name them.
template <class Owner>
std::vector<std::string> places_of(Owner& owner) {
  std::vector<std::string> places;
  for_each_parameter(owner, [&](const torch::Tensor& parameter, const auto& place) {
    CHECK(parameter.defined());
    std::ostringstream text;
    text << place();
    places.push_back(text.str());
  });
  return places;
}

using Places = std::vector<std::string>;

}  // namespace

TEST_CASE("Optimizers are told from ranges of parameters, and both from anything else") {
  CHECK(has_param_groups<torch::optim::SGD>);
  CHECK(has_param_groups<torch::optim::Optimizer>);
  CHECK(has_step<torch::optim::Optimizer>);
  CHECK_FALSE(has_step<torch::optim::LBFGS>);
  CHECK_FALSE(has_param_groups<std::vector<torch::Tensor>>);

  CHECK(is_parameter_range<std::vector<torch::Tensor>>);
  CHECK(is_parameter_range<const std::list<torch::Tensor>>);
  CHECK(is_parameter_range<torch::Tensor[2]>);
  CHECK(is_parameter_range<torch::TensorList>);
  CHECK(is_parameter_range<torch::OrderedDict<std::string, torch::Tensor>>);
  CHECK(is_parameter_range<std::map<int, torch::Tensor>>);
  CHECK_FALSE(is_parameter_range<std::vector<int>>);
  CHECK_FALSE(is_parameter_range<torch::Tensor>);
  CHECK_FALSE(is_parameter_range<torch::optim::SGD>);
}

TEST_CASE("Every parameter of every group is visited, and named by both") {
  const auto parameter = [] { return torch::ones({1}).requires_grad_(); };
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter(), parameter()}, 1.0);
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({parameter()}));

  CHECK(places_of(optimizer) ==
        Places{"parameter 0 of group 0", "parameter 1 of group 0", "parameter 0 of group 1"});
}

TEST_CASE("Parameters of a range are named by their names where they have any") {
  const std::vector<torch::Tensor> plain{torch::ones({1}), torch::ones({1})};
  const std::map<std::string, torch::Tensor> map{{"weight", torch::ones({1})}};
  const std::map<int, torch::Tensor> numbered{{7, torch::ones({1})}};
  const torch::nn::Linear linear(1, 1);
  const auto named = linear->named_parameters();

  CHECK(places_of(plain) == Places{"parameter 0", "parameter 1"});
  CHECK(places_of(map) == Places{"parameter \"weight\""});
  CHECK(places_of(numbered) == Places{"parameter 0"});
  CHECK(places_of(named) == Places{"parameter \"weight\"", "parameter \"bias\""});
}
