// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/autocast_policy.h>

#include "support/doctest.h"

#include <torch/library.h>

using torchamp::autocast_policy;
using torchamp::AutocastPolicy;
using torchamp::detail::has_autocast_kernel;

namespace {

AutocastPolicy on_cuda(const char* name, const char* overload = "") {
  return autocast_policy({name, overload}, torch::kCUDA);
}
AutocastPolicy on_cpu(const char* name, const char* overload = "") {
  return autocast_policy({name, overload}, torch::kCPU);
}

torch::Tensor same(const torch::Tensor& x) { return x.clone(); }

}  // namespace

TORCH_LIBRARY(autocast_policy_test, library) { library.def("linear(Tensor x) -> Tensor", same); }
TORCH_LIBRARY_IMPL(autocast_policy_test, AutocastCUDA, library) { library.impl("linear", same); }

TEST_CASE("CUDA multiplies and convolves in lower precision") {
  CHECK(on_cuda("aten::mm") == AutocastPolicy::LowerPrecision);
  CHECK(on_cuda("aten::addmm") == AutocastPolicy::LowerPrecision);
  CHECK(on_cuda("aten::linear") == AutocastPolicy::LowerPrecision);
  CHECK(on_cuda("aten::conv2d") == AutocastPolicy::LowerPrecision);
  CHECK(on_cuda("aten::conv_transpose2d", "input") == AutocastPolicy::LowerPrecision);
}

TEST_CASE("CUDA runs exp, softmax, norms and losses in float32") {
  CHECK(on_cuda("aten::exp") == AutocastPolicy::Float32);
  CHECK(on_cuda("aten::softmax", "int") == AutocastPolicy::Float32);
  CHECK(on_cuda("aten::layer_norm") == AutocastPolicy::Float32);
  CHECK(on_cuda("aten::norm", "Scalar") == AutocastPolicy::Float32);
  CHECK(on_cuda("aten::mse_loss") == AutocastPolicy::Float32);
}

TEST_CASE("CUDA takes the widest dtype for a few operators") {
  CHECK(on_cuda("aten::addcmul") == AutocastPolicy::Widest);
  CHECK(on_cpu("aten::cat") == AutocastPolicy::Widest);
}

TEST_CASE("An operator in no list runs in the dtype of its inputs") {
  CHECK(on_cuda("aten::relu") == AutocastPolicy::Unchanged);
  CHECK(on_cuda("aten::add", "Tensor") == AutocastPolicy::Unchanged);
  CHECK(on_cuda("aten::exp_") == AutocastPolicy::Unchanged);
  CHECK(on_cuda("aten::exp", "out") == AutocastPolicy::Unchanged);
  CHECK(on_cuda("mine::no_such_operator") == AutocastPolicy::Unchanged);
  CHECK(on_cuda("no namespace") == AutocastPolicy::Unchanged);
}

TEST_CASE("Plain binary_cross_entropy is refused by CUDA and run in float32 by a CPU") {
  CHECK(on_cuda("aten::binary_cross_entropy") == AutocastPolicy::Refused);
  CHECK(on_cpu("aten::binary_cross_entropy") == AutocastPolicy::Float32);
  CHECK(on_cuda("aten::binary_cross_entropy_with_logits") == AutocastPolicy::Float32);
}

TEST_CASE(
    "Of another library's operator it is known whether autocast decides about it, but not how") {
  CHECK(on_cuda("autocast_policy_test::linear") == AutocastPolicy::Unchanged);
  CHECK(has_autocast_kernel({"autocast_policy_test::linear", ""}, torch::kCUDA));
  CHECK_FALSE(has_autocast_kernel({"autocast_policy_test::linear", ""}, torch::kCPU));
  CHECK(has_autocast_kernel({"aten::mm", ""}, torch::kCUDA));
  CHECK_FALSE(has_autocast_kernel({"aten::relu", ""}, torch::kCUDA));
  CHECK_FALSE(has_autocast_kernel({"aten::mm", ""}, torch::kMeta));
}

TEST_CASE("CUDA runs an LSTM in lower precision, which a CPU calls by another name") {
  CHECK(on_cuda("aten::mkldnn_rnn_layer") == AutocastPolicy::LowerPrecision);
}

TEST_CASE("A device without autocast leaves every operator unchanged") {
  CHECK(autocast_policy({"aten::mm", ""}, torch::kMeta) == AutocastPolicy::Unchanged);
}

TEST_CASE("What is said of a CPU is what its regions do") {
  const auto x = torch::ones({2, 2});
  const torchamp::AutocastGuard region(torch::kCPU);

  CHECK(on_cpu("aten::mm") == AutocastPolicy::LowerPrecision);
  CHECK(torch::mm(x, x).scalar_type() == torch::kBFloat16);
  CHECK(on_cpu("aten::mse_loss") == AutocastPolicy::Float32);
  CHECK(torch::mse_loss(x.to(torch::kBFloat16), x).scalar_type() == torch::kFloat);
  CHECK(on_cpu("aten::relu") == AutocastPolicy::Unchanged);
  CHECK(torch::relu(x.to(torch::kBFloat16)).scalar_type() == torch::kBFloat16);
}
