// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/non_finite_tracer.h>
#include <torchamp/probe/memory.h>
#include <torchamp/probe/trace.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"
#include "support/scratch_folder.h"

#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using torchamp::NamedScope;
using torchamp::NonFiniteFinding;
using torchamp::NonFiniteTracer;
using torchamp::NonFiniteTracerOptions;
using torchamp::OnNonFinite;
using Origin = torchamp::NonFiniteFinding::Origin;
using Names = std::vector<std::string>;

static_assert(!std::is_copy_constructible_v<NonFiniteTracer>);
static_assert(!std::is_move_constructible_v<NonFiniteTracer>);

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A tensor of float16.
torch::Tensor half(const std::vector<float>& values) {
  return torch::tensor(values).to(torch::kHalf);
}

/// What a tracer finds in `function()`.
template <class Function>
std::vector<NonFiniteFinding> found_in(const Function& function) {
  NonFiniteTracer tracer;
  function();
  return tracer.findings();
}

/// The operator that is named, "" for an empty report. There must not be more than one.
template <class Function>
std::string op_found_in(const Function& function) {
  const auto findings = found_in(function);
  CHECK(findings.size() <= 1);
  return findings.empty() ? "" : findings.front().op;
}

struct TwoLayers : torch::nn::Module {
  TwoLayers() {
    conv1 = register_module("conv1", torch::nn::Conv2d(1, 2, 3));
    conv2 = register_module("conv2", torch::nn::Conv2d(2, 2, 3));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torchamp::named_call(*this, conv1, x));
    return torchamp::named_call(*this, conv2, x).mean();
  }
  torch::nn::Conv2d conv1{nullptr};
  torch::nn::Conv2d conv2{nullptr};
};

}  // namespace

TEST_CASE("exp in float16 is named, with the shapes and dtypes of its inputs") {
  const auto findings = found_in([] { half({1, 12, 2}).exp().sum(); });

  REQUIRE(findings.size() == 1);
  const auto& found = findings.front();
  CHECK(found.origin == Origin::Operator);
  CHECK(found.op == "aten::exp");
  REQUIRE(found.inputs.size() == 1);
  CHECK(found.inputs[0].argument == "self");
  CHECK(found.inputs[0].dtype == torch::kHalf);
  CHECK(found.inputs[0].sizes == std::vector<int64_t>{3});
  CHECK_FALSE(found.inputs[0].kinds.any());
  CHECK(found.inputs[0].largest == 12);
  REQUIRE(found.results.size() == 1);
  CHECK(found.results[0].inf_count == 1);
  CHECK(found.results[0].first_index == 1);
  CHECK_FALSE(found.in_backward());
}

TEST_CASE("A mask of finite numbers that float16 does not have is named where it overflows") {
  CHECK(op_found_in([] { (half({0, 1}) * -1e9).softmax(0); }) == "aten::mul");
  CHECK(op_found_in([] { half({0, 1}) + -65536.0; }) == "aten::add");
  CHECK(op_found_in([] { torch::tensor({0.F, -65536.F}).to(torch::kHalf); }) == "aten::_to_copy");
}

TEST_CASE("A variance by cancellation is named at the square root of what is below 0") {
  CHECK(op_found_in([] {
          // Both squares and both means are rounded: 10016 - 10024.
          const auto x = half({100.0625F, 100.125F});
          const auto variance = (x * x).mean() - x.mean() * x.mean();
          variance.sqrt();
        }) == "aten::sqrt");
}

TEST_CASE("An epsilon that float16 rounds to 0 is named at the division by it") {
  const auto x = half({3, 3});
  CHECK(op_found_in([&] { (x - x.mean()) / (x.var(0, false) + 1e-8).sqrt(); }) == "aten::div");
  CHECK(op_found_in([&] { (x.var(0, false) + 1e-8).rsqrt(); }) == "aten::rsqrt");
}

TEST_CASE("A one-element float16 loss is named where it is scaled") {
  CHECK(op_found_in([] { half({2}) * 65536.0; }) == "aten::mul");
}

TEST_CASE("A poisoned parameter is named, and where it is read first") {
  torch::manual_seed(0);
  TwoLayers net;
  {
    const torch::NoGradGuard no_grad;
    net.conv2->weight[0][0][0][0] = inf;
  }
  NonFiniteTracer tracer(net);

  net.forward(torch::randn({1, 1, 6, 6})).backward();

  REQUIRE(tracer.findings().size() == 1);
  const auto found = *tracer.first();
  CHECK(found.origin == Origin::Input);
  CHECK(found.parameter == "conv2.weight");
  CHECK(found.module() == "conv2");
  CHECK(found.scopes == Names{"conv2"});
  REQUIRE(found.inputs.size() == 3);
  CHECK(found.inputs[1].name == "conv2.weight");
  CHECK(found.inputs[1].kinds.positive_inf);
  CHECK_FALSE(found.inputs[0].kinds.any());
}

TEST_CASE("Bad data is no fault of the operator that reads it first, and is told once") {
  const auto data = torch::tensor({1.F, not_a_number});
  const auto findings = found_in([&] {
    data.mul(2).exp();
    data.mul(3);
  });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].origin == Origin::Input);
  CHECK(findings[0].op == "aten::mul");
  CHECK(findings[0].inputs[0].kinds.nan);
}

TEST_CASE("Data that are made in the scope with NaN are bad data, and masks are masks") {
  const auto given = found_in([] { torch::tensor({1.F, not_a_number}).mul(2); });
  REQUIRE(given.size() == 1);
  CHECK(given[0].origin == Origin::Input);
  CHECK(given[0].op == "aten::fill_");

  const auto by_hand = [](float value) {  // as a reader of files fills a batch
    auto data = torch::empty({2});
    data.data_ptr<float>()[0] = 1;
    data.data_ptr<float>()[1] = value;
    data.mul(2).softmax(0);
  };
  CHECK(op_found_in([&] { by_hand(1); }) == "");
  CHECK(op_found_in([&] { by_hand(-inf); }) == "");
  const auto read = found_in([&] { by_hand(not_a_number); });
  REQUIRE(read.size() == 1);
  CHECK(read[0].origin == Origin::Uninitialised);
  CHECK(read[0].op == "aten::mul");
}

TEST_CASE("A running variance that overflows is named, and is known in evaluation") {
  torch::nn::BatchNorm1d norm(1);
  NonFiniteTracer tracer(norm);

  // The variance, 2e40, is more than float32 has; divided by it all is 0, and finite.
  const auto y = norm(torch::tensor({{1e20F}, {-1e20F}}));
  CHECK(y.isfinite().all().item<bool>());
  norm->running_mean.fill_(not_a_number);
  norm->eval();
  norm(torch::ones({1, 1}));

  REQUIRE(tracer.findings().size() == 2);
  CHECK(tracer.findings()[0].op == "aten::native_batch_norm");
  CHECK(tracer.findings()[0].origin == Origin::Operator);
  CHECK(tracer.findings()[1].op == "aten::fill_");
}

TEST_CASE("Buffers have names too, of a module as of what points to one, and tensors in a map") {
  torch::nn::BatchNorm1d norm(1);
  norm->running_var.fill_(inf);
  norm->eval();
  const auto name_of_variance = [&](const NonFiniteTracer& tracer) {
    norm(torch::full({1, 1}, inf));
    REQUIRE(tracer.first());
    return tracer.first()->inputs.at(4).name;
  };
  const std::map<std::string, torch::Tensor> map{{"mine", norm->running_var}};

  CHECK(name_of_variance(NonFiniteTracer(norm)) == "running_var");
  CHECK(name_of_variance(NonFiniteTracer(*norm)) == "running_var");
  CHECK(name_of_variance(NonFiniteTracer(map)) == "mine");
}

TEST_CASE("What overflows in backward alone is named with the forward operator and its scopes") {
  const auto x = torch::zeros({2}, torch::requires_grad());
  NonFiniteTracer tracer;
  {
    NamedScope outer("encoder");
    NamedScope inner("norm");
    const auto y = x.sqrt();
    tracer.check();
    NamedScope unrelated("loss");
    y.sum().backward();
  }

  REQUIRE(tracer.findings().size() == 1);
  const auto found = *tracer.first();
  CHECK(found.op == "aten::div");
  CHECK(found.node == "SqrtBackward0");
  CHECK(found.forward_op == "aten::sqrt");
  CHECK(found.forward_scopes == Names{"encoder", "norm"});
  CHECK(found.scopes == Names{"encoder", "norm", "loss"});
  CHECK(found.module() == "encoder.norm");
}

TEST_CASE("A gradient that overflows in float16 is named with the layer it belongs to") {
  torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::Linear(2, 1));
  net->to(torch::kHalf);
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.fill_(1);
    net[1]->as<torch::nn::Linear>()->weight.fill_(4);
  }
  NonFiniteTracer tracer(net);

  // 3 x 20000, the gradient of the weight, is finite; 4 x 20000, that of the input, is not.
  net->forward(half({1, 1}).reshape({1, 2})).backward(half({20000}).reshape({1, 1}));

  REQUIRE(tracer.findings().size() == 1);
  const auto found = tracer.first();
  CHECK(found->op == "aten::mm");
  CHECK(found->node == "AddmmBackward0");
  CHECK(found->inputs[1].name == "1.weight");
  CHECK(found->forward_op == "aten::addmm");
  CHECK(found->module() == "1");
}

TEST_CASE("Gradients that are finite and whose sum is not are named where they are added up") {
  torch::nn::Linear layer(1, 1);
  layer->to(torch::kHalf);
  layer->weight.mutable_grad() = half({60000}).reshape({1, 1});
  NonFiniteTracer tracer(layer);

  layer->weight.mul(60000.0).sum().backward();

  const auto found = tracer.first();
  REQUIRE(found);
  CHECK(found->op == "aten::add_");
  CHECK(found->node == "torch::autograd::AccumulateGrad");
  CHECK(found->inputs[0].name == "gradient of weight");
}

TEST_CASE("Gradients of two uses that the engine adds up belong to the node that it came from") {
  const auto x = half({0}).requires_grad_();
  const auto factor = half({60000});
  NonFiniteTracer tracer;

  const auto used_twice = x.neg();
  (used_twice.mul(factor) + used_twice.mul(factor)).sum().backward();  // 60000 + 60000

  const auto found = tracer.first();
  REQUIRE(found);
  CHECK(found->op.rfind("aten::add", 0) == 0);
  CHECK(found->node == "MulBackward0");
  CHECK(found->forward_op == "aten::mul");
}

TEST_CASE("Backward without its forward pass says so") {
  const auto x = torch::zeros({2}, torch::requires_grad());
  const auto y = x.sqrt().sum();
  NonFiniteTracer tracer;

  y.backward();

  REQUIRE(tracer.first());
  CHECK(tracer.first()->node == "SqrtBackward0");
  CHECK(tracer.first()->forward_op == "");
  CHECK(tracer.to_text().find("was not seen") != std::string::npos);
}

TEST_CASE("Gradients that are not accumulated are looked at as well") {
  const auto x = torch::zeros({2}, torch::requires_grad());
  const auto findings = found_in([&] { torch::autograd::grad({x.sqrt().sum()}, {x}); });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].node == "SqrtBackward0");
}

TEST_CASE("A tensor's hook and accumulated gradients are told without a forward operator") {
  const auto x = half({1}).requires_grad_();
  const auto y = x.mul(half({2}));
  y.register_hook([](const torch::Tensor& gradient) { return gradient * 60000.0; });
  NonFiniteTracer tracer;

  y.backward(half({2}));  // 2 x 60000
  x.mutable_grad() = half({60000});
  x.mul(1).backward(half({60000}));

  REQUIRE(tracer.findings().size() == 2);
  CHECK(tracer.findings()[0].op == "aten::mul");
  CHECK(tracer.findings()[0].node == "MulBackward0");
  CHECK(tracer.findings()[1].node == "torch::autograd::AccumulateGrad");
  CHECK(tracer.to_text().find("forward operator") == std::string::npos);
}

TEST_CASE("What a backward node makes on its way and overwrites is no finding") {
  struct Log : torch::autograd::Function<Log> {
    static torch::Tensor forward(torch::autograd::AutogradContext* context,
                                 const torch::Tensor& input) {
      context->save_for_backward({input});
      return input.log();
    }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::tensor_list& gradients) {
      const auto input = context->get_saved_variables()[0];
      auto gradient = gradients[0] / input;
      gradient.masked_fill_(input == 0, 0);
      return {gradient};
    }
  };
  const auto x = torch::zeros({2}, torch::requires_grad());
  NonFiniteTracer tracer(NonFiniteTracerOptions().allowed({"aten::log"}));

  Log::apply(x).sum().backward();

  CHECK(x.grad().eq(0).all().item<bool>());
  CHECK(tracer.to_text() == "no operator made values that are not finite\n");
}

TEST_CASE("Clean steps give an empty report, forward and backward, in float32 and under autocast") {
  torch::manual_seed(0);
  TwoLayers net;
  NonFiniteTracer tracer(net);

  for (const bool enabled : {false, true}) {
    torchamp::AutocastGuard autocast(torch::kCPU, torchamp::AutocastOptions().enabled(enabled));
    net.forward(torch::randn({2, 1, 6, 6})).backward();
  }

  CHECK(tracer.empty());
  CHECK_FALSE(tracer.first().has_value());
  CHECK_NOTHROW(tracer.check());
  CHECK(tracer.to_text() == "no operator made values that are not finite\n");
}

TEST_CASE("Under autocast the cast parameter is known by its name, and the pair is one finding") {
  torch::nn::Linear layer(2, 2);
  {
    const torch::NoGradGuard no_grad;
    layer->weight.fill_(60000);
    layer->bias.zero_();
  }
  NonFiniteTracer tracer(*layer);
  torchamp::AutocastGuard autocast(torch::kCPU, torchamp::AutocastOptions().dtype(torch::kHalf));

  layer->forward(torch::ones({1, 2}));

  REQUIRE(tracer.findings().size() == 1);
  const auto found = *tracer.first();
  CHECK(found.op == "aten::addmm");
  CHECK(found.called_by.empty());  // but for autocast's call of the same operator
  CHECK(found.parameter == "bias");
  REQUIRE(found.inputs.size() == 3);
  CHECK(found.inputs[2].name == "weight");
  CHECK(found.inputs[2].dtype == torch::kHalf);
}

TEST_CASE("A parameter that a cast cannot hold is named at the cast") {
  torch::nn::Linear layer(2, 2);
  {
    const torch::NoGradGuard no_grad;
    layer->weight.fill_(70000);
  }
  NonFiniteTracer tracer(*layer);
  torchamp::AutocastGuard autocast(torch::kCPU, torchamp::AutocastOptions().dtype(torch::kHalf));

  layer->forward(torch::ones({1, 2}));

  REQUIRE(tracer.findings().size() == 1);
  CHECK(tracer.first()->op == "aten::_to_copy");
  CHECK(tracer.first()->parameter == "weight");
}

TEST_CASE("In-place operators are judged by what they found, not by what they left") {
  CHECK(op_found_in([] {
          auto x = half({1, 12});
          x.exp_();
          x.add_(1);
        }) == "aten::exp_");
  CHECK(op_found_in([] {
          auto x = half({300, 1});
          x.mul_(x);
        }) == "aten::mul_");
  CHECK(op_found_in([] {
          auto out = torch::empty({2}, torch::kHalf);
          const auto x = half({1, 12});
          torch::exp_out(out, x);
        }) == "aten::exp");
  CHECK(op_found_in([] {
          std::vector<torch::Tensor> list{half({1, 1}), half({300})};
          torch::_foreach_mul_(list, 300.0);
        }) == "aten::_foreach_mul_");
}

TEST_CASE("A view is never blamed, and what reads a bad view knows why it is bad") {
  CHECK(op_found_in([] {
          const auto y = half({1, 12}).exp();
          y.view({2, 1}).slice(0, 1, 2).t().add(1);
          y.detach().reshape({-1}).neg();
        }) == "aten::exp");
}

TEST_CASE("Masks of infinities are no finding, however they are made and used") {
  const auto scores = torch::zeros({2, 2});
  const auto mask = torch::tensor({{false, true}, {false, false}});
  const auto from_before = torch::zeros({2, 2}).masked_fill(mask, -inf);
  NonFiniteTracer tracer;

  scores.masked_fill(mask, -inf).softmax(-1).log_softmax(-1);
  (scores + torch::full({2, 2}, -inf).triu(1)).softmax(-1);
  torch::where(mask, torch::full({}, -inf), scores).softmax(-1);
  torch::where(mask, -inf, scores).neg();
  (scores + from_before).softmax(-1);
  scores.clone().masked_fill_(mask, -inf).logsumexp(-1);
  const auto q = torch::ones({1, 2, 4}, torch::requires_grad());
  torch::scaled_dot_product_attention(q, q, q, mask.logical_not()).sum().backward();

  CHECK(tracer.to_text() == "no operator made values that are not finite\n");
}

TEST_CASE("A row that is masked throughout is a finding: NaN comes of infinities") {
  const auto findings = found_in([] {
    const auto scores = torch::zeros({1, 2});
    scores.masked_fill(torch::ones({1, 2}, torch::kBool), -inf).softmax(-1);
  });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].op == "aten::_softmax");
  CHECK(findings[0].inputs[0].kinds.negative_inf);
}

TEST_CASE("Operators that are allowed make what they like, and what comes of it is no finding") {
  const auto options = NonFiniteTracerOptions().allowed({"aten::log"});
  NonFiniteTracer tracer(options);

  torch::zeros({2}).log().mul(2);
  torch::full({2}, -1.0).log().mul(2);
  CHECK(tracer.empty());

  torch::zeros({2}).log2();
  CHECK(tracer.first()->op == "aten::log2");
}

TEST_CASE("Memory without values is no finding as long as nothing bad comes of it") {
  // Memory is used again, so that there is NaN in some of it.
  for (int i = 0; i < 8; ++i) torch::full({64}, not_a_number);
  NonFiniteTracer tracer;

  for (int i = 0; i < 8; ++i) {
    auto a = torch::empty({64});
    auto b = torch::empty_like(a);
    torch::empty_strided({64}, {1});
    a.new_empty({64});
    a.resize_({128});
    a.fill_(1).add_(1);
    b.slice(0, 0, 32).copy_(torch::ones({32}));
    b.slice(0, 32, 64).zero_();
    torch::cat({a, b}).sum();
    torch::randn({64});
  }

  CHECK(tracer.to_text() == "no operator made values that are not finite\n");
}

TEST_CASE("What reads memory that nothing was written to is told so") {
  auto memory = torch::full({4}, not_a_number);  // as freed memory may be
  NonFiniteTracer tracer;

  memory.resize_({4});
  memory.add(1).mul(2);
  CHECK(tracer.findings().size() == 1);
  memory.fill_(1);
  memory.add(1);

  REQUIRE(tracer.findings().size() == 1);
  CHECK(tracer.first()->origin == Origin::Uninitialised);
  CHECK(tracer.first()->op == "aten::add");
}

TEST_CASE("An operator in place on memory that nothing was written to is named") {
  auto memory = torch::full({4}, not_a_number);
  const auto findings = found_in([&] {
    memory.resize_({4});
    memory.add_(1);
    memory.mul(2);
  });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].origin == Origin::Uninitialised);
  CHECK(findings[0].op == "aten::add_");
}

TEST_CASE("Memory that an operator has filled is memory like any other") {
  const auto findings = found_in([] {
    auto memory = torch::empty({2});
    memory.fill_(1);
    memory.data_ptr<float>()[1] = not_a_number;
    memory.mul(2);
  });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].origin == Origin::Input);
}

TEST_CASE("Memory that was written to in part is told as such") {
  auto memory = torch::full({4}, not_a_number);
  const auto findings = found_in([&] {
    memory.resize_({4});
    memory.slice(0, 0, 2).zero_();
    memory.add(1);
  });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].origin == Origin::Uninitialised);
}

TEST_CASE("A parameter with -inf is no mask") {
  const auto weight = torch::tensor({1.F, -inf}).requires_grad_();

  CHECK(op_found_in([&] { weight.mul(2); }) == "aten::mul");
  CHECK(op_found_in([&] { weight.detach().mul(2); }) == "");
}

TEST_CASE("What comes of a finding is none, through gradients, optimizers and the next step") {
  torch::nn::Linear layer(1, 1);
  torch::optim::SGD optimizer(layer->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  NonFiniteTracer tracer(layer);

  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    layer->forward(torch::zeros({1, 1})).sub(layer->bias).sqrt().sum().backward();
    optimizer.step();
  }

  REQUIRE(tracer.findings().size() == 1);
  CHECK(tracer.first()->node == "SqrtBackward0");
}

TEST_CASE("Sparse tensors are looked at, and known again") {
  const auto findings = found_in([] {
    const auto values = half({1, 12}).exp();
    const auto sparse = torch::sparse_coo_tensor(torch::tensor({{0, 1}}), values, {2});
    sparse.mul(2).coalesce().to_dense();
  });

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].op == "aten::exp");
}

TEST_CASE("Without gradients and in inference mode the operator is named too") {
  const auto x = half({12});
  {
    const torch::NoGradGuard no_grad;
    CHECK(op_found_in([&] { x.exp().add(1); }) == "aten::exp");
  }
  const torch::InferenceMode inference;
  CHECK(op_found_in([&] { x.exp().add_(1); }) == "aten::exp");
  // A kernel that fills what its call of aten::empty gave it, here in sight of the tracer.
  const auto large = torch::full({1, 1, 4, 4}, 1e30);
  const auto op = op_found_in([&] { torch::conv2d(large, large).add(1); });
  CHECK(op.find("conv") != std::string::npos);
}

TEST_CASE("In inference mode masks are masks, in float16 too, and so are infinite numbers") {
  const auto scores = half({0, 1, 2, 3}).reshape({2, 2});
  const auto mask = torch::tensor({{false, true}, {false, false}});
  const torch::InferenceMode inference;
  NonFiniteTracer tracer;

  const auto masked = scores.masked_fill(mask, -inf);
  masked.gather(1, torch::tensor({{0, 1}, {1, 0}})).softmax(-1);
  torch::cat({masked, masked}).to(torch::kFloat).index_select(0, torch::tensor({0, 1})).softmax(-1);
  torch::where(mask, -inf, scores).neg();
  torch::ones({2}) + inf;

  CHECK(tracer.to_text() == "no operator made values that are not finite\n");
}

TEST_CASE("An inf on the way to a finite result is no finding, until backward reads it") {
  const auto x = half({3, 3, 3, 3}).reshape({1, 4}).requires_grad_();
  NonFiniteTracer tracer;

  // The reciprocal of the deviation, 1e6, is more than float16 has, and kept for backward.
  const auto y = torch::layer_norm(x, {4}, {}, {}, 1e-12);
  CHECK(y.isfinite().all().item<bool>());
  CHECK(tracer.empty());
  y.sum().backward();

  REQUIRE(tracer.first());
  CHECK(tracer.first()->op == "aten::native_layer_norm");
  CHECK(tracer.first()->called_by == Names{"aten::layer_norm"});
}

TEST_CASE("Independent overflows are separate findings, up to the most that are wanted") {
  NonFiniteTracer tracer(NonFiniteTracerOptions().max_findings(2));

  half({12}).exp();
  half({300}).square();
  half({300}).mul(300.0);

  REQUIRE(tracer.findings().size() == 2);
  CHECK(tracer.findings()[0].op == "aten::exp");
  CHECK(tracer.findings()[1].op == "aten::pow");
}

TEST_CASE("A module is named by its place in a Sequential, without and with scopes") {
  torch::nn::Sequential net({{"first", torch::nn::Linear(1, 1)},
                             {"act", torch::nn::Functional(torch::exp)},
                             {"second", torch::nn::Linear(1, 1)}});
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : net->parameters()) parameter.fill_(50);
  }
  NonFiniteTracer tracer(net);

  torchamp::named_forward(net, torch::ones({1, 1}));

  REQUIRE(tracer.findings().size() == 1);
  CHECK(tracer.first()->op == "aten::exp");
  CHECK(tracer.first()->module() == "act");
}

TEST_CASE("Throwing happens at the end of a named call, of run(), or when asked") {
  struct Overflow : torch::nn::Module {
    torch::Tensor forward(const torch::Tensor& x) { return x.exp(); }
  };
  struct Net : torch::nn::Module {
    Net() : bad(register_module("bad", std::make_shared<Overflow>())) {}
    std::shared_ptr<Overflow> bad;
  } net;
  const auto x = half({12});
  {
    NonFiniteTracer tracer(NonFiniteTracerOptions().on_finding(OnNonFinite::Throw));
    CHECK_ERROR(E32, torchamp::named_call(net, net.bad, x));
  }
  {
    NonFiniteTracer tracer(NonFiniteTracerOptions().on_finding(OnNonFinite::Throw));
    bool went_on = false;
    CHECK_ERROR(E32, tracer.run([&] {
      x.exp();
      went_on = true;
    }));
    CHECK(went_on);
    CHECK_ERROR_SAYS("aten::exp", tracer.check());
  }
  {
    NonFiniteTracer tracer(NonFiniteTracerOptions().on_finding(OnNonFinite::Throw));
    CHECK_ERROR(E32, torchamp::named_call(net, net.bad, x));
    CHECK_NOTHROW(torchamp::named_call(net, net.bad, torch::zeros({1})));
    CHECK_NOTHROW(tracer.run([] {}));
    CHECK_ERROR(E32, torchamp::named_call(net, net.bad, x));  // another overflow
    CHECK_ERROR(E32, tracer.check());
    CHECK_ERROR(E32, tracer.check());
    CHECK(tracer.findings().size() == 2);
  }
  {
    NonFiniteTracer tracer;
    CHECK(tracer.run([&] { return x.exp(); }).isinf().item<bool>());
    CHECK_NOTHROW(torchamp::named_call(net, net.bad, x));
    CHECK_ERROR(E32, tracer.check());
  }
}

TEST_CASE("Warnings are given when it happens, once each") {
  struct Handler : c10::WarningHandler {
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
    Names texts;
  } handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  NonFiniteTracer tracer(NonFiniteTracerOptions().on_finding(OnNonFinite::Warn));

  half({12}).exp().add(1);

  REQUIRE(handler.texts.size() == 1);
  CHECK(handler.texts[0].find("aten::exp made values") != std::string::npos);
}

TEST_CASE("Threads trace at once, each its own") {
  std::vector<std::thread> threads;
  Names found(4);
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([i, &found] {
      const auto x = half({12}).requires_grad_();
      NonFiniteTracer tracer;
      for (int step = 0; step < 20; ++step) x.mul(0.5).sum().backward();
      if (i % 2 == 0) x.exp();
      found[i] = tracer.empty() ? "none" : tracer.first()->op;
    });
  }
  for (auto& thread : threads) thread.join();

  CHECK(found == Names{"aten::exp", "none", "aten::exp", "none"});
}

TEST_CASE("One tracer is told by several threads at once, as by those of backward") {
  NonFiniteTracer tracer(NonFiniteTracerOptions().max_findings(100));
  const at::ThreadLocalState state;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&state] {
      const at::ThreadLocalStateGuard guard(state);
      const auto x = torch::zeros({2}, torch::requires_grad());
      for (int j = 0; j < 10; ++j) x.exp().sum().backward();
      x.sqrt().sum().backward();
    });
  }
  for (auto& thread : threads) thread.join();

  const auto findings = tracer.findings();
  REQUIRE(findings.size() == 4);
  for (const auto& found : findings) {
    CHECK(found.op == "aten::div");
    CHECK(found.node == "SqrtBackward0");
    CHECK(found.forward_op == "aten::sqrt");
  }
}

TEST_CASE("Backward on a thread of its own finds the forward operator of the other") {
  const auto x = torch::zeros({2}, torch::requires_grad());
  NonFiniteTracer tracer;
  const auto y = x.sqrt().sum();

  const at::ThreadLocalState state;
  std::thread([&] {
    const at::ThreadLocalStateGuard guard(state);
    y.backward();
  }).join();

  REQUIRE(tracer.first());
  CHECK(tracer.first()->node == "SqrtBackward0");
  CHECK(tracer.first()->forward_op == "aten::sqrt");
}

TEST_CASE("A tracer leaves nothing behind, also when a step throws") {
  const auto fails = [] {
    NonFiniteTracer tracer;
    NamedScope scope("step");
    torch::ones({2, 3}).mm(torch::ones({2, 3}));
  };
  CHECK_THROWS(fails());

  CHECK_FALSE(at::hasThreadLocalCallbacks());
  CHECK(torchamp::detail::OperatorObservers::current() == nullptr);
}

TEST_CASE("An operator that throws in a scope leaves the scopes right") {
  NonFiniteTracer tracer;
  try {
    NamedScope scope("left");
    torch::ones({2, 3}).mm(torch::ones({2, 3}));
  } catch (const c10::Error&) {
  }
  NamedScope scope("now");
  half({12}).exp();

  CHECK(tracer.first()->scopes == Names{"now"});
}

TEST_CASE("A memory probe sees the same with tracers, and tracers with each other") {
  const auto x = torch::ones({256});
  NonFiniteTracer outer;
  const torchamp::MemoryProbe probe(torch::kCPU);
  NonFiniteTracer inner;

  const auto y = x.neg();
  CHECK(probe.usage().peak_bytes == 1024);
  CHECK(probe.usage().allocations == 1);

  half({12}).exp();
  CHECK(inner.first()->op == "aten::exp");
  CHECK(outer.first()->op == "aten::exp");
}

TEST_CASE("A trace of LibTorch's profiler is the same in a tracer and around one") {
  const ScratchFolder folder;
  const auto x = half({12});
  const auto exps_in = [](const std::filesystem::path& file) {
    const auto text = ScratchFolder::read(file);
    int count = 0;
    for (auto at = text.find("\"aten::exp\""); at != std::string::npos;) {
      ++count;
      at = text.find("\"aten::exp\"", at + 1);
    }
    return count;
  };
  {
    NonFiniteTracer tracer;
    {
      const torchamp::TraceGuard trace((folder.path() / "in.json").string());
      x.exp();
    }
    x.exp();
    CHECK(tracer.findings().size() == 2);
  }
  {
    const torchamp::TraceGuard trace((folder.path() / "around.json").string());
    {
      NonFiniteTracer tracer;
      x.exp();
      CHECK(tracer.findings().size() == 1);
    }
    x.exp();
  }

  CHECK(exps_in(folder.path() / "in.json") == 1);
  CHECK(exps_in(folder.path() / "around.json") == 2);
  CHECK_FALSE(at::hasThreadLocalCallbacks());
}

TEST_CASE("A tracer calls no operator that the program does not call") {
  const auto x = torch::ones({4});
  OperatorCounter operators;
  NonFiniteTracer tracer;

  x.exp();

  CHECK(operators.more() == 1);
}

TEST_CASE("Options that make no sense are refused, and nothing listens") {
  CHECK_ERROR(E08, NonFiniteTracer(NonFiniteTracerOptions().max_findings(0)));
  CHECK_ERROR(E08, NonFiniteTracer(NonFiniteTracerOptions().allowed({"log"})));
  CHECK_FALSE(at::hasThreadLocalCallbacks());
}
