// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/clip_scaled_grad.h>
#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_sgd.h>
#include <torchamp/optim/master_weights.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"
#include "support/stock_and_fused.h"

#include <limits>
#include <vector>

using torchamp::clip_grad_norm_;
using torchamp::GradScaler;

namespace {

GradScaler scaler_of(double scale, bool enabled = true) {
  GradScaler scaler(torchamp::GradScalerOptions().init_scale(scale).enabled(enabled));
  (void)scaler.scale(torch::ones({}));
  return scaler;
}

/// A weight of 10, 10 whose true gradient is 3, 4, of norm 5, scaled by 8.
struct Run {
  Run() { weight.mutable_grad() = torch::tensor({24.0f, 32.0f}); }
  torch::Tensor weight = torch::full({2}, 10.0).requires_grad_();
  torchamp::FusedSGD fused{{weight}, torch::optim::SGDOptions(1.0)};
  torch::optim::SGD stock{{weight}, torch::optim::SGDOptions(1.0)};
  GradScaler scaler = scaler_of(8);
};

bool is(const torch::Tensor& tensor, float a, float b) {
  return torch::allclose(tensor, torch::tensor({a, b}));
}

}  // namespace

TEST_CASE("Clipping through a scaler gives the true norm, and the step takes clipped gradients") {
  Run run;

  const auto norm = clip_grad_norm_(run.scaler, run.fused, 2.5);
  CHECK(is(run.weight.grad(), 24, 32));  // nobody has touched them yet
  CHECK(run.scaler.step(run.fused).taken());
  run.scaler.update();

  CHECK(norm.item<float>() == 5);
  CHECK(is(run.weight, 8.5, 8));
  CHECK(is(run.weight.grad(), 1.5, 2));
}

TEST_CASE("Gradients of a norm below the bound are only unscaled") {
  Run run;

  clip_grad_norm_(run.scaler, run.fused, 100);
  run.scaler.step(run.fused);

  CHECK(is(run.weight, 7, 6));
}

TEST_CASE("With a stock optimizer, or without scaling, it unscales and clips at once") {
  Run run, disabled;
  disabled.scaler = scaler_of(8, /*enabled=*/false);

  CHECK(clip_grad_norm_(run.scaler, run.stock, 2.5).item<float>() == 5);
  CHECK(is(run.weight.grad(), 1.5, 2));
  run.scaler.step(run.stock);
  CHECK(is(run.weight, 8.5, 8));

  CHECK(clip_grad_norm_(disabled.scaler, disabled.fused, 20).item<float>() == 40);
  CHECK(is(disabled.weight.grad(), 12, 16));
}

TEST_CASE("An inf, a NaN or a norm that overflows skips the step and lowers the scale") {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
    Run run;
    run.weight.mutable_grad()[0] = bad;

    clip_grad_norm_(run.scaler, run.fused, 2.5);
    CHECK(run.scaler.step(run.fused).skipped());
    run.scaler.update();

    CHECK(is(run.weight, 10, 10));
    CHECK(run.scaler.get_scale() == 4);
  }
}

TEST_CASE("It reads nothing on the host, and looks at the gradients once") {
  Run run;
  HostReadCounter reads;
  clip_grad_norm_(run.scaler, run.fused, 2.5);
  run.scaler.step(run.fused);
  run.scaler.update();
  CHECK(reads.more() == 0);

  OperatorCounter checks("aten::_amp_foreach_non_finite_check_and_unscale_");
  clip_grad_norm_(run.scaler, run.fused, 2.5);
  run.scaler.step(run.fused);
  CHECK(checks.more() == 0);
}

TEST_CASE("It comes once an iteration, before the step, as unscale_() does") {
  Run run;
  clip_grad_norm_(run.scaler, run.fused, 2.5);

  CHECK_ERROR(E03, clip_grad_norm_(run.scaler, run.fused, 2.5));
  CHECK_ERROR(E03, run.scaler.unscale_(run.fused));
  run.scaler.step(run.fused);
  CHECK_ERROR(E03, clip_grad_norm_(run.scaler, run.fused, 2.5));
  CHECK_ERROR(E04, run.scaler.step(run.fused));
}

TEST_CASE("Bounds that make no sense are refused, and nothing has changed") {
  Run run;

  CHECK_ERROR(E25, clip_grad_norm_(run.scaler, run.fused, -1));
  CHECK_ERROR(E25, clip_grad_norm_(run.scaler, run.fused, 1, std::nan("")));
  CHECK(is(run.weight.grad(), 24, 32));
  CHECK(run.scaler.between_iterations());
}

TEST_CASE("Orders of 0 and below, which may hide an inf, take the way of unscale_()") {
  Run run;
  run.weight.mutable_grad()[0] = std::numeric_limits<float>::infinity();

  clip_grad_norm_(run.scaler, run.fused, 2.5, 0);

  CHECK(run.scaler.step(run.fused).skipped());
}

TEST_CASE("Training with it is training with unscale_() and clip_grad_norm_()") {
  Twins twins(3);
  torchamp::FusedAdam fused(twins.a, torch::optim::AdamOptions(0.1));
  torch::optim::Adam stock(twins.b, torch::optim::AdamOptions(0.1));
  auto scaler_a = scaler_of(1024), scaler_b = scaler_of(1024);
  for (const double norm_type : {2.0, 1.0, std::numeric_limits<double>::infinity()}) {
    twins.set_gradients(1024);

    clip_grad_norm_(scaler_a, fused, 1.0, norm_type);
    scaler_b.unscale_(stock);
    clip_grad_norm_(stock, 1.0, norm_type);
    scaler_a.step(fused);
    scaler_b.step(stock);
    scaler_a.update();
    scaler_b.update();

    CHECK(torch::allclose(twins.a[0].grad(), twins.b[0].grad()));
  }

  CHECK(twins.are_close());
}

TEST_CASE("Fused master weights are clipped as float32") {
  const auto weight = torch::full({2}, 10.0, torch::kHalf).requires_grad_();
  torchamp::MasterWeights<torchamp::FusedSGD> optimizer({weight}, torch::optim::SGDOptions(1.0));
  weight.mutable_grad() = torch::tensor({24.0f, 32.0f}).to(torch::kHalf);
  auto scaler = scaler_of(8);

  CHECK(clip_grad_norm_(scaler, optimizer, 2.5).item<float>() == 5);
  scaler.step(optimizer);

  CHECK(is(weight.to(torch::kFloat), 8.5, 8));
}

TEST_CASE("Master weights of a stock optimizer are refused, with what to call") {
  const auto weight = torch::full({2}, 10.0, torch::kHalf).requires_grad_();
  torchamp::MasterWeights<torch::optim::SGD> optimizer({weight}, torch::optim::SGDOptions(1.0));
  weight.mutable_grad() = torch::ones({2}, torch::kHalf);
  auto scaler = scaler_of(8);

  CHECK_ERROR(E25, clip_grad_norm_(scaler, optimizer, 2.5));
  CHECK_ERROR_SAYS("clip the masters", clip_grad_norm_(scaler, optimizer, 2.5));
}
