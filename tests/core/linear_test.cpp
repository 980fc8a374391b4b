// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/linear.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <memory>
#include <sstream>
#include <vector>

using torchamp::AutocastGuard;
using torchamp::AutocastOptions;
using torchamp::Linear;

namespace {

const auto cpu = torch::kCPU;

/// Both kinds of layer with the same values.
struct Pair {
  explicit Pair(bool bias) : theirs(options(bias)), ours(options(bias)) {
    torch::NoGradGuard no_grad;
    ours->weight.copy_(theirs->weight);
    if (bias) ours->bias.copy_(theirs->bias);
  }
  static torch::nn::LinearOptions options(bool bias) {
    return torch::nn::LinearOptions(5, 3).bias(bias);
  }

  torch::nn::Linear theirs;
  Linear ours;
};

/// Output and gradients of input, weight and bias of `layer` for `input`.
template <class Layer>
std::vector<torch::Tensor> run(Layer& layer, const torch::Tensor& input) {
  layer->zero_grad();
  const auto leaf = input.detach().requires_grad_();
  auto output = layer->forward(leaf);
  (output * output).sum().backward();
  std::vector<torch::Tensor> results{output.detach(), leaf.grad(), layer->weight.grad().clone()};
  if (layer->bias.defined()) results.push_back(layer->bias.grad().clone());
  return results;
}

/// The casts that two forward passes of `input` make: in the first, and in the second.
template <class Layer>
std::pair<int, int> casts_of_two_passes(Layer& layer, const torch::Tensor& input) {
  CastCounter casts;
  AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));
  layer->forward(input);
  const int first = casts.more();
  layer->forward(input);
  return {first, casts.more()};
}

}  // namespace

TEST_CASE("A region casts weight and bias once, for input of any number of dimensions") {
  Linear layer(5, 3);
  torch::nn::Linear theirs(5, 3);
  for (const auto& input : {torch::ones({4, 5}), torch::ones({2, 4, 5})}) {
    const auto half = input.to(torch::kBFloat16);  // so that only parameters are cast

    CHECK(casts_of_two_passes(layer, half) == std::make_pair(2, 0));
    CHECK(casts_of_two_passes(theirs, half).second > 0);  // if not, this layer is not needed
  }
}

TEST_CASE("Outside regions outputs and gradients are torch::nn::Linear's, bit for bit") {
  for (const bool bias : {true, false}) {
    Pair layers(bias);
    for (const auto& input : {torch::randn({5}), torch::randn({4, 5}), torch::randn({2, 4, 5})}) {
      const auto theirs = run(layers.theirs, input);
      const auto ours = run(layers.ours, input);
      REQUIRE(ours.size() == theirs.size());
      for (size_t i = 0; i < ours.size(); ++i) CHECK(ours[i].equal(theirs[i]));
    }
  }
}

TEST_CASE("In a region outputs and gradients are torch::nn::Linear's up to bfloat16's rounding") {
  for (const bool bias : {true, false}) {
    Pair layers(bias);
    for (const auto& input : {torch::randn({4, 5}), torch::randn({2, 4, 5})}) {
      AutocastGuard autocast(cpu);
      const auto theirs = run(layers.theirs, input);
      const auto ours = run(layers.ours, input);
      REQUIRE(ours.size() == theirs.size());
      CHECK(ours[0].scalar_type() == torch::kBFloat16);
      for (size_t i = 0; i < ours.size(); ++i) {
        CHECK(ours[i].scalar_type() == theirs[i].scalar_type());
        CHECK(ours[i].to(torch::kFloat).allclose(theirs[i].to(torch::kFloat), 3e-2, 3e-2));
      }
    }
  }
}

TEST_CASE("In a region it computes what at::linear does, as Python's nn.Linear") {
  Linear layer(5, 3);
  const auto input = torch::randn({2, 4, 5});
  AutocastGuard autocast(cpu);

  CHECK(layer(input).equal(at::linear(input, layer->weight, layer->bias)));
}

TEST_CASE("A seed gives the same parameters as it gives to torch::nn::Linear") {
  torch::manual_seed(3);
  torch::nn::Linear theirs(5, 3);
  torch::manual_seed(3);
  Linear ours(5, 3);
  CHECK(ours->weight.equal(theirs->weight));
  CHECK(ours->bias.equal(theirs->bias));

  torch::manual_seed(4);
  theirs->reset_parameters();
  torch::manual_seed(4);
  ours->reset_parameters();
  CHECK(ours->weight.equal(theirs->weight));
}

TEST_CASE("Archives go both ways between it and torch::nn::Linear") {
  Pair layers(true);
  std::stringstream theirs, ours;
  torch::save(layers.theirs, theirs);
  torch::save(layers.ours, ours);
  Linear from_theirs(5, 3);
  torch::nn::Linear from_ours(5, 3);

  torch::load(from_theirs, theirs);
  torch::load(from_ours, ours);

  CHECK(from_theirs->weight.equal(layers.theirs->weight));
  CHECK(from_theirs->bias.equal(layers.theirs->bias));
  CHECK(from_ours->weight.equal(layers.theirs->weight));
  CHECK(layers.ours->named_parameters().keys() == layers.theirs->named_parameters().keys());
}

TEST_CASE("It goes where torch::nn::Linear goes: Sequential, register_module, as<>, apply") {
  torch::nn::Sequential model(Linear(5, 4), torch::nn::ReLU(), Linear(4, 3));
  CHECK(model->forward(torch::ones({2, 5})).sizes() == std::vector<int64_t>{2, 3});

  struct Net : torch::nn::Module {
    Net() : layer(register_module("layer", Linear(5, 3))) {}
    Linear layer;
  };
  CHECK(Net().named_parameters().contains("layer.weight"));

  int found = 0;
  model->apply(
      [&](torch::nn::Module& module) { found += module.as<torch::nn::Linear>() != nullptr; });
  CHECK(found == 2);
}

TEST_CASE("It prints as itself, with its options") {
  std::stringstream text;
  text << Linear(torch::nn::LinearOptions(5, 3).bias(false));

  CHECK(text.str() == "torchamp::Linear(in_features=5, out_features=3, bias=false)");
}

TEST_CASE(
    "A clone is a torchamp::Linear with parameters, training mode and frozenness of its own") {
  Linear layer(5, 3);
  layer->eval();
  layer->bias.requires_grad_(false);

  const auto clone = std::dynamic_pointer_cast<torchamp::LinearImpl>(layer->clone());

  REQUIRE(clone);
  CHECK(clone->weight.equal(layer->weight));
  CHECK_FALSE(clone->weight.is_alias_of(layer->weight));
  CHECK(clone->weight.requires_grad());
  CHECK_FALSE(clone->bias.requires_grad());
  CHECK_FALSE(clone->is_training());

  torch::nn::Sequential model(layer);
  const auto copy = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(model->clone());
  CHECK(copy->ptr(0)->as<Linear>() != nullptr);
  CHECK(copy->ptr(0)->as<Linear>()->weight.equal(layer->weight));
}

TEST_CASE("A clone without bias has none") {
  Linear layer(torch::nn::LinearOptions(5, 3).bias(false));

  const auto clone = std::dynamic_pointer_cast<torchamp::LinearImpl>(layer->clone());

  CHECK_FALSE(clone->bias.defined());
  CHECK(clone->parameters().size() == 1);
}
