// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/operator_scope.h>
#include <torchamp/diagnose/step_forecast.h>

#include "support/doctest.h"

#include <ATen/record_function.h>

#include <functional>
#include <map>

using torchamp::detail::CallForecast;
using torchamp::detail::StepForecast;
using torchamp::detail::tensors_in;

namespace {

/// Follows the operators of one thread, and keeps what is foreseen of each call by its name.
class Follower : public torchamp::OperatorObserver {
 public:
  template <class Parameters>
  Follower(const Parameters& parameters, c10::DeviceType device) : forecast(parameters, device) {}

  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                               c10::ArrayRef<const c10::IValue> inputs) override {
    if (call.scope() != at::RecordScope::FUNCTION) return nullptr;
    const auto tensors = tensors_in(inputs);
    calls.push_back(forecast.start(call, tensors, "", calls.empty() ? nullptr : &calls.back()));
    forecast.for_each_cast(calls.back(), tensors, [&](const torch::Tensor&, const auto* known) {
      ++(known != nullptr && known->parameter ? parameter_casts : casts)[call.name()];
    });
    return nullptr;
  }
  void finished(const at::RecordFunction& call, const std::vector<c10::IValue>& outputs,
                at::ObserverContext*) override {
    if (call.scope() != at::RecordScope::FUNCTION) return;
    places[call.name()] = calls.back().place;
    forecast.finish(calls.back(), tensors_in(outputs),
                    [&](const torch::Tensor&, bool) { ++visits[call.name()]; });
    calls.pop_back();
  }

  StepForecast forecast;
  std::vector<CallForecast> calls;
  std::map<std::string, int> visits, casts, parameter_casts;
  std::map<std::string, std::string> places;
};

using Parameters = torch::OrderedDict<std::string, torch::Tensor>;

std::shared_ptr<Follower> follow(const Parameters& parameters, c10::DeviceType device,
                                 const std::function<void()>& step) {
  auto follower = std::make_shared<Follower>(parameters, device);
  const torchamp::OperatorScope scope(follower);
  step();
  return follower;
}

/// One of each kind: products, convolutions, norms, losses, activations, joins, casts, views,
/// in-place operators and numbers without dimensions.
struct Mixture : torch::nn::Module {
  Mixture() {
    convolution = register_module("convolution", torch::nn::Conv2d(2, 4, 3));
    norm = register_module("norm", torch::nn::BatchNorm2d(4));
    group = register_module("group", torch::nn::GroupNorm(2, 4));
    linear = register_module("linear", torch::nn::Linear(4, 3));
    bare = register_module("bare", torch::nn::Linear(torch::nn::LinearOptions(3, 3).bias(false)));
    layer = register_module("layer", torch::nn::LayerNorm(torch::nn::LayerNormOptions({3})));
    words = register_module("words", torch::nn::Embedding(5, 3));
    prelu = register_module("prelu", torch::nn::PReLU());
  }

  std::vector<std::pair<std::string, torch::Tensor>> run() {
    std::vector<std::pair<std::string, torch::Tensor>> made;
    const auto note = [&](const char* what, const torch::Tensor& tensor) {
      made.emplace_back(what, tensor);
      return tensor;
    };
    torch::manual_seed(1);
    const auto image = note("data", torch::rand({2, 2, 6, 6}));
    auto x = note("conv2d", convolution(image));
    x = note("batch_norm", norm(x));
    x = note("relu", torch::relu(x));
    x = note("max_pool2d", torch::max_pool2d(x, 2));
    note("group_norm", group(x));
    x = note("mean", x.mean({2, 3}));
    x = note("linear", linear(x));
    note("view", x.view({3, 2}).t());
    note("number", x * 2);
    note("no dimensions", x * torch::tensor(2.0f));
    note("promoted", x + torch::ones({3}));
    note("clone", x.clone());
    note("zeros_like", torch::zeros_like(x));
    note("new_zeros", x.new_zeros({2}));
    note("full_like", torch::full_like(x, 3));
    note("dropout", torch::dropout(x, 0.5, true));
    note("masked_fill", x.masked_fill(x > 0, -1));
    note("where", torch::where(x > 0, x, torch::zeros({1})));
    note("layer_norm", layer(x));
    note("prelu", prelu(x));
    const auto embedded = note("embedding", words(torch::tensor({1, 2}, torch::kLong)));
    note("cat", torch::cat({x, embedded}));
    note("stack", torch::stack({x, x}));
    note("in place", x.clone().mul_(2));
    note("into float32", torch::zeros({2, 3}).add_(x.detach()));
    x = note("linear without bias", bare(x));
    note("matmul", torch::matmul(x, x.t()));
    note("double", x.to(torch::kDouble));
    note("softmax", torch::softmax(x, 1));
    note("exp", torch::exp(x));
    note("sigmoid", torch::sigmoid(x));
    note("gelu", torch::gelu(x));
    note("sum", x.sum());
    note("index", x.index({torch::tensor({0, 1}, torch::kLong)}));
    note("mse_loss", torch::mse_loss(x, embedded));
    note("cross_entropy",
         torch::nn::functional::cross_entropy(x, torch::tensor({0, 1}, torch::kLong)));
    note("integers", x.argmax(1));
    return made;
  }

  torch::nn::Conv2d convolution{nullptr};
  torch::nn::BatchNorm2d norm{nullptr};
  torch::nn::GroupNorm group{nullptr};
  torch::nn::Linear linear{nullptr}, bare{nullptr};
  torch::nn::LayerNorm layer{nullptr};
  torch::nn::Embedding words{nullptr};
  torch::nn::PReLU prelu{nullptr};
};

}  // namespace

TEST_CASE("What is foreseen of each kind of operator is what an autocast region does") {
  Mixture net;
  std::vector<std::pair<std::string, torch::Tensor>> observed;
  const auto follower = follow(net.named_parameters(), torch::kCPU, [&] { observed = net.run(); });
  std::vector<std::pair<std::string, torch::Tensor>> in_region;
  {
    const torchamp::AutocastGuard region(torch::kCPU);
    in_region = net.run();
  }

  REQUIRE(observed.size() == in_region.size());
  for (std::size_t i = 0; i < observed.size(); ++i) {
    CAPTURE(observed[i].first);
    CHECK(follower->forecast.is_lower(observed[i].second) ==
          (in_region[i].second.scalar_type() == torch::kBFloat16));
  }
}

TEST_CASE("CUDA's lists differ from the CPU's: softmax and layer norm are in float32") {
  Mixture net;
  std::vector<std::pair<std::string, torch::Tensor>> observed;
  const auto follower = follow(net.named_parameters(), torch::kCUDA, [&] { observed = net.run(); });
  std::map<std::string, bool> lower;
  for (const auto& [name, tensor] : observed) lower[name] = follower->forecast.is_lower(tensor);

  for (const std::string name :
       {"conv2d", "batch_norm", "relu", "linear", "gelu", "prelu", "clone"}) {
    CAPTURE(name);
    CHECK(lower[name]);
  }
  for (const std::string name :
       {"data", "softmax", "exp", "sum", "layer_norm", "group_norm", "mse_loss", "cross_entropy",
        "embedding", "cat", "promoted", "double"}) {
    CAPTURE(name);
    CHECK_FALSE(lower[name]);
  }
}

TEST_CASE("Operators belong to the module whose parameters they take, or stand after it") {
  Mixture net;
  const auto follower = follow(net.named_parameters(), torch::kCUDA, [&] {
    torch::gelu(net.linear(torch::ones({1, 4})));
    torch::sin(torch::ones({1}));
  });

  CHECK(follower->places["aten::addmm"] == "linear");
  CHECK(follower->places["aten::gelu"] == "after linear");
  CHECK(follower->places["aten::sin"] == "before any parameter");
}

TEST_CASE("What is made of parameters alone is theirs, and no activation") {
  Mixture net;
  const auto follower = follow(net.named_parameters(), torch::kCUDA, [&] {
    const auto scaled = net.bare->weight * 2;
    torch::mm(torch::ones({1, 3}), scaled);
  });

  CHECK(follower->visits.count("aten::mul") == 0);
  CHECK(follower->places["aten::mm"] == "bare");
  CHECK(follower->parameter_casts["aten::mm"] == 1);
  CHECK(follower->casts["aten::mm"] == 1);  // the ones
}

TEST_CASE("Only operators in lower precision cast, and only what is in float32") {
  Mixture net;
  const auto follower = follow(net.named_parameters(), torch::kCUDA, [&] {
    const auto half = net.bare(torch::ones({1, 3}));  // casts its input
    net.bare(half);                                   // does not
    torch::exp(half);
  });

  CHECK(follower->casts["aten::matmul"] == 1);
  CHECK(follower->parameter_casts["aten::matmul"] == 2);
  CHECK(follower->casts.count("aten::exp") == 0);
}

TEST_CASE("Operators inside one that autocast knows are not looked at") {
  Mixture net;
  const auto follower = follow(net.named_parameters(), torch::kCUDA, [&] {
    net.bare(torch::ones({1, 3}));
  });

  CHECK(follower->visits["aten::matmul"] == 1);
  CHECK(follower->visits.count("aten::mm") == 0);
}

TEST_CASE("float64 and complex values are left alone") {
  const auto follower = follow(Parameters(), torch::kCUDA, [&] {
    torch::mm(torch::ones({1, 1}, torch::kDouble), torch::ones({1, 1}, torch::kDouble));
    torch::mm(torch::ones({1, 1}, torch::kComplexFloat), torch::ones({1, 1}, torch::kComplexFloat));
  });

  CHECK(follower->casts.empty());
}
