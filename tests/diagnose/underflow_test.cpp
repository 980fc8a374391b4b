// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/grad_scaler.h>
#include <torchamp/diagnose/underflow.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using torchamp::find_underflow;
using torchamp::GradientsAre;

namespace {

double power(int exponent) { return std::ldexp(1.0, exponent); }

torch::Tensor with_gradient(const torch::Tensor& gradient) {
  auto parameter = torch::zeros_like(gradient, torch::requires_grad());
  parameter.mutable_grad() = gradient;
  return parameter;
}
torch::Tensor with_gradient(const std::vector<double>& gradient) {
  return with_gradient(torch::tensor(gradient, torch::kDouble).to(torch::kFloat));
}

using Parameters = std::vector<torch::Tensor>;
using Named = std::vector<std::pair<std::string, torch::Tensor>>;

}  // namespace

TEST_CASE("Gradients that hold the scale are what float16 sees") {
  const Parameters parameters = {with_gradient({power(-26), power(-20), 1, 0})};
  const auto report = find_underflow(parameters, 1024, GradientsAre::Scaled);

  CHECK(report.gradients.count == 4);
  CHECK(report.gradients.zeros == 1);
  CHECK(report.gradients.flushed() == 1);
  CHECK(report.gradients.subnormal() == 1);
  CHECK(report.gradients.in_bin(-20) == 1);
  CHECK(report.gradients.largest == 1);
  CHECK(report.gradients.smallest == power(-26));
  CHECK(report.scale == 1024);
}

TEST_CASE("Unscaled gradients are multiplied by the scale, as float16 would see them") {
  const Parameters parameters = {with_gradient({power(-36), power(-30), power(-10), 0, 64})};
  const auto report = find_underflow(parameters, 1024, GradientsAre::Unscaled);

  CHECK(report.gradients.flushed() == 1);
  CHECK(report.gradients.subnormal() == 1);
  CHECK(report.gradients.above_float16 == 1);  // 64 * 1024 = 65536
  CHECK(report.gradients.in_bin(-26) == 1);
  CHECK(report.gradients.largest == 65536);
}

TEST_CASE("Scaled and unscaled say the same of one backward pass") {
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(1024));
  torch::nn::Linear model(3, 2);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  scaler.scale(model(torch::full({1, 3}, 1e-7)).sum()).backward();

  const auto scaled = find_underflow(*model, scaler, GradientsAre::Scaled);
  scaler.unscale_(optimizer);
  const auto unscaled = find_underflow(*model, scaler, GradientsAre::Unscaled);

  CHECK(scaled.scale == 1024);
  CHECK(scaled.gradients.in_bin(-13) == 6);  // 1e-7 is 1.68 * 2^-24, and 2^10 times as much
  CHECK(scaled.gradients.in_bin(10) == 2);   // the bias
  CHECK(unscaled.gradients.by_exponent == scaled.gradients.by_exponent);
  CHECK(unscaled.to_text() == scaled.to_text());
}

TEST_CASE("The best scale loses nothing that another could save, and leaves the headroom") {
  const Parameters parameters = {with_gradient({1.0, power(-38)})};
  const auto best = [&](double scale, double headroom) {
    return find_underflow(parameters, scale, GradientsAre::Unscaled, headroom).best_scale();
  };

  CHECK(best(1, 2) == 16384);  // 1 * 2^14 * 2 is below 65504, 1 * 2^15 * 2 is above
  CHECK(best(1, 1) == 32768);
  CHECK(best(65536, 8) == 4096);
  CHECK(find_underflow(parameters, 16, GradientsAre::Scaled).best_scale() == 262144);
}

TEST_CASE("At the best scale the report knows what is lost, as LibTorch's cast does") {
  torch::manual_seed(3);
  const auto gradient = torch::pow(2.0, torch::rand({1000}) * 50 - 45);
  const Parameters parameters = {with_gradient(gradient)};
  const auto report = find_underflow(parameters, 1, GradientsAre::Unscaled);

  const auto cast = (gradient * report.best_scale()).to(torch::kHalf);
  const auto lost = cast.eq(0).sum().item<int64_t>();
  CHECK(lost > 0);
  CHECK(report.gradients.flushed(report.best_scale()) == lost);
  CHECK(cast.isfinite().all().item<bool>());
}

TEST_CASE("A module, its holder, a pointer, an optimizer and ranges are looked at alike") {
  torch::nn::Linear model(3, 2);
  model(torch::ones({1, 3})).sum().backward();
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  const std::shared_ptr<torch::nn::LinearImpl> pointer = model.ptr();
  const auto unscaled = GradientsAre::Unscaled;

  for (const auto& report :
       {find_underflow(*model, 2, unscaled), find_underflow(model, 2, unscaled),
        find_underflow(pointer, 2, unscaled), find_underflow(optimizer, 2, unscaled),
        find_underflow(model->parameters(), 2, unscaled),
        find_underflow(model->named_parameters(), 2, unscaled)}) {
    CHECK(report.tensors.size() == 2);
    CHECK(report.gradients.in_bin(1) == 8);
    CHECK(report.gradients.count == 8);
  }
  CHECK(find_underflow(model, 2, unscaled).tensors[0].name == "weight");
  CHECK(find_underflow(optimizer, 2, unscaled).tensors[1].name == "parameter 1 of group 0");
}

TEST_CASE("Parameters without a gradient are counted, and no gradient at all is no error") {
  torch::nn::Linear model(3, 2);
  auto report = find_underflow(model, 65536, GradientsAre::Scaled);
  CHECK(report.without_gradient == 2);
  CHECK(report.tensors.empty());
  CHECK(report.gradients.count == 0);

  model->bias.mutable_grad() = torch::ones({2});
  report = find_underflow(model, 65536, GradientsAre::Scaled);
  CHECK(report.without_gradient == 1);
  CHECK(report.gradients.count == 2);
}

TEST_CASE("Empty gradients have no numbers") {
  const Parameters parameters = {with_gradient(torch::zeros({0})), with_gradient({1.0})};
  const auto report = find_underflow(parameters, 1, GradientsAre::Unscaled);

  CHECK(report.tensors.size() == 2);
  CHECK(report.gradients.count == 1);
}

TEST_CASE("A gradient that two parameters share is counted once") {
  const auto gradient = torch::ones({3});
  const Parameters parameters = {with_gradient(gradient), with_gradient(gradient)};

  CHECK(find_underflow(parameters, 1, GradientsAre::Unscaled).gradients.count == 3);
}

TEST_CASE("Every floating dtype counts, complex as two numbers, sparse what it holds") {
  const auto sparse = torch::sparse_coo_tensor(torch::tensor({5}, torch::kLong).reshape({1, 1}),
                                               torch::tensor({4.0f}), {1000});
  const Named parameters = {
      {"half", with_gradient(torch::full({2}, 1.0, torch::kHalf))},
      {"bfloat16", with_gradient(torch::full({2}, 2.0, torch::kBFloat16))},
      {"double", with_gradient(torch::full({2}, 8.0, torch::kDouble))},
      {"complex", with_gradient(torch::full({2}, c10::complex<float>(16, 32)))},
      {"sparse", with_gradient(sparse)}};
  const auto report = find_underflow(parameters, 1, GradientsAre::Unscaled);

  CHECK(report.tensors[0].name == "half");
  CHECK(report.tensors[0].dtype == torch::kHalf);
  CHECK(report.tensors[0].range.in_bin(0) == 2);
  CHECK(report.tensors[1].range.in_bin(1) == 2);
  CHECK(report.tensors[2].range.in_bin(3) == 2);
  CHECK(report.tensors[3].range.count == 4);
  CHECK(report.tensors[3].range.in_bin(5) == 2);
  CHECK(report.tensors[4].range.count == 1);
  CHECK(report.gradients.count == 11);
}

TEST_CASE("Inf and NaN are counted by gradient, and the best scale is that of the rest") {
  const double inf = std::numeric_limits<double>::infinity();
  const Parameters parameters = {with_gradient({inf, -inf, 1}), with_gradient({std::nan(""), 0.5})};
  const auto report = find_underflow(parameters, 1, GradientsAre::Scaled);

  CHECK(report.tensors[0].range.infs == 2);
  CHECK(report.tensors[1].range.nans == 1);
  CHECK(report.gradients.infs == 2);
  CHECK(report.best_scale() == 16384);
}

TEST_CASE("Operators find what the pass on a CPU finds, with one read for all gradients") {
  const Named parameters = {{"a", with_gradient({power(-30), 1, 0})},
                            {"b", with_gradient(torch::full({2}, 1e-9, torch::kDouble))},
                            {"none", torch::ones({1}, torch::requires_grad())},
                            {"c", with_gradient({65536, power(-20)})}};
  torchamp::detail::UnderflowSearch by_operators(16, GradientsAre::Unscaled, 2, true);
  HostReadCounter reads;
  by_operators.look_at(parameters);
  CHECK(reads.more() == 0);
  OperatorCounter copies("aten::stack");
  const auto there = std::move(by_operators).finish();
  CHECK(copies.more() == 1);
  const auto here = find_underflow(parameters, 16, GradientsAre::Unscaled);

  CHECK(there.to_text() == here.to_text());
  CHECK(there.gradients.by_exponent == here.gradients.by_exponent);
  CHECK(there.tensors[2].range.above_float16 == 1);
  CHECK(there.without_gradient == 1);
}

TEST_CASE("A disabled scaler has scale 1, and looking changes no gradient") {
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().enabled(false));
  const auto gradient = torch::tensor({1.0f, -0.0f});
  const Parameters parameters = {with_gradient(gradient)};
  const auto version = gradient._version();

  CHECK(find_underflow(parameters, scaler, GradientsAre::Unscaled).scale == 1);
  CHECK(gradient._version() == version);
  CHECK(parameters[0].grad().is_same(gradient));
}

TEST_CASE("A scale or headroom that makes no sense is refused") {
  const Parameters parameters = {with_gradient({1.0})};
  const auto look = [&](double scale, double headroom) {
    return find_underflow(parameters, scale, GradientsAre::Scaled, headroom);
  };

  CHECK_ERROR(E08, look(0, 2));
  CHECK_ERROR(E08, look(-1, 2));
  CHECK_ERROR(E08, look(std::nan(""), 2));
  CHECK_ERROR(E08, look(std::numeric_limits<double>::infinity(), 2));
  CHECK_ERROR(E08, look(1e39, 2));
  CHECK_ERROR(E08, look(1, 0.5));
  CHECK_ERROR(E08, look(1, 70000));
  CHECK_ERROR(E08, look(1, std::nan("")));
  CHECK_ERROR_SAYS("the headroom is 0.5", look(1, 0.5));
}

TEST_CASE("Gradients on the meta device are refused, and named") {
  const Named parameters = {{"w", with_gradient(torch::ones({2}, torch::kMeta))}};

  CHECK_ERROR(E31, find_underflow(parameters, 1, GradientsAre::Scaled));
  CHECK_ERROR_SAYS("the gradient of w", find_underflow(parameters, 1, GradientsAre::Scaled));
}
