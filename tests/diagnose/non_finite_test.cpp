// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using torchamp::find_non_finite;
using torchamp::NonFiniteIn;
using torchamp::NonFiniteReport;
using torchamp::detail::NonFiniteSearch;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

using Named = std::vector<std::pair<std::string, torch::Tensor>>;
using Coordinates = std::vector<int64_t>;

/// The same by the operators that devices other than a CPU need.
NonFiniteReport found_by_operators(const Named& tensors) {
  NonFiniteSearch search(NonFiniteIn::Values, /*by_operators=*/true);
  search.look_at(tensors);
  return std::move(search).finish();
}

std::vector<std::string> names_in(const NonFiniteReport& report) {
  std::vector<std::string> names;
  for (const auto& tensor : report.tensors) names.push_back(tensor.name);
  return names;
}

/// Three layers with gradients of ones; the bias of the first has none.
struct Net : torch::nn::Module {
  Net() {
    for (auto& parameter : parameters()) {
      if (!parameter.is_same(first->bias)) parameter.mutable_grad() = torch::ones_like(parameter);
    }
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(2, 2));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(2));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(2, 2));
};

}  // namespace

TEST_CASE("A module's gradients are finite, or the bad ones are named in the order of the module") {
  Net net;
  const auto clean = find_non_finite(net);
  CHECK(clean.empty());
  CHECK(clean.looked_in == NonFiniteIn::Gradients);
  CHECK(clean.finite == 5);
  CHECK(clean.without_gradient == 1);

  net.last->weight.mutable_grad()[1][0] = not_a_number;
  net.first->weight.mutable_grad().fill_(-infinity);
  net.first->weight.mutable_grad()[0][0] = -5;
  const auto report = find_non_finite(net);

  CHECK(names_in(report) == std::vector<std::string>{"first.weight", "last.weight"});
  CHECK(report.finite == 3);
  const auto& first = report.tensors[0];
  CHECK(first.inf_count == 3);
  CHECK(first.nan_count == 0);
  CHECK(first.looked_at == 4);
  CHECK(first.largest_finite == 5);
  CHECK(first.first_index == 1);
  CHECK(first.first_coordinates == Coordinates{0, 1});
  const auto& last = report.tensors[1];
  CHECK(last.inf_count == 0);
  CHECK(last.nan_count == 1);
  CHECK(last.largest_finite == 1);
  CHECK(last.first_coordinates == Coordinates{1, 0});
}

TEST_CASE("A module's values are its parameters and buffers") {
  Net net;
  net.norm->running_var[1] = infinity;
  net.last->bias.data()[0] = not_a_number;

  CHECK(find_non_finite(net).empty());
  const auto report = find_non_finite(net, NonFiniteIn::Values);
  CHECK(names_in(report) == std::vector<std::string>{"last.bias", "norm.running_var"});
  CHECK(report.finite == 5 + 2);
}

TEST_CASE("A gradient that a module has under two names is listed under both") {
  Net net;
  net.last->weight = net.last->register_parameter("tied", net.first->weight);
  net.first->weight.mutable_grad()[0][1] = infinity;

  CHECK(names_in(find_non_finite(net)) == std::vector<std::string>{"first.weight", "last.tied"});
}

TEST_CASE("Modules, what holds them, and what points to them are the same") {
  const auto net = std::make_shared<Net>();
  net->first->weight.mutable_grad()[0][0] = infinity;
  torch::nn::Sequential sequential(torch::nn::Linear(1, 1));
  sequential->parameters()[0].mutable_grad() = torch::full({1, 1}, infinity);

  CHECK(find_non_finite(net).tensors.size() == 1);
  CHECK(find_non_finite(*net).tensors.size() == 1);
  CHECK(find_non_finite(net->first).tensors.size() == 1);
  CHECK(find_non_finite(*net->first).tensors.size() == 1);
  CHECK(names_in(find_non_finite(sequential)) == std::vector<std::string>{"0.weight"});
  CHECK(names_in(find_non_finite(*sequential)) == std::vector<std::string>{"0.weight"});
}

TEST_CASE("Of tensors the values are looked at, of an optimizer the gradients") {
  Net net;
  net.last->weight.mutable_grad().fill_(infinity);
  torch::optim::SGD optimizer(net.parameters(), 1.0);

  CHECK(find_non_finite(net.named_parameters()).empty());
  CHECK(find_non_finite(net.named_parameters()).finite == 6);
  CHECK(names_in(find_non_finite(net.named_parameters(), NonFiniteIn::Gradients)) ==
        std::vector<std::string>{"last.weight"});
  CHECK(names_in(find_non_finite(net.parameters(), NonFiniteIn::Gradients)) ==
        std::vector<std::string>{"parameter 4"});
  CHECK(names_in(find_non_finite(optimizer)) == std::vector<std::string>{"parameter 4 of group 0"});
  CHECK(find_non_finite(optimizer, NonFiniteIn::Values).empty());
}

TEST_CASE("Named tensors come as a vector, in braces, or as a map") {
  const auto bad = torch::tensor({1.0F, infinity}), good = torch::ones({2});
  CHECK(names_in(find_non_finite({{"good", good}, {"bad", bad}})) ==
        std::vector<std::string>{"bad"});
  CHECK(names_in(find_non_finite(Named{{"bad", bad}})) == std::vector<std::string>{"bad"});
  const std::map<std::string, torch::Tensor> map{{"a", bad}, {"b", good}, {"c", bad}};
  CHECK(names_in(find_non_finite(map)) == std::vector<std::string>{"a", "c"});
  CHECK(find_non_finite(std::vector<torch::Tensor>{}).empty());
}

TEST_CASE("Empty, undefined and whole-number tensors have nothing that is not finite") {
  const auto report = find_non_finite({{"empty", torch::empty({0, 3})},
                                       {"undefined", torch::Tensor()},
                                       {"numbers", torch::arange(3)},
                                       {"flags", torch::ones({2}, torch::kBool)}});
  CHECK(report.empty());
  CHECK(report.finite == 3);
}

TEST_CASE("A number without dimensions has the index 0 and no coordinates") {
  const auto report = find_non_finite({{"loss", torch::tensor(infinity)}});
  CHECK(report.tensors.at(0).first_index == 0);
  CHECK(report.tensors.at(0).first_coordinates.empty());
}

TEST_CASE("The bad place of a sparse tensor is given in the whole tensor") {
  // Row 2 of four, as two values that a sum makes one; row 1 is finite.
  const auto indices = torch::tensor({{2, 1, 2}});
  const auto values = torch::tensor({{1.0F, 2.0F}, {7.0F, 7.0F}, {1.0F, infinity}});
  const auto sparse = torch::sparse_coo_tensor(indices, values, {4, 2});

  for (const auto& report :
       {find_non_finite({{"e", sparse}}), found_by_operators({{"e", sparse}})}) {
    REQUIRE(report.tensors.size() == 1);
    const auto& found = report.tensors[0];
    CHECK(found.sizes == Coordinates{4, 2});
    CHECK(found.looked_at == 4);
    CHECK(found.inf_count == 1);
    CHECK(found.largest_finite == 7);
    CHECK(found.first_index == 5);
    CHECK(found.first_coordinates == Coordinates{2, 1});
  }
}

TEST_CASE("A sum of sparse values that overflows is found, as the optimizer would see it") {
  const auto sparse = torch::sparse_coo_tensor(
      torch::tensor({{3, 3}}), torch::tensor({40000.0F, 40000.0F}).to(torch::kHalf), {5});
  const auto report = find_non_finite({{"embedding", sparse}});
  CHECK(report.tensors.at(0).first_coordinates == Coordinates{3});
}

TEST_CASE("Compressed sparse tensors are looked at too") {
  auto dense = torch::zeros({3, 4});
  dense[1][2] = not_a_number;
  dense[0][0] = 2;
  for (const auto& sparse : {dense.to_sparse_csr(), dense.to_sparse_csc()}) {
    const auto report = find_non_finite({{"weight", sparse}});
    CHECK(report.tensors.at(0).first_coordinates == Coordinates{1, 2});
    CHECK(report.tensors.at(0).largest_finite == 2);
  }
}

TEST_CASE("The operators that other devices need find the same as the pass over memory") {
  const auto sparse = torch::sparse_coo_tensor(torch::tensor({{0, 2}, {1, 0}}),
                                               torch::tensor({3.0F, not_a_number}), {3, 2});
  auto strided = torch::ones({3, 5}, torch::kDouble);
  strided[2][1] = infinity;
  const Named tensors{
      {"good", torch::ones({3})},
      {"sparse", sparse},
      {"half", torch::tensor({-2.0F, infinity, 1.0F}).to(torch::kHalf)},
      {"empty", torch::empty({0})},
      {"transposed", strided.t()},
      {"complex", torch::complex(torch::ones({2}), torch::tensor({2.0F, not_a_number}))}};

  const auto report = find_non_finite(tensors);
  const auto by_operators = found_by_operators(tensors);

  CHECK(report.tensors.size() == 4);
  CHECK(by_operators.to_text() == report.to_text());
  CHECK(report.tensors[2].first_coordinates == Coordinates{1, 2});
}

TEST_CASE("However many tensors there are, their numbers are put into one, which alone is read") {
  for (const int count : {1, 10}) {
    CAPTURE(count);
    const Named tensors(static_cast<std::size_t>(count), {"x", torch::tensor({1.0F, infinity})});
    HostReadCounter items;
    OperatorCounter put_together("aten::cat");
    const auto report = found_by_operators(tensors);
    CHECK(items.more() == 0);
    CHECK(put_together.more() == count + 1);  // the numbers of each, and those of all
    CHECK(report.tensors.size() == tensors.size());
  }
}

TEST_CASE("On a CPU nothing is copied and nothing is read through an operator") {
  Net net;
  HostReadCounter reads;
  OperatorCounter copies("aten::copy_");
  (void)find_non_finite(net);
  CHECK(reads.more() == 0);
  CHECK(copies.more() == 0);
}

TEST_CASE("Looking leaves no trace in the history of a tensor") {
  const auto weight = torch::ones({2}, torch::requires_grad());
  const auto loss = (weight * infinity).sum();
  const auto version = loss._version();
  (void)find_non_finite({{"loss", loss}});
  CHECK(loss._version() == version);
  loss.backward();
  CHECK(weight.grad().isinf().all().item<bool>());
}

TEST_CASE("Tensors without values are refused by name") {
  const auto meta = torch::ones({2}, torch::kMeta);
  CHECK_ERROR(E31, find_non_finite({{"ghost", meta}}));
  CHECK_ERROR_SAYS("\"ghost\"", find_non_finite({{"ghost", meta}}));
  CHECK_ERROR_SAYS("meta", find_non_finite({{"ghost", meta}}));
}
