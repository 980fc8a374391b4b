// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
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

TEST_SUITE_END();
