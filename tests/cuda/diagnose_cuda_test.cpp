// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/autocast_policy.h>
#include <torchamp/diagnose/dry_run.h>
#include <torchamp/diagnose/inject.h>
#include <torchamp/diagnose/kept_state.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/diagnose/overflow_report.h>
#include <torchamp/diagnose/underflow.h>
#include <torchamp/torchamp.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

// Everything here needs a CUDA device; ctest skips the suite, with the reason, where there is none.
TEST_SUITE_BEGIN("cuda");

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const torch::Device cuda(torch::kCUDA, 0);

using Named = std::vector<std::pair<std::string, torch::Tensor>>;

/// A parameter of zeros on `device` with this gradient.
torch::Tensor with_gradient(const torch::Tensor& gradient, const torch::Device& device) {
  const auto parameter = torch::zeros_like(gradient.to(device)).requires_grad_();
  parameter.mutable_grad() = gradient.to(device);
  return parameter;
}

}  // namespace

TEST_CASE("On CUDA the same is found as on a CPU, with one read for all tensors") {
  auto strided = torch::ones({3, 5}, torch::kDouble);
  strided[2][1] = infinity;
  const Named on_cpu{
      {"good", torch::ones({3})},
      {"half", torch::tensor({-2.0F, infinity, 1.0F}).to(torch::kHalf)},
      {"bfloat16", torch::tensor({-infinity, -3.0F}).to(torch::kBFloat16)},
      {"transposed", strided.t()},
      {"sparse", torch::sparse_coo_tensor(torch::tensor({{0, 2}, {1, 0}}),
                                          torch::tensor({3.0F, infinity}), {3, 2})
                     .coalesce()},
      {"complex", torch::complex(torch::ones({2}), torch::tensor({2.0F, infinity}))}};
  Named on_cuda;
  for (const auto& [name, tensor] : on_cpu) on_cuda.emplace_back(name, tensor.to(cuda));

  HostReadCounter items;
  OperatorCounter put_together("aten::cat");
  const auto report = torchamp::find_non_finite(on_cuda);

  CHECK(items.more() == 0);
  CHECK(put_together.more() == 6 + 1);  // the numbers of each tensor, and those of all, to be read
  CHECK(report.tensors.size() == 5);
  CHECK(report.to_text() == torchamp::find_non_finite(on_cpu).to_text());
}

TEST_CASE("On CUDA a fused optimizer's overflow is reported, for a read only if somebody listens") {
  const auto weight = torch::ones({2}, torch::device(cuda).requires_grad(true));
  torchamp::FusedSGD optimizer(std::vector<torch::Tensor>{weight}, torch::optim::SGDOptions(1.0));
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(8));
  std::vector<torchamp::OverflowReport> reports;
  const auto reads_of_a_step = [&](float factor) {
    optimizer.zero_grad();
    scaler.scale((weight * factor).sum()).backward();
    HostReadCounter reads;
    scaler.step(optimizer);
    const int count = reads.more();
    scaler.update();
    return count;
  };

  CHECK(reads_of_a_step(1) == 0);
  scaler.on_overflow(torchamp::report_overflows(
      Named{{"weight", weight}}, [&](const auto& report) { reports.push_back(report); }));
  CHECK(reads_of_a_step(1) == 1);
  CHECK(reads_of_a_step(infinity) == 2);  // and the scale
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].step == 3);
  CHECK(reports[0].scale == 8);
  CHECK(reports[0].gradients.tensors.at(0).inf_count == 2);
}

TEST_CASE("On CUDA faults are put into gradients and outputs") {
  const auto weight = torch::zeros({2}, torch::device(cuda).requires_grad(true));
  const torchamp::OutputInjection output("aten::exp", torchamp::Injection().element(1).value(5));
  const torchamp::GradientInjection gradient(weight, torchamp::Injection().value(7));

  weight.exp().sum().backward();

  CHECK(weight.grad()[0].item<float>() == 7);
  CHECK(weight.grad()[1].item<float>() == 5);  // exp's gradient is its result
}

TEST_CASE("On CUDA underflow is found as on a CPU, with one read for all gradients") {
  const auto gradients_on = [](const torch::Device& device) {
    const auto values = torch::tensor({0.0F, 1e-9F, -1e-6F, 3.0F, 1e6F, infinity});
    const auto sparse = torch::sparse_coo_tensor(torch::tensor({{0, 2}, {1, 0}}),
                                                 torch::tensor({3.0F, 1e-12F}), {3, 2});
    return Named{{"float", with_gradient(values, device)},
                 {"half", with_gradient(values.to(torch::kHalf), device)},
                 {"bfloat16", with_gradient(values.to(torch::kBFloat16), device)},
                 {"sparse", with_gradient(sparse.coalesce(), device)}};
  };
  const auto on_cuda = gradients_on(cuda);

  HostReadCounter items;
  const auto report = torchamp::find_underflow(on_cuda, 1024.0, torchamp::GradientsAre::Unscaled);

  CHECK(items.more() == 0);
  CHECK(report.gradients.infs == 4);  // 1e6 in float16 too
  CHECK(report.to_text() == torchamp::find_underflow(gradients_on(torch::kCPU), 1024.0,
                                                     torchamp::GradientsAre::Unscaled)
                                .to_text());
}

TEST_CASE("On CUDA a dry run tells what it tells on a CPU") {
  const auto report_on = [](const torch::Device& device) {
    torch::nn::Sequential net(torch::nn::Linear(torch::nn::LinearOptions(1, 1).bias(false)),
                              torch::nn::ReLU(),
                              torch::nn::Linear(torch::nn::LinearOptions(1, 1).bias(false)));
    net[0]->as<torch::nn::Linear>()->weight.data().fill_(1000);
    net[2]->as<torch::nn::Linear>()->weight.data().fill_(1e-5);
    net->to(device);
    return torchamp::dry_run(net, [&] {
      net->forward(torch::full({1, 1}, 100.0F, device)).sum().backward();
    });
  };
  const auto report = report_on(cuda);

  CHECK(report.find("0")->activations.largest == 100000);
  CHECK(report.to_text() == report_on(torch::kCPU).to_text());
}

TEST_CASE("cuDNN's recurrent layers run in lower precision") {
  CHECK(torchamp::autocast_policy({"aten::_cudnn_rnn", ""}, torch::kCUDA) ==
        torchamp::AutocastPolicy::LowerPrecision);
}

TEST_CASE("On CUDA random numbers go on where they were, and changed parameters are noticed") {
  torch::nn::Sequential net(torch::nn::Linear(1, 1), torch::nn::Linear(1, 1));
  net[1]->to(cuda);
  torch::manual_seed(4);
  const auto expected = torch::rand({2}, cuda);
  torch::manual_seed(4);
  {
    const torchamp::detail::KeptState kept(*net);
    CHECK_FALSE(kept.changed_parameter().has_value());
    torch::rand({100}, cuda);
    net[1]->as<torch::nn::Linear>()->bias.data().add_(1);
    CHECK(kept.changed_parameter() == "1.bias");
    net[0]->as<torch::nn::Linear>()->bias.data().add_(1);
    CHECK(kept.changed_parameter() == "0.bias");
  }

  CHECK(torch::equal(torch::rand({2}, cuda), expected));
}

TEST_SUITE_END();
