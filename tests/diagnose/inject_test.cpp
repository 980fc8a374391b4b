// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/diagnose/inject.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/optim/flat_parameters.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using torchamp::find_non_finite;
using torchamp::GradientInjection;
using torchamp::Injection;
using torchamp::OutputInjection;

static_assert(!std::is_copy_constructible_v<GradientInjection>);
static_assert(!std::is_move_constructible_v<GradientInjection>);
static_assert(!std::is_copy_constructible_v<OutputInjection>);
static_assert(!std::is_move_constructible_v<OutputInjection>);

namespace {

/// Collects LibTorch's warnings while it lives.
class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }

  std::vector<std::string> texts;

 private:
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

/// The gradient after one more backward pass of sum(2 * weight), from none.
torch::Tensor gradient_of(torch::Tensor& weight) {
  weight.mutable_grad() = torch::Tensor();
  (2 * weight).sum().backward();
  return weight.grad();
}

torch::Tensor ones() { return torch::ones({2, 2}, torch::requires_grad()); }

bool is_inf(const torch::Tensor& number) { return number.isinf().item<bool>(); }

}  // namespace

// --- Gradients ---------------------------------------------------------------------------------

TEST_CASE("A value is put into one element of a gradient, in one backward pass") {
  auto weight = ones();
  const GradientInjection fault(weight, Injection().element(3).call(2));

  CHECK(gradient_of(weight).eq(2).all().item<bool>());
  CHECK(fault.injected() == 0);
  const auto second = gradient_of(weight);
  CHECK(is_inf(second[1][1]));
  CHECK(second.eq(2).sum().item<int64_t>() == 3);
  CHECK(fault.injected() == 1);
  CHECK(gradient_of(weight).eq(2).all().item<bool>());
}

TEST_CASE("A parameter is found by its name in a module or among named parameters") {
  torch::nn::Linear linear(2, 1);
  const auto bad_after = [&](const auto& make) {
    linear->zero_grad();
    make([&] { linear(torch::ones({1, 2})).sum().backward(); });
    return find_non_finite(linear).tensors.at(0).name;
  };
  CHECK(bad_after([&](const auto& backward) {
          GradientInjection fault(linear, "bias");
          backward();
        }) == "bias");
  CHECK(bad_after([&](const auto& backward) {
          GradientInjection fault(*linear, "weight", Injection().value(NAN));
          backward();
        }) == "weight");
  CHECK(bad_after([&](const auto& backward) {
          GradientInjection fault(linear->named_parameters(), "bias");
          backward();
        }) == "bias");
}

TEST_CASE("After its scope a gradient fault is gone, also if it was left by an exception") {
  auto weight = ones();
  { const GradientInjection fault(weight, Injection().times(0)); }
  CHECK(find_non_finite({{"gradient", gradient_of(weight)}}).empty());
  try {
    const GradientInjection fault(weight, Injection().times(0));
    throw std::runtime_error("stop");
  } catch (const std::runtime_error&) {
  }
  CHECK(find_non_finite({{"gradient", gradient_of(weight)}}).empty());
}

TEST_CASE("Several faults of one tensor end in any order") {
  auto weight = ones();
  std::optional<GradientInjection> first, second;
  first.emplace(weight, Injection().element(0).times(0));
  second.emplace(weight, Injection().element(1).times(0));
  CHECK(gradient_of(weight).isinf().sum().item<int64_t>() == 2);
  first.reset();
  CHECK(gradient_of(weight).isinf().sum().item<int64_t>() == 1);
  CHECK(is_inf(weight.grad()[0][1]));
  second.reset();
  CHECK(gradient_of(weight).isinf().sum().item<int64_t>() == 0);
}

TEST_CASE("The value is added to what other passes brought, and another's tensor is not changed") {
  auto weight = ones();
  const auto given = torch::ones({2, 2});
  const GradientInjection fault(weight, Injection().value(7));

  weight.mutable_grad() = torch::ones({2, 2});
  weight.backward(given);

  CHECK(weight.grad()[0][0].item<float>() == 8);
  CHECK(given.eq(1).all().item<bool>());
}

TEST_CASE("A scaler skips the step of the fault and no other") {
  auto weight = ones();
  torch::optim::SGD optimizer({weight}, 0.1);
  torchamp::GradScaler scaler;
  const GradientInjection fault(weight, Injection().value(NAN).call(3));
  std::string taken;
  for (int step = 1; step <= 4; ++step) {
    optimizer.zero_grad();
    scaler.scale(weight.sum()).backward();
    taken += scaler.step(optimizer).taken() ? "t" : "s";
    scaler.update();
  }
  CHECK(taken == "ttst");
}

TEST_CASE("Faults reach flat gradients, sparse ones, activations and a gradient's gradient") {
  auto flat_weight = ones();
  {
    const torchamp::FlatParameters flat(std::vector<torch::Tensor>{flat_weight});
    const GradientInjection fault(flat_weight);
    flat_weight.sum().backward();
    CHECK_FALSE(find_non_finite(flat.parameters(), torchamp::NonFiniteIn::Gradients).empty());
  }

  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(4, 2).sparse(true));
  {
    const GradientInjection fault(embedding, "weight", Injection().element(1));
    embedding(torch::tensor({3})).sum().backward();
    CHECK(find_non_finite(embedding).tensors.at(0).first_coordinates == std::vector<int64_t>{3, 1});
  }

  const auto weight = ones();
  const auto activation = 2 * weight;
  {
    const GradientInjection fault(activation);
    activation.sum().backward();
    CHECK(is_inf(weight.grad()[0][0]));
    CHECK(weight.grad()[0][1].item<float>() == 2);
  }

  const auto x = torch::ones({1}, torch::requires_grad());
  const GradientInjection fault(x, Injection().value(5));
  const auto gradient = torch::autograd::grad({x.pow(3).sum()}, {x}, {}, true, true)[0];
  CHECK(gradient.item<float>() == 5);
  CHECK(gradient.requires_grad());
}

TEST_CASE("A fault of a tensor that was changed in place since leaves the hooks of others alone") {
  auto weight = ones();
  auto hidden = 2 * weight;
  int fired = 0;
  {
    const GradientInjection fault(hidden);
    hidden.mul_(3);
    hidden.register_hook([&fired](const torch::Tensor&) { ++fired; });
  }
  hidden.sum().backward();

  CHECK(fired == 1);
  CHECK(weight.grad().eq(6).all().item<bool>());
}

TEST_CASE("Gradient faults that make no sense are refused, and leave no hook") {
  torch::nn::Linear linear(2, 1);
  CHECK_ERROR(E31, GradientInjection(linear, "wieght"));
  CHECK_ERROR_SAYS("there are: weight, bias", GradientInjection(linear, "wieght"));
  CHECK_ERROR(E31, GradientInjection(torch::ones({2})));
  CHECK_ERROR(E31, GradientInjection(torch::Tensor()));
  CHECK_ERROR(E31, GradientInjection(linear->weight, Injection().element(2)));
  CHECK_ERROR(E31, GradientInjection(linear->weight, Injection().call(0)));

  linear(torch::ones({1, 2})).sum().backward();
  CHECK(find_non_finite(linear).empty());
}

TEST_CASE("An element that a sparse gradient has not is refused out of backward") {
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(4, 2).sparse(true));
  const GradientInjection fault(embedding, "weight", Injection().element(2));
  CHECK_ERROR(E31, embedding(torch::tensor({3})).sum().backward());
  CHECK(fault.injected() == 0);
}

// --- Outputs -----------------------------------------------------------------------------------

TEST_CASE("A value is put into what one call of an operator returns") {
  const auto x = torch::zeros({3});
  const OutputInjection fault("aten::exp", Injection().element(1).call(2));

  CHECK(x.exp().eq(1).all().item<bool>());
  const auto second = x.exp();
  CHECK(is_inf(second[1]));
  CHECK(second.eq(1).sum().item<int64_t>() == 2);
  CHECK(x.exp().eq(1).all().item<bool>());
  CHECK(x.cos().eq(1).all().item<bool>());
  CHECK(fault.injected() == 1);
}

TEST_CASE("After its scope an output fault is gone, also if it was left by an exception") {
  const auto x = torch::zeros({1});
  try {
    const OutputInjection fault("aten::exp", Injection().times(0));
    CHECK(is_inf(x.exp()));
    throw std::runtime_error("stop");
  } catch (const std::runtime_error&) {
  }
  CHECK(x.exp().item<float>() == 1);
  OperatorCounter operators;
  (void)x.exp();
  CHECK(operators.more() == 1);
}

TEST_CASE("A step is what the program says it is") {
  const auto x = torch::zeros({1});
  OutputInjection fault("aten::exp", Injection().step(2).call(2));
  std::string seen;
  for (int step = 1; step <= 3; ++step) {
    for (int call = 1; call <= 3; ++call) seen += is_inf(x.exp()) ? "!" : ".";
    fault.next_step();
  }
  CHECK(seen == "....!....");
}

TEST_CASE("Autograd does not notice, and backward goes by what was put in") {
  const auto weight = torch::zeros({2}, torch::requires_grad());
  const OutputInjection fault("aten::exp", Injection().value(5));
  const auto result = weight.exp();
  CHECK(result.requires_grad());
  result.sum().backward();
  CHECK(weight.grad()[0].item<float>() == 5);  // exp's gradient is its result
  CHECK(weight.grad()[1].item<float>() == 1);
}

TEST_CASE("Under autocast a call counts once, although LibTorch tells of it twice") {
  const auto a = torch::ones({2, 2});
  const OutputInjection fault("aten::mm", Injection().call(2));
  torchamp::AutocastGuard autocast(torch::kCPU, torch::kBFloat16);
  CHECK(torch::mm(a, a).isfinite().all().item<bool>());
  const auto second = torch::mm(a, a);
  CHECK(second.scalar_type() == torch::kBFloat16);
  CHECK(is_inf(second[0][0]));
  CHECK(torch::mm(a, a).isfinite().all().item<bool>());
}

TEST_CASE("Operators of a backward pass count too") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto loss = torch::mm(torch::ones({2, 2}), weight).sum();
  const OutputInjection fault("aten::mm");
  loss.backward();
  CHECK(fault.injected() == 1);
  CHECK(is_inf(weight.grad()[0][0]));
}

TEST_CASE("In-place operators, views, and one of several outputs can have a fault") {
  auto x = torch::zeros({4});
  {
    const OutputInjection fault("aten::add_");
    x.add_(1);
    CHECK(is_inf(x[0]));
  }
  x.zero_();
  {
    const OutputInjection fault("aten::slice", Injection().value(NAN));
    const auto view = x.slice(0, 2, 4);
    CHECK(view[0].isnan().item<bool>());
    CHECK(x[2].isnan().item<bool>());  // the view's memory is that of x
  }
  x.zero_();
  {
    const OutputInjection fault("aten::aminmax", Injection().output(1));
    const auto [smallest, largest] = x.aminmax();
    CHECK(smallest.item<float>() == 0);
    CHECK(is_inf(largest));
  }
  {
    const OutputInjection fault("aten::split", Injection().output(1).value(NAN));
    const auto parts = x.split(2);
    CHECK(parts[0].eq(0).all().item<bool>());
    CHECK(parts[1][0].isnan().item<bool>());
  }
}

TEST_CASE("An output that cannot take the value gives a warning, and is as it was") {
  const auto x = torch::zeros({2});
  Warnings warnings;
  const OutputInjection past_the_end("aten::exp", Injection().element(2));
  CHECK(x.exp().eq(1).all().item<bool>());
  const OutputInjection no_such_output("aten::cos", Injection().output(1));
  CHECK(x.cos().eq(1).all().item<bool>());
  const OutputInjection whole_number("aten::argmax");
  CHECK(x.argmax().item<int64_t>() == 0);

  REQUIRE(warnings.texts.size() == 3);
  CHECK(warnings.texts[0].find("[torchamp.E31]") != std::string::npos);
  CHECK(warnings.texts[0].find("aten::exp has 2 elements") != std::string::npos);
  CHECK(warnings.texts[1].find("aten::cos has 1 outputs") != std::string::npos);
  CHECK(past_the_end.injected() + no_such_output.injected() + whole_number.injected() == 0);
}

TEST_CASE("An operator whose overloads all have names is one, as is one that returns nothing") {
  std::vector<torch::Tensor> list{torch::ones({2})};
  const OutputInjection of_all_overloads("aten::mul", Injection().value(7));
  const OutputInjection returns_nothing("aten::_foreach_mul_", Injection().times(0));

  CHECK(torch::mul(list[0], list[0])[0].item<float>() == 7);
  torch::_foreach_mul_(list, 2);
  CHECK(list[0].eq(2).all().item<bool>());
  CHECK(returns_nothing.injected() == 0);
}

TEST_CASE("Other threads are left alone") {
  const OutputInjection fault("aten::exp", Injection().times(0));
  bool finite = false;
  std::thread([&] { finite = torch::zeros({1}).exp().item<float>() == 1; }).join();
  CHECK(finite);
  CHECK(fault.injected() == 0);
}

TEST_CASE("An output that throws is no place for a value, and the next call counts on") {
  const OutputInjection fault("aten::mm", Injection().call(1));
  CHECK_THROWS(torch::mm(torch::ones({2, 3}), torch::ones({2, 3})));
  CHECK(is_inf(torch::mm(torch::ones({2, 2}), torch::ones({2, 2}))[0][0]));
}

TEST_CASE("Output faults that make no sense are refused, and nothing listens") {
  CHECK_ERROR(E31, OutputInjection("exp"));
  CHECK_ERROR(E31, OutputInjection("aten::exq"));
  CHECK_ERROR(E31, OutputInjection("aten::exp.out"));
  CHECK_ERROR_SAYS(
      "\"aten::exp.out\" is no operator's name; write it as \"aten::exp\", without an"
      " overload",
      OutputInjection("aten::exp.out"));
  CHECK_ERROR(E31, OutputInjection("aten::exp", Injection().times(-1)));
  CHECK(torchamp::detail::OperatorObservers::current() == nullptr);
}
