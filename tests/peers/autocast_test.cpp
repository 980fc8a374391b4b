// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What the tests of other mixed-precision libraries ask of autocast, asked of ours on a CPU. The
// names in brackets are those of PyTorch's tests, or Apex's; tests/PEER_TESTS.md has the whole
// list.
#include <torchamp/core/autocast.h>
#include <torchamp/core/autocast_state.h>
#include <torchamp/core/custom_function.h>
#include <torchamp/core/device.h>
#include <torchamp/core/linear.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <ATen/CachedTensorUtils.h>
#include <torch/nn/parallel/data_parallel.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using torchamp::AutocastGuard;
using torchamp::AutocastOptions;
using torchamp::AutocastState;
using torchamp::AutocastStateGuard;
using torchamp::FullPrecisionGuard;

namespace {

const auto cpu = torch::kCPU;
const std::vector<torch::Dtype> halves{torch::kBFloat16, torch::kHalf};

using Tensors = std::vector<Tensor>;

/// An operator and arguments for it.
struct Op {
  const char* name;
  Tensors inputs;
  std::function<Tensor(const Tensors&)> run;
};

Tensors cast(const Tensors& tensors, torch::Dtype dtype) {
  Tensors results;
  for (const auto& tensor : tensors) {
    results.push_back(tensor.is_floating_point() ? tensor.to(dtype) : tensor);
  }
  return results;
}

/// Checks that in a region of dtype `region` the operator gives `out`, and bit for bit what it
/// gives with autocast off for inputs cast to `runs_in`.
void check_op(const Op& op, torch::Dtype region, torch::Dtype runs_in, torch::Dtype out) {
  INFO(std::string(op.name), " in a region of ", std::string(c10::toString(region)));
  CHECK_FALSE(at::autocast::is_autocast_enabled(cpu));
  AutocastGuard autocast(cpu, region);

  const auto output = op.run(op.inputs);

  CHECK(output.scalar_type() == out);
  {
    FullPrecisionGuard off(cpu);
    CHECK(output.equal(op.run(cast(op.inputs, runs_in))));
  }
  CHECK(at::autocast::is_autocast_enabled(cpu));
}

Tensor random(at::IntArrayRef sizes) { return torch::randn(sizes); }

std::vector<Op> ops_in_half() {
  const auto mat = [] { return random({8, 8}); };
  const auto batch = [] { return random({8, 8, 8}); };
  const auto three = [] { return random({4, 4, 5}); };
  const auto four = [] { return random({4, 4, 5, 5}); };
  const auto five = [] { return random({4, 4, 5, 5, 5}); };
  std::vector<Op> ops{
      {"conv1d", {three(), three()}, [](auto& x) { return at::conv1d(x[0], x[1]); }},
      {"conv2d", {four(), four()}, [](auto& x) { return at::conv2d(x[0], x[1]); }},
      {"conv3d", {five(), five()}, [](auto& x) { return at::conv3d(x[0], x[1]); }},
      {"bmm", {batch(), batch()}, [](auto& x) { return at::bmm(x[0], x[1]); }},
      {"mm", {mat(), mat()}, [](auto& x) { return at::mm(x[0], x[1]); }},
      {"matmul", {mat(), mat()}, [](auto& x) { return at::matmul(x[0], x[1]); }},
      {"Tensor::matmul", {mat(), mat()}, [](auto& x) { return x[0].matmul(x[1]); }},
      {"baddbmm",
       {batch(), batch(), batch()},
       [](auto& x) { return at::baddbmm(x[0], x[1], x[2]); }},
      {"addmm", {mat(), mat(), mat()}, [](auto& x) { return at::addmm(x[0], x[1], x[2]); }},
      {"Tensor::addmm", {mat(), mat(), mat()}, [](auto& x) { return x[0].addmm(x[1], x[2]); }},
      {"addbmm", {mat(), batch(), batch()}, [](auto& x) { return at::addbmm(x[0], x[1], x[2]); }},
      {"conv_tbc",
       {random({10, 7, 3}), random({5, 3, 5}), random({5})},
       [](auto& x) { return at::conv_tbc(x[0], x[1], x[2], 0); }},
      {"conv_transpose1d",
       {three(), three()},
       [](auto& x) { return at::conv_transpose1d(x[0], x[1]); }},
      {"conv_transpose2d",
       {four(), four()},
       [](auto& x) { return at::conv_transpose2d(x[0], x[1]); }},
      {"conv_transpose3d",
       {five(), five()},
       [](auto& x) { return at::conv_transpose3d(x[0], x[1]); }},
      {"prelu", {random({8}), random({1})}, [](auto& x) { return at::prelu(x[0], x[1]); }},
      {"_native_multi_head_attention",
       {batch(), batch(), batch(), random({24, 8}), random({24}), mat(), random({8})},
       [](auto& x) {
         return std::get<0>(
             at::_native_multi_head_attention(x[0], x[1], x[2], 8, 4, x[3], x[4], x[5], x[6]));
       }},
      {"linear", {mat(), mat()}, [](auto& x) { return at::linear(x[0], x[1]); }},
  };
  if (torchamp::detail::libtorch_at_least(2, 11)) {  // 2.4 leaves it in float32
    ops.push_back({"_addmm_activation", {mat(), mat(), mat()}, [](auto& x) {
                     return at::_addmm_activation(x[0], x[1], x[2], 1, 1, true);
                   }});
  }
  return ops;
}

std::vector<Op> ops_in_float32() {
  const auto half = [](const Tensor& tensor) { return tensor.to(torch::kBFloat16); };
  const auto mat = [&] { return half(random({8, 8})); };
  const auto probability = [&] { return half(torch::rand({8, 8})); };
  const auto ones = [](at::IntArrayRef sizes) { return torch::ones(sizes, torch::kLong); };
  const auto zeros = [](at::IntArrayRef sizes) { return torch::zeros(sizes, torch::kLong); };
  return {
      {"poisson_nll_loss",
       {mat(), mat()},
       [](auto& x) {
         return at::poisson_nll_loss(x[0], x[1], true, false, 1e-8, at::Reduction::Mean);
       }},
      {"cosine_embedding_loss",
       {mat(), mat(), ones({8})},
       [](auto& x) { return at::cosine_embedding_loss(x[0], x[1], x[2]); }},
      {"hinge_embedding_loss",
       {mat(), ones({8})},
       [](auto& x) { return at::hinge_embedding_loss(x[0], x[1]); }},
      {"margin_ranking_loss",
       {mat(), mat(), half(torch::ones({8}))},
       [](auto& x) { return at::margin_ranking_loss(x[0], x[1], x[2]); }},
      {"triplet_margin_loss",
       {mat(), mat(), mat()},
       [](auto& x) { return at::triplet_margin_loss(x[0], x[1], x[2]); }},
      {"binary_cross_entropy_with_logits",
       {mat(), probability()},
       [](auto& x) { return at::binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"binary_cross_entropy",  // refused on CUDA, cast on a CPU
       {probability(), probability()},
       [](auto& x) { return at::binary_cross_entropy(x[0], x[1]); }},
      {"avg_pool3d",
       {half(random({8, 8, 8, 8}))},
       [](auto& x) {
         return at::avg_pool3d(x[0], {3, 3, 3}, {1, 1, 1});
       }},
      {"reflection_pad1d",
       {half(random({8, 8, 8}))},
       [](auto& x) {
         return at::reflection_pad1d(x[0], {3, 3});
       }},
      {"nll_loss", {probability(), zeros({8})}, [](auto& x) { return at::nll_loss(x[0], x[1]); }},
      {"nll_loss2d",
       {half(torch::rand({8, 8, 8, 8})), zeros({8, 8, 8})},
       [](auto& x) { return at::nll_loss2d(x[0], x[1]); }},
      {"l1_loss", {mat(), mat()}, [](auto& x) { return at::l1_loss(x[0], x[1]); }},
      {"smooth_l1_loss", {mat(), mat()}, [](auto& x) { return at::smooth_l1_loss(x[0], x[1]); }},
      {"mse_loss", {mat(), mat()}, [](auto& x) { return at::mse_loss(x[0], x[1]); }},
      {"multilabel_margin_loss",
       {mat(), ones({8, 8})},
       [](auto& x) { return at::multilabel_margin_loss(x[0], x[1]); }},
      {"soft_margin_loss",
       {mat(), ones({8, 8})},
       [](auto& x) { return at::soft_margin_loss(x[0], x[1]); }},
      {"multi_margin_loss",
       {mat(), ones({8})},
       [](auto& x) { return at::multi_margin_loss(x[0], x[1]); }},
      {"huber_loss", {mat(), mat()}, [](auto& x) { return at::huber_loss(x[0], x[1]); }},
  };
}

/// Weight and bias in float32, applied to ones with what autocast makes of it.
struct Layer {
  Tensor weight = torch::ones({2, 2}, torch::requires_grad());
  Tensor bias = torch::ones({2}, torch::requires_grad());
  Tensor operator()() const { return at::linear(torch::ones({2, 2}), weight, bias); }

  /// Checks that both have the gradients of one forward pass summed up, `times` times.
  void check_gradients(float times) const {
    REQUIRE(weight.grad().defined());
    REQUIRE(bias.grad().defined());
    CHECK(weight.grad().equal(torch::full({2, 2}, 2 * times)));
    CHECK(bias.grad().equal(torch::full({2}, 2 * times)));
  }
};

/// Keeps oneDNN out of a scope: its LSTM refuses half precision on CPUs without such arithmetic.
struct WithoutOneDnn {
  WithoutOneDnn() : before(at::globalContext().userEnabledMkldnn()) {
    at::globalContext().setUserEnabledMkldnn(false);
  }
  ~WithoutOneDnn() { at::globalContext().setUserEnabledMkldnn(before); }
  WithoutOneDnn(const WithoutOneDnn&) = delete;
  WithoutOneDnn& operator=(const WithoutOneDnn&) = delete;
  bool before;
};

}  // namespace

TEST_CASE(
    "Operators of the 16-bit list run in the region's dtype [test_autocast_torch_16, _nn_16]") {
  torch::manual_seed(0);
  for (const auto dtype : halves) {
    for (const auto& op : ops_in_half()) check_op(op, dtype, dtype, dtype);
  }
}

TEST_CASE("Operators of the float32 list run in float32 [test_autocast_torch_fp32, _nn_fp32]") {
  torch::manual_seed(0);
  for (const auto dtype : halves) {
    for (auto op : ops_in_float32()) {
      op.inputs = cast(op.inputs, dtype);
      check_op(op, dtype, torch::kFloat, torch::kFloat);
    }
  }
}

TEST_CASE("cat and stack run in the widest dtype of their inputs [..._need_autocast_promote]") {
  for (const auto dtype : halves) {
    const Tensors mixed{random({8}).to(dtype), random({8})};
    check_op({"cat", mixed, [](auto& x) { return at::cat(x); }}, dtype, torch::kFloat,
             torch::kFloat);
    check_op({"stack", mixed, [](auto& x) { return at::stack(x); }}, dtype, torch::kFloat,
             torch::kFloat);
  }
}

TEST_CASE("Elementwise operators promote by themselves [..._expect_builtin_promote]") {
  using Run = Tensor (*)(const Tensor&, const Tensor&);
  const std::vector<std::pair<const char*, Run>> comparisons{
      {"eq", [](auto& a, auto& b) { return a == b; }},
      {"ge", [](auto& a, auto& b) { return a >= b; }},
      {"gt", [](auto& a, auto& b) { return a > b; }},
      {"le", [](auto& a, auto& b) { return a <= b; }},
      {"lt", [](auto& a, auto& b) { return a < b; }},
      {"ne", [](auto& a, auto& b) { return at::ne(a, b); }},
  };
  const std::vector<std::pair<const char*, Run>> arithmetic{
      {"add", [](auto& a, auto& b) { return a + b; }},
      {"div", [](auto& a, auto& b) { return a / b; }},
      {"mul", [](auto& a, auto& b) { return at::mul(a, b); }},
  };
  for (const auto dtype : halves) {
    const Tensors mixed{random({8}), random({8}).to(dtype)};
    const auto check = [&](const char* name, Run run, torch::Dtype out) {
      check_op({name, mixed, [run](auto& x) { return run(x[0], x[1]); }}, dtype, torch::kFloat,
               out);
    };
    for (const auto& [name, run] : comparisons) check(name, run, torch::kBool);
    for (const auto& [name, run] : arithmetic) check(name, run, torch::kFloat);
  }
}

TEST_CASE("float64 and integers are not touched [test_autocast_ignored_types]") {
  const auto wide = torch::ones({2, 2}, torch::kDouble);
  AutocastGuard autocast(cpu);

  CHECK(torch::mm(wide, wide).scalar_type() == torch::kDouble);
  CHECK((torch::ones({2}, torch::kLong) + 1).scalar_type() == torch::kLong);
  CHECK_THROWS(torch::mm(wide, torch::ones({2, 2})));
}

TEST_CASE(
    "Recurrent layers run in the region's dtype and get gradients [test_autocast_rnn, Apex "
    "test_rnn]") {
  torch::manual_seed(0);
  const auto input = random({3, 2, 4});  // steps, batch, features
  const WithoutOneDnn everywhere;
  // The state of an LSTM or a GRU is float32, and gates times state promote to it.
  const auto check = [&](auto layer, std::optional<torch::Dtype> out = std::nullopt) {
    for (const auto dtype : halves) {
      layer->zero_grad();
      Tensor output;
      {
        AutocastGuard autocast(cpu, dtype);
        output = std::get<0>(layer->forward(input));
      }
      const auto expected = std::get<0>(layer->forward(input));
      CHECK(output.scalar_type() == out.value_or(dtype));
      CHECK_FALSE(output.to(torch::kFloat).equal(expected));  // something ran in half precision
      CHECK(output.to(torch::kFloat).allclose(expected, 2e-2, 2e-2));

      output.sum().backward();
      for (const auto& parameter : layer->parameters()) CHECK(parameter.grad().defined());
    }
  };
  for (const int layers : {1, 2}) {
    for (const bool bias : {true, false}) {
      check(torch::nn::LSTM(torch::nn::LSTMOptions(4, 5).num_layers(layers).bias(bias)),
            torch::kFloat);
      check(torch::nn::GRU(torch::nn::GRUOptions(4, 5).num_layers(layers).bias(bias)),
            torch::kFloat);
      check(torch::nn::RNN(torch::nn::RNNOptions(4, 5).num_layers(layers).bias(bias)));
    }
  }
  check(torch::nn::LSTM(torch::nn::LSTMOptions(4, 5).bidirectional(true)), torch::kFloat);
}

TEST_CASE("A bfloat16 LSTM takes a float32 input in a region only [test_autocast_rnn]") {
  torch::nn::LSTM lstm(1, 1);
  lstm->to(torch::kBFloat16);
  const WithoutOneDnn everywhere;
  const auto input = random({1, 2, 1});
  const std::tuple<Tensor, Tensor> state{random({1, 2, 1}), random({1, 2, 1})};

  CHECK_THROWS(lstm->forward(input, state));

  AutocastGuard autocast(cpu);
  CHECK_NOTHROW(lstm->forward(input, state));
}

TEST_CASE("A disabled region may be given float32 [test_autocast_disabled_with_fp32_dtype]") {
  AutocastGuard autocast(cpu, AutocastOptions(torch::kFloat).enabled(false));

  CHECK(torch::mm(torch::ones({2, 2}), torch::ones({2, 2})).scalar_type() == torch::kFloat);
}

TEST_CASE(
    "The default dtypes are bfloat16 on a CPU and float16 on CUDA [test_autocast_fast_dtype]") {
  CHECK(torchamp::default_dtype(torch::kCPU) == torch::kBFloat16);
  CHECK(torchamp::default_dtype(torch::kCUDA) == torch::kHalf);
}

TEST_CASE("A device that has no autocast is refused [test_invalid_device]") {
  CHECK_ERROR(E01, AutocastGuard(torch::kMeta));
}

TEST_CASE("index_put keeps half precision in backward [test_autocast_prioritize]") {
  for (const auto dtype : halves) {
    const auto target = torch::ones({4}, dtype);
    const auto values = torch::ones({2}, torch::dtype(dtype).requires_grad(true));
    const auto index = torch::tensor({0, 2});
    AutocastGuard autocast(cpu, dtype);

    const auto result = torch::index_put(target, {index}, values * 3);
    result.sum().backward();

    CHECK(result.scalar_type() == dtype);
    CHECK(values.grad().scalar_type() == dtype);
    CHECK(values.grad().to(torch::kFloat).equal(torch::full({2}, 3.0)));
  }
}

namespace {

/// A product with a weight that forward and backward both use.
struct WeightTwice : torchamp::AutocastFunction<WeightTwice> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight) {
    context->save_for_backward({weight});
    return input.mm(weight);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {gradients[0].mm(context->get_saved_variables()[0]), {}};
  }
};

}  // namespace

TEST_CASE("forward and backward in one region share the casts [test_cast_cache_is_global]") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2}, torch::dtype(torch::kBFloat16).requires_grad(true));
  CastCounter casts;
  AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));

  WeightTwice::apply(input, weight).backward(torch::ones({2, 2}, torch::kBFloat16));

  // LibTorch before 2.11 would cache forward's cast without history, so there it is not cached.
  CHECK(casts.more() == (torchamp::detail::autocast_cache_loses_history ? 2 : 1));
}

TEST_CASE("A tensor that a CUDA graph owns is cast at each use [test_cache_disabled]") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2}, torch::kBFloat16);
  at::caching::set_cached_tensors_enabled(true);
  at::caching::add_cached_tensor(weight);
  int seen = 0;
  {
    CastCounter casts;
    AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));
    torch::mm(input, weight);
    torch::mm(input, weight);
    seen = casts.more();
  }
  at::caching::remove_cached_tensor(weight);
  at::caching::set_cached_tensors_enabled(false);

  CHECK(seen == 2);
}

TEST_CASE("No-grad, then grad, in one region [test_autocast_nograd_caching_issue_158232]") {
  for (const auto dtype : halves) {
    const Layer layer;
    AutocastGuard autocast(cpu, dtype);
    {
      torch::NoGradGuard no_grad;
      CHECK_FALSE(layer().requires_grad());
    }
    const auto output = layer();
    REQUIRE(output.requires_grad());
    output.sum().backward();
    layer.check_gradients(1);
  }
}

TEST_CASE(
    "Inference mode in a region and a region in it [test_autocast_inference_mode_interaction]") {
  for (const auto dtype : halves) {
    const Layer layer;
    {
      AutocastGuard autocast(cpu, dtype);
      {
        c10::InferenceMode inference;
        CHECK(layer().scalar_type() == dtype);
      }
      const auto output = layer();
      REQUIRE(output.requires_grad());
      output.sum().backward();
      layer.check_gradients(1);
    }
    c10::InferenceMode inference;
    AutocastGuard autocast(cpu, dtype);
    CHECK(layer().scalar_type() == dtype);
    CHECK_FALSE(layer().requires_grad());
  }
}

TEST_CASE(
    "Three passes with gradients share a region "
    "[test_autocast_caching_still_works_with_gradients]") {
  for (const auto dtype : halves) {
    const Layer layer;
    AutocastGuard autocast(cpu, AutocastOptions(dtype).cache_enabled(true));
    for (int i = 0; i < 3; ++i) layer().sum().backward();
    layer.check_gradients(3);
  }
}

TEST_CASE("Gradients off, on, off, on in one region [test_autocast_mixed_grad_contexts]") {
  for (const auto dtype : halves) {
    const Layer layer;
    AutocastGuard autocast(cpu, dtype);
    for (int i = 0; i < 2; ++i) {
      {
        torch::NoGradGuard no_grad;
        CHECK_FALSE(layer().requires_grad());
      }
      const auto output = layer();
      REQUIRE(output.requires_grad());
      output.sum().backward();
    }
    layer.check_gradients(2);
  }
}

TEST_CASE("Forwards without gradients leave no casts behind [test_autocast_cache_leak]") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto count = weight.use_count();
  {
    AutocastGuard autocast(cpu);
    torch::NoGradGuard no_grad;
    for (int i = 0; i < 100; ++i) torch::mm(weight, weight);
  }
  CHECK(weight.use_count() == count);

  CastCounter casts;  // a cast that was left behind would serve the next region
  AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));
  torch::mm(weight, weight);
  CHECK(casts.more() == 1);
}

namespace {

/// Runs a function in forward without keeping its intermediate results, and again in backward.
struct Checkpoint : torch::autograd::Function<Checkpoint> {
  static Tensor forward(AutogradContext* context, const Tensor& input, const Tensor& weight,
                        std::vector<torch::Dtype>* dtypes, const AutocastState* state) {
    context->save_for_backward({input, weight});
    context->saved_data["dtypes"] = reinterpret_cast<int64_t>(dtypes);
    context->saved_data["state"] = reinterpret_cast<int64_t>(state);
    return run(input, weight, *dtypes);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto input = saved[0].detach().requires_grad_();
    const auto weight = saved[1].detach().requires_grad_();
    auto& dtypes =
        *reinterpret_cast<std::vector<torch::Dtype>*>(context->saved_data["dtypes"].toInt());
    const auto& state = *reinterpret_cast<AutocastState*>(context->saved_data["state"].toInt());
    torch::AutoGradMode with_gradients(true);
    Tensor output;
    {
      AutocastStateGuard autocast(state);
      output = run(input, weight, dtypes);
    }
    output.backward(gradients[0]);
    return {input.grad(), weight.grad(), {}, {}};
  }
  static Tensor run(const Tensor& input, const Tensor& weight, std::vector<torch::Dtype>& dtypes) {
    const auto output = torch::mm(torch::mm(input, weight), weight);
    dtypes.push_back(output.scalar_type());
    return output;
  }
};

}  // namespace

TEST_CASE(
    "What is computed again in backward sees forward's state "
    "[test_checkpointing_non_reentrant_autocast, test_autocast_checkpointing]") {
  for (const bool enabled : {true, false}) {
    for (const auto dtype : halves) {
      const auto input = torch::ones({2, 2}, torch::requires_grad());
      const auto weight = torch::ones({2, 2}, torch::requires_grad());
      std::vector<torch::Dtype> dtypes;
      std::optional<AutocastState> state;
      Tensor output;
      {
        AutocastGuard autocast(cpu, AutocastOptions(dtype).enabled(enabled));
        state = AutocastState::current();
        output = Checkpoint::apply(input, weight, &dtypes, &*state);
      }

      output.sum().backward();

      CHECK(dtypes == std::vector<torch::Dtype>(2, enabled ? dtype : torch::kFloat));
      CHECK(weight.grad().equal(torch::full({2, 2}, 8.0)));
    }
  }
}

namespace {

/// A module that runs its forward in a state that it was given.
struct Replica {
  Tensor forward(const Tensor& input) {
    AutocastStateGuard autocast(state);
    return torch::mm(input, input);
  }
  AutocastState state;
};

/// A module that opens its own region.
struct AutocastNet : torch::nn::Cloneable<AutocastNet> {
  AutocastNet() { reset(); }
  void reset() override { layer = register_module("layer", torchamp::Linear(2, 2)); }
  Tensor forward(const Tensor& input) {
    AutocastGuard autocast(input.device());
    return layer(input);
  }
  torchamp::Linear layer{nullptr};
};

}  // namespace

TEST_CASE("Replicas autocast when their caller does [DataParallel test_parallel_apply_autocast]") {
  std::vector<std::shared_ptr<Replica>> replicas;
  {
    AutocastGuard autocast(cpu, torch::kHalf);
    for (int i = 0; i < 4; ++i) {
      replicas.push_back(std::make_shared<Replica>(Replica{AutocastState::current()}));
    }
  }

  const auto outputs =
      torch::nn::parallel::parallel_apply(replicas, Tensors(4, torch::ones({2, 2})));

  for (const auto& output : outputs) CHECK(output.scalar_type() == torch::kHalf);
}

// data_parallel itself is linked only with LibTorch's CUDA half; this is what it does: it clones
// the module for each device, and applies the clones in parallel.
TEST_CASE("Clones of a module whose forward opens a region autocast [DataParallel test_autocast]") {
  const AutocastNet net;
  std::vector<std::shared_ptr<AutocastNet>> replicas;
  for (int i = 0; i < 2; ++i) {
    replicas.push_back(std::dynamic_pointer_cast<AutocastNet>(net.clone()));
  }

  const auto outputs =
      torch::nn::parallel::parallel_apply(replicas, Tensors(2, torch::ones({2, 2})));
  torch::cat(outputs).sum().backward();

  for (size_t i = 0; i < 2; ++i) {
    CHECK(outputs[i].scalar_type() == torch::kBFloat16);
    CHECK(replicas[i]->layer->weight.grad().equal(torch::full({2, 2}, 2.0)));
  }
}

namespace {

struct Seen {
  bool enabled;
  torch::Dtype dtype;
};
std::map<std::string, Seen> seen;
void look(const std::string& when) {
  seen[when] = {at::autocast::is_autocast_enabled(cpu), at::autocast::get_autocast_dtype(cpu)};
}

struct Mm : torchamp::AutocastFunction<Mm> {
  static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b) {
    CHECK(a.scalar_type() == torch::kFloat);
    look("forward");
    context->save_for_backward({a, b});
    return a.mm(b);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    look("backward");
    const auto saved = context->get_saved_variables();
    return {gradients[0].mm(saved[1].t()), saved[0].t().mm(gradients[0])};
  }
};

struct CastingMm : torchamp::AutocastFunction<CastingMm> {
  static constexpr auto cast_inputs = at::kFloat;
  static Tensor forward(AutogradContext* context, const Tensor& a,
                        const std::map<std::string, std::tuple<Tensor, Tensor>>& nested,
                        const Tensor& b) {
    look("forward");
    const auto& [first, second] = nested.at("pair");
    CHECK(first.scalar_type() == a.scalar_type());
    CHECK(second.scalar_type() == a.scalar_type());
    context->save_for_backward({a, b});
    return a.mm(b);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    look("backward");
    const auto saved = context->get_saved_variables();
    return {gradients[0].mm(saved[1].t()), {}, saved[0].t().mm(gradients[0])};
  }
};

}  // namespace

TEST_CASE("A custom function has autocast on in both directions [test_autocast_custom_enabled]") {
  for (const auto dtype : halves) {
    const auto x = torch::ones({2, 2}, torch::requires_grad());
    Tensor output;
    {
      AutocastGuard autocast(cpu, dtype);
      output = Mm::apply(x, x);
      CHECK(output.scalar_type() == dtype);
    }
    output.sum().backward();
    for (const auto* when : {"forward", "backward"}) {
      CHECK(seen.at(when).enabled);
      CHECK(seen.at(when).dtype == dtype);
    }
    CHECK(x.grad().equal(torch::full({2, 2}, 4.0)));
  }
}

TEST_CASE(
    "A custom function casts its inputs and has autocast off [test_autocast_custom_cast_inputs]") {
  const auto x = torch::ones({2, 2}, torch::dtype(torch::kBFloat16).requires_grad(true));
  const std::map<std::string, std::tuple<Tensor, Tensor>> nested{{"pair", {x, x}}};
  Tensor output;
  {
    AutocastGuard autocast(cpu);
    output = CastingMm::apply(x, nested, x);
  }
  CHECK(output.scalar_type() == torch::kFloat);
  output.sum().backward();
  CHECK_FALSE(seen.at("forward").enabled);
  CHECK_FALSE(seen.at("backward").enabled);

  CHECK(CastingMm::apply(x, nested, x).scalar_type() == torch::kBFloat16);  // outside: as it is
}

TEST_CASE("Regions nest on, off and on [test_jit_autocast test_nested_autocast]") {
  const auto a = torch::ones({2, 2});
  AutocastGuard outer(cpu);
  const auto first = torch::mm(a, a);
  Tensor second, third;
  {
    FullPrecisionGuard middle(cpu);
    second = torch::mm(a, first.to(torch::kFloat));
    AutocastGuard inner(cpu);
    third = torch::mm(a, second);
  }
  CHECK(first.scalar_type() == torch::kBFloat16);
  CHECK(second.scalar_type() == torch::kFloat);
  CHECK(third.scalar_type() == torch::kBFloat16);
}

TEST_CASE(
    "Of two regions opened at once the later decides [test_jit_autocast "
    "test_implicitly_nested_autocast]") {
  const auto a = torch::ones({2, 2});
  {
    FullPrecisionGuard off(cpu);
    AutocastGuard on(cpu);
    CHECK(torch::mm(a, a).scalar_type() == torch::kBFloat16);
  }
  AutocastGuard on(cpu);
  FullPrecisionGuard off(cpu);
  CHECK(torch::mm(a, a).scalar_type() == torch::kFloat);
}

TEST_CASE("One set of options opens many regions [test_jit_autocast test_reused_autocast]") {
  const auto a = torch::ones({2, 2});
  const AutocastOptions options(torch::kHalf);
  for (int i = 0; i < 2; ++i) {
    AutocastGuard outer(cpu, options);
    AutocastGuard inner(cpu, options);
    CHECK(torch::mm(a, a).scalar_type() == torch::kHalf);
  }
  CHECK(torch::mm(a, a).scalar_type() == torch::kFloat);
}

TEST_CASE("A region can depend on a condition [test_jit_autocast test_conditional_autocast]") {
  const auto a = torch::ones({2, 2});
  for (const bool condition : {true, false}) {
    const auto expected = condition ? torch::kBFloat16 : torch::kFloat;
    {
      AutocastGuard autocast(cpu, AutocastOptions().enabled(condition));
      CHECK(torch::mm(a, a).scalar_type() == expected);
    }
    std::optional<AutocastGuard> autocast;
    if (condition) autocast.emplace(cpu);
    CHECK(torch::mm(a, a).scalar_type() == expected);
  }
}

TEST_CASE(
    "In-place operators and given outputs keep their dtype [test_jit_autocast test_inplace]") {
  const auto a = torch::ones({2, 2});
  auto result = torch::zeros({2, 2});
  AutocastGuard autocast(cpu);

  torch::mm_out(result, a, a);
  CHECK(result.scalar_type() == torch::kFloat);
  CHECK(result.equal(torch::full({2, 2}, 2.0)));

  result.addmm_(a, a);
  CHECK(result.scalar_type() == torch::kFloat);
  CHECK(result.equal(torch::full({2, 2}, 4.0)));

  CHECK(torch::mm(a, a).add_(a).scalar_type() == torch::kBFloat16);
}

TEST_CASE("Layers: half, float32, and what follows its input [Apex test_basic_casts]") {
  AutocastGuard autocast(cpu);
  const auto image = torch::ones({1, 2, 4, 4});
  CHECK(torch::nn::Linear(4, 2)(image).scalar_type() == torch::kBFloat16);
  CHECK(torchamp::Linear(4, 2)(image).scalar_type() == torch::kBFloat16);
  CHECK(torch::nn::Conv2d(2, 3, 3)(image).scalar_type() == torch::kBFloat16);

  const auto half = torch::ones({2, 2}, torch::kBFloat16);
  CHECK(torch::mse_loss(half, half).scalar_type() == torch::kFloat);
  for (const auto& input : {half, half.to(torch::kFloat)}) {
    CHECK(torch::relu(input).scalar_type() == input.scalar_type());
    CHECK(torch::softmax(input, 1).scalar_type() == input.scalar_type());  // on CUDA: float32
  }
}

TEST_CASE("Evaluating and then training uses the weights of the day [Apex test_cache]") {
  Layer layer;
  const auto sum = [&] { return layer().sum().item<float>(); };
  {
    torch::NoGradGuard no_grad;
    AutocastGuard autocast(cpu);
    CHECK(sum() == 12);  // 4 * (2 * 1 + 1)
  }
  layer.weight.data().fill_(2);
  {
    AutocastGuard autocast(cpu);
    CHECK(sum() == 20);  // 4 * (2 * 2 + 1)
    layer().sum().backward();
  }
  layer.check_gradients(1);
  layer.weight.data().fill_(3);
  torch::NoGradGuard no_grad;
  AutocastGuard autocast(cpu);
  CHECK(sum() == 28);
}

TEST_CASE("Mixed inputs promote in and out of place [Apex test_promotion]") {
  const auto half = torch::ones({2}, torch::kBFloat16), whole = torch::ones({2});
  AutocastGuard autocast(cpu);
  CHECK((half + whole).scalar_type() == torch::kFloat);
  CHECK((whole * half).scalar_type() == torch::kFloat);
  CHECK(torch::cat({half, whole}).scalar_type() == torch::kFloat);
  CHECK(torch::cat({half, half}).scalar_type() == torch::kBFloat16);
  CHECK(whole.clone().add_(half).scalar_type() == torch::kFloat);
  CHECK(half.clone().add_(whole).scalar_type() == torch::kBFloat16);
}
