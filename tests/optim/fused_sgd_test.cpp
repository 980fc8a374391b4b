// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/fused_sgd.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <type_traits>

// What all fused optimizers share is tested in fused_optimizer_test.cpp.

static_assert(std::is_base_of_v<torch::optim::SGD, torchamp::FusedSGD>);

namespace {

struct Run {
  explicit Run(double dampening)
      : sgd({weight}, torch::optim::SGDOptions(1.0).momentum(0.5).dampening(dampening)) {
    weight.mutable_grad() = torch::full({1}, 2.0);
  }
  float buffer() {
    return static_cast<torch::optim::SGDParamState&>(*sgd.state().begin()->second)
        .momentum_buffer()
        .item<float>();
  }
  torch::Tensor weight = torch::full({1}, 10.0).requires_grad_();
  torchamp::FusedSGD sgd;
};

const auto taken = [] { return torch::zeros({}); };
const auto skipped = [] { return torch::ones({}); };

}  // namespace

TEST_CASE("FusedSGD begins its momentum with the gradient, not with a dampened one") {
  Run run(0.75);

  run.sgd.step();
  CHECK(run.buffer() == 2);  // and 0.5 * 2 + (1 - 0.75) * 2 after the second
  run.sgd.step();
  CHECK(run.buffer() == 1.5);
}

TEST_CASE("FusedSGD begins its momentum with the first step that is taken on the device") {
  Run run(0.75);

  run.sgd.step_unless(skipped(), {});
  CHECK(run.weight.item<float>() == 10);
  CHECK(run.buffer() == 0);
  run.sgd.step_unless(taken(), {});
  CHECK(run.buffer() == 2);
  run.sgd.step_unless(skipped(), {});
  CHECK(run.buffer() == 2);
  run.sgd.step_unless(taken(), {});
  CHECK(run.buffer() == 1.5);
  CHECK(run.weight.item<float>() == 6.5);
}

TEST_CASE("FusedSGD without momentum remembers nothing") {
  const auto weight = torch::full({1}, 10.0).requires_grad_();
  torchamp::FusedSGD sgd({weight}, torch::optim::SGDOptions(1.0));
  weight.mutable_grad() = torch::full({1}, 2.0);

  sgd.step();

  CHECK(weight.item<float>() == 8);
  CHECK(sgd.state().empty());
}

TEST_CASE("FusedSGD calls its operator twice only while the device alone knows of a first step") {
  Run run(0.75);
  OperatorCounter calls("aten::_fused_sgd_");

  run.sgd.step_unless(taken(), {});
  CHECK(calls.more() == 2);
  run.sgd.step();
  CHECK(calls.more() == 1);
  run.sgd.step_unless(taken(), {});
  CHECK(calls.more() == 1);
}
