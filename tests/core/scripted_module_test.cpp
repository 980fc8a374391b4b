// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/scripted_module.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/script.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using torchamp::AutocastGuard;
using torchamp::AutocastOptions;
using torchamp::ScriptedModule;

namespace {

const auto cpu = torch::kCPU;

/// A module whose forward calls another of its methods, branches, and has a default argument.
torch::jit::Module scripted(const torch::Tensor& weight) {
  torch::jit::Module module("scripted");
  module.register_parameter("weight", weight, /*is_buffer=*/false);
  module.define(R"(
def product(self, x):
    return torch.mm(x, self.weight)

def forward(self, x, times: int=2):
    y = x
    for i in range(times):
        y = torch.relu(self.product(y))
    if times > 0:
        y = torch.log_softmax(y, 1)
    return y + x

def joined(self, x):
    return torch.cat([self.product(x), x])
)");
  return module;
}

/// The same in eager code.
torch::Tensor eager(const torch::Tensor& x, const torch::Tensor& weight) {
  auto y = torch::relu(torch::mm(x, weight));
  y = torch::relu(torch::mm(y, weight));
  return torch::log_softmax(y, 1) + x;
}

/// Output and gradient of the weight, of a forward pass in a region with these options.
template <class Forward>
std::pair<torch::Tensor, torch::Tensor> run(const AutocastOptions& options, torch::Tensor weight,
                                            const Forward& forward) {
  weight.mutable_grad() = torch::Tensor();
  torch::Tensor output;
  {
    AutocastGuard autocast(cpu, options);
    output = forward();
  }
  output.sum().backward();
  return {output.detach(), weight.grad().clone()};
}

}  // namespace

TEST_CASE("A scripted module computes what eager code does in regions of every dtype and outside") {
  torch::manual_seed(0);
  const auto weight = torch::randn({4, 4}, torch::requires_grad());
  const auto input = torch::randn({3, 4});
  ScriptedModule module(scripted(weight));
  const std::vector<AutocastOptions> regions{torch::kBFloat16, torch::kHalf,
                                             AutocastOptions().enabled(false), torch::kBFloat16};

  for (const auto& options : regions) {
    for (int again = 0; again < 3; ++again) {  // TorchScript would compile something new each time
      const auto [output, gradient] =
          run(options, weight, [&] { return module.forward({input}).toTensor(); });
      const auto [expected, expected_gradient] =
          run(options, weight, [&] { return eager(input, weight); });
      CHECK(output.scalar_type() == expected.scalar_type());
      CHECK(output.equal(expected));
      CHECK(gradient.equal(expected_gradient));
    }
  }
}

TEST_CASE("A module that TorchScript has run in another dtype before is none the worse for it") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  auto module = scripted(weight);
  {
    AutocastGuard autocast(cpu, torch::kBFloat16);
    for (int i = 0; i < 3; ++i) module.forward({input});
  }

  const auto [output, gradient] = run(torch::kHalf, weight, [&] {
    return ScriptedModule(module).run_method("product", {input}).toTensor();
  });

  CHECK(output.scalar_type() == torch::kHalf);
  CHECK(gradient.equal(torch::full({2, 2}, 2.0)));
}

TEST_CASE("A bare torch::jit::Module does not obey a region of a second dtype: hence this class") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  auto module = scripted(weight);
  const auto forward = [&] { return module.forward({input}).toTensor(); };
  for (int i = 0; i < 3; ++i) run(torch::kBFloat16, weight, forward);

  const auto runs_in_half = [&] {
    try {
      const auto [output, gradient] = run(torch::kHalf, weight, forward);
      const auto [expected, expected_gradient] =
          run(torch::kHalf, weight, [&] { return eager(input, weight); });
      return output.equal(expected) && gradient.equal(expected_gradient);
    } catch (const std::exception&) {
      return false;
    }
  };

  CHECK_FALSE(runs_in_half());  // if this fails, LibTorch is repaired and the class can go
}

TEST_CASE("cat of a cast and an uncast tensor works in a scripted module") {
  ScriptedModule module(scripted(torch::ones({2, 2})));
  AutocastGuard autocast(cpu);

  CHECK(module.run_method("joined", {torch::ones({2, 2})}).toTensor().scalar_type() ==
        torch::kFloat);
}

TEST_CASE("A traced module works in a region, and outside it as before") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  torch::jit::Module traced("traced");
  traced.register_parameter("weight", weight, /*is_buffer=*/false);
  const auto graph = torch::jit::tracer::trace(
                         {input},
                         [&](torch::jit::Stack stack) {
                           return torch::jit::Stack{torch::mm(stack[0].toTensor(), weight)};
                         },
                         [](const auto&) { return std::string(); }, true, false, &traced)
                         .first->graph;
  auto* function = traced._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*traced.type()->name(), "forward"), graph);
  traced.type()->addMethod(function);
  const ScriptedModule module(traced);

  const auto [output, gradient] =
      run(torch::kHalf, weight, [&] { return module.forward({input}).toTensor(); });

  CHECK(output.scalar_type() == torch::kHalf);
  CHECK(gradient.equal(torch::full({2, 2}, 2.0)));
  CHECK(module.forward({input}).toTensor().scalar_type() == torch::kFloat);
}

TEST_CASE("A module loaded from a file and a frozen one work in a region") {
  std::stringstream file;
  scripted(torch::ones({2, 2})).save(file);
  ScriptedModule loaded(torch::jit::load(file));
  loaded.module().eval();
  ScriptedModule frozen(torch::jit::freeze(loaded.module()));
  const auto input = torch::ones({2, 2});
  AutocastGuard autocast(cpu, torch::kHalf);

  CHECK(loaded.run_method("product", {input}).toTensor().scalar_type() == torch::kHalf);
  CHECK(frozen.forward({input}).toTensor().equal(loaded.forward({input}).toTensor()));
}

TEST_CASE("Arguments may be left out or named, as with torch::jit::Module") {
  const auto input = torch::ones({2, 2});
  auto module = scripted(torch::ones({2, 2}));
  const ScriptedModule ours(module);

  CHECK(ours.forward({input}).toTensor().equal(module.forward({input}).toTensor()));
  CHECK(ours.forward({input}, {{"times", 0}}).toTensor().equal(input + input));
  CHECK_THROWS(ours.forward({}));
}

TEST_CASE("The module's parameters are shared, so training it trains this") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  ScriptedModule module(scripted(weight));
  const auto input = torch::ones({2, 2});

  weight.data().fill_(3);

  CHECK(module.run_method("product", {input}).toTensor().equal(torch::full({2, 2}, 6.0)));
  CHECK((*module.module().parameters().begin()).is_same(weight));
}

TEST_CASE("A method that is not there is refused, with the names of those that are") {
  const ScriptedModule module(scripted(torch::ones({2, 2})));

  CHECK_ERROR(E21, module.run_method("backward", {}));
  CHECK_ERROR_SAYS("no method backward; it has: forward, joined, product",
                   module.run_method("backward", {}));
  CHECK_ERROR_SAYS("none", ScriptedModule(torch::jit::Module("empty")).forward({}));
}
