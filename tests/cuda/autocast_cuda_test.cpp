// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/torchamp.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <functional>
#include <thread>
#include <vector>

// Everything here needs a CUDA device; ctest skips the suite, with the reason, where there is none.
TEST_SUITE_BEGIN("cuda");

using torch::Tensor;
using torchamp::AutocastGuard;

namespace {

const torch::Device gpu(torch::kCUDA, 0);

Tensor random(at::IntArrayRef sizes) { return torch::randn(sizes, gpu); }

/// A product that notes on which thread and with which autocast its backward runs.
struct Observed : torchamp::AutocastFunction<Observed> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& a,
                        const Tensor& b) {
    context->save_for_backward({a, b});
    return a.mm(b);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    thread = std::this_thread::get_id();
    enabled = at::autocast::is_autocast_enabled(torch::kCUDA);
    dtype = at::autocast::get_autocast_dtype(torch::kCUDA);
    const auto saved = context->get_saved_variables();
    return {gradients[0].mm(saved[1].t()), saved[0].t().mm(gradients[0])};
  }

  inline static std::thread::id thread;
  inline static bool enabled;
  inline static torch::Dtype dtype;
};

}  // namespace

TEST_CASE("On CUDA matrix products and convolutions run in the region's dtype, bit for bit") {
  using Run = std::function<Tensor(torch::Dtype)>;
  const auto mat0 = random({8, 8}), mat1 = random({8, 8}), image = random({4, 8, 8, 8}),
             kernel = random({8, 8, 3, 3});
  const std::vector<Run> ops{
      [&](auto dtype) { return torch::mm(mat0.to(dtype), mat1.to(dtype)); },
      [&](auto dtype) { return torch::matmul(mat0.to(dtype), mat1.to(dtype)); },
      [&](auto dtype) { return torch::addmm(mat0.to(dtype), mat0.to(dtype), mat1.to(dtype)); },
      [&](auto dtype) { return at::linear(mat0.to(dtype), mat1.to(dtype)); },
      [&](auto dtype) { return torch::conv2d(image.to(dtype), kernel.to(dtype)); },
      [&](auto dtype) { return torch::prelu(mat0.to(dtype), mat1[0][0].reshape({1}).to(dtype)); },
  };
  for (const auto dtype : {torch::kHalf, torch::kBFloat16}) {
    for (const auto& op : ops) {
      const auto expected = op(dtype);
      AutocastGuard autocast(gpu, dtype);
      const auto output = op(torch::kFloat);
      CHECK(output.scalar_type() == dtype);
      CHECK(output.equal(expected));
    }
  }
}

TEST_CASE("On CUDA softmax, norms and losses run in float32") {
  const auto half = random({8, 8}).to(torch::kHalf);
  AutocastGuard autocast(gpu);

  CHECK(torch::softmax(half, 1).scalar_type() == torch::kFloat);
  CHECK(torch::exp(half).scalar_type() == torch::kFloat);
  CHECK(torch::sum(half).scalar_type() == torch::kFloat);
  CHECK(torch::layer_norm(half, {8}).scalar_type() == torch::kFloat);
  CHECK(torch::mse_loss(half, half).scalar_type() == torch::kFloat);
}

TEST_CASE("On CUDA binary_cross_entropy is refused in a region") {
  const auto probability = torch::rand({8}, gpu);
  AutocastGuard autocast(gpu);

  CHECK_THROWS(torch::binary_cross_entropy(probability, probability));
}

TEST_CASE("On CUDA a custom function's backward has forward's state on autograd's own thread") {
  const auto a = torch::ones({2, 2}, torch::device(gpu).requires_grad(true));
  Tensor output;
  {
    AutocastGuard autocast(gpu, torch::kBFloat16);
    output = Observed::apply(a, a);
  }

  output.sum().backward();

  CHECK(Observed::thread != std::this_thread::get_id());
  CHECK(Observed::enabled);
  CHECK(Observed::dtype == torch::kBFloat16);
}

TEST_CASE("On CUDA torchamp::Linear casts its parameters once a region") {
  torchamp::Linear layer(8, 4);
  layer->to(gpu);
  const auto input = random({2, 8}).to(torch::kHalf);
  CastCounter casts;
  AutocastGuard autocast(gpu, torchamp::AutocastOptions().cache_enabled(true));

  layer(input);
  CHECK(casts.more() == 2);
  layer(input);
  CHECK(casts.more() == 0);
}

TEST_SUITE_END();
