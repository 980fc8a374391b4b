// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/overflow_listener.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::Overflow;

namespace {

const float infinity = std::numeric_limits<float>::infinity();

/// A weight with two gradients, of which the caller sets the first and the second is 3.
struct Problem {
  torch::Tensor weight = torch::ones({2}, torch::requires_grad());
  torch::optim::SGD optimizer{std::vector<torch::Tensor>{weight}, torch::optim::SGDOptions(1.0)};
  GradScaler scaler{GradScalerOptions().init_scale(4).growth_interval(1)};

  void backward(float gradient) {
    optimizer.zero_grad();
    scaler.scale((weight * torch::tensor({gradient, 3.0F})).sum()).backward();
  }
  torchamp::StepResult step(float gradient) {
    backward(gradient);
    auto result = scaler.step(optimizer);
    scaler.update();
    return result;
  }
};

/// Keeps what it was told.
struct Ear {
  std::shared_ptr<std::vector<Overflow>> heard = std::make_shared<std::vector<Overflow>>();
  void operator()(const Overflow& overflow) const { heard->push_back(overflow); }
};

/// Decides by itself whether to step.
struct DecidingSgd : torch::optim::SGD, torchamp::AmpOptimizer {
  using torch::optim::SGD::SGD;
  bool decides_on_device() const override { return true; }
  void step_unless(const torch::Tensor& found_inf, const torch::Tensor& /*grad_scale*/) override {
    if (*found_inf.const_data_ptr<float>() == 0) step();
  }
};

/// Unscales copies of the gradients, as one with master weights does.
struct CopyingSgd : torch::optim::SGD, torchamp::AmpOptimizer {
  using torch::optim::SGD::SGD;
  std::vector<torch::Tensor> parameters_to_unscale() override {
    const auto& parameter = param_groups()[0].params()[0];
    copy.mutable_grad() = parameter.grad().clone();
    return {copy};
  }
  torch::Tensor copy = torch::ones({2}, torch::requires_grad());
};

}  // namespace

TEST_CASE("A skipped step is told with its number, the scale, and the gradients as they are") {
  Problem problem;
  Ear ear;
  problem.scaler.on_overflow([&](const Overflow& overflow) {
    ear(overflow);
    const auto gradient = overflow.parameters.at(0).second.grad();
    CHECK(gradient[0].item<float>() == -infinity);
    CHECK(gradient[1].item<float>() == 3);  // divided by the scale already
  });

  problem.step(1);          // the scale becomes 8
  problem.step(-infinity);  // and 4
  problem.step(1);          // and 8

  REQUIRE(ear.heard->size() == 1);
  const auto& overflow = ear.heard->at(0);
  CHECK(overflow.step == 2);
  CHECK(overflow.scale == 8);
  CHECK(overflow.gradients_are_divided);
  REQUIRE(overflow.parameters.size() == 1);
  CHECK(overflow.parameters[0].first == "parameter 0 of group 0");
  CHECK(overflow.parameters[0].second.is_same(problem.weight));
}

TEST_CASE("The parameters of an overflow are those of the optimizer that was skipped") {
  const auto a = torch::ones({1}, torch::requires_grad());
  const auto b = torch::ones({1}, torch::requires_grad());
  const auto frozen = torch::ones({1});
  const auto other = torch::ones({1}, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::optim::OptimizerParamGroup>{{{a}}, {{frozen, b}}},
                              torch::optim::SGDOptions(1.0));
  torch::optim::SGD second({other}, torch::optim::SGDOptions(1.0));
  GradScaler scaler;
  Ear ear;
  scaler.on_overflow(ear);

  scaler.scale((a + b * infinity + other).sum()).backward();
  scaler.step(second);
  scaler.step(optimizer);

  REQUIRE(ear.heard->size() == 1);
  CHECK(ear.heard->at(0).step == 2);
  const auto& parameters = ear.heard->at(0).parameters;
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[0].first == "parameter 0 of group 0");
  CHECK(parameters[2].first == "parameter 1 of group 1");
  CHECK(parameters[2].second.is_same(b));
}

TEST_CASE("An optimizer that decides on the device is heard of too, and on a CPU without a read") {
  const auto weight = torch::ones({2}, torch::requires_grad());
  DecidingSgd optimizer({weight}, torch::optim::SGDOptions(1.0));
  GradScaler scaler;
  Ear ear;
  scaler.on_overflow(ear);

  for (const float factor : {1.0F, infinity}) {
    optimizer.zero_grad();
    scaler.scale((weight * factor).sum()).backward();
    HostReadCounter reads;
    scaler.step(optimizer);
    CHECK(reads.more() == 0);
    scaler.update();
  }

  REQUIRE(ear.heard->size() == 1);
  CHECK(ear.heard->at(0).step == 2);
  CHECK(ear.heard->at(0).scale == 65536);
}

TEST_CASE("It is said whether the gradients are divided: by step(), before, or not at all") {
  const auto divided = [](auto& optimizer, const torch::Tensor& weight, const auto& before) {
    GradScaler scaler;
    Ear ear;
    scaler.on_overflow(ear);
    scaler.scale((weight * infinity).sum()).backward();
    before(scaler);
    scaler.step(optimizer);
    REQUIRE(ear.heard->size() == 1);
    return ear.heard->at(0).gradients_are_divided;
  };
  const auto nothing = [](GradScaler&) {};
  const auto weight = [] { return torch::ones({2}, torch::requires_grad()); };

  const auto a = weight(), b = weight(), c = weight(), d = weight(), e = weight();
  torch::optim::SGD plain({a}, 1.0), unscaled({b}, 1.0), in_a_range({c}, 1.0);
  CHECK(divided(plain, a, nothing));
  CHECK(divided(unscaled, b, [&](GradScaler& scaler) { scaler.unscale_(unscaled); }));
  CHECK(divided(in_a_range, c,
                [&](GradScaler& scaler) { scaler.unscale_(std::vector<torch::Tensor>{c}); }));

  DecidingSgd in_the_step({d}, 1.0);
  CHECK_FALSE(divided(in_the_step, d, [&](GradScaler& scaler) {
    scaler.unscale_in_step(in_the_step, "test", [](const auto&, auto& found_inf, const auto&) {
      found_inf.on(torch::kCPU).fill_(1);
      return torch::Tensor();
    });
  }));
  CopyingSgd of_copies({e}, 1.0);
  CHECK_FALSE(divided(of_copies, e, nothing));
}

TEST_CASE("Steps that are taken, that have no gradients, or are not scaled are not told") {
  Problem problem;
  Ear ear;
  problem.scaler.on_overflow(ear);
  problem.step(1);
  problem.optimizer.zero_grad();
  problem.scaler.step(problem.optimizer);
  problem.scaler.update();

  GradScaler disabled(GradScalerOptions().enabled(false));
  disabled.on_overflow(ear);
  problem.weight.mutable_grad() = torch::full({2}, infinity);
  disabled.step(problem.optimizer);

  CHECK(ear.heard->empty());
}

TEST_CASE("Who listens costs no operator, and who no longer listens is not told") {
  const auto operators_of = [](float gradient, bool listens, bool listened) {
    Problem problem;
    Ear ear;
    if (listens || listened) problem.scaler.on_overflow(ear);
    if (listened) problem.scaler.on_overflow({});
    problem.backward(gradient);
    OperatorCounter operators;
    problem.scaler.step(problem.optimizer);
    problem.scaler.update();
    const int count = operators.more();
    CHECK(ear.heard->size() == (listens && gradient == infinity ? 1 : 0));
    return count;
  };

  for (const float gradient : {1.0F, infinity}) {
    CAPTURE(gradient);
    const int alone = operators_of(gradient, false, false);
    CHECK(alone > 0);
    CHECK(operators_of(gradient, true, false) == alone);
    CHECK(operators_of(gradient, false, true) == alone);
  }
}

TEST_CASE("What a listener throws comes out of step(), and the scaler is in order") {
  Problem problem;
  problem.scaler.on_overflow([](const Overflow&) { throw std::runtime_error("enough"); });
  problem.backward(infinity);

  CHECK_THROWS_WITH(problem.scaler.step(problem.optimizer), "enough");

  CHECK(problem.scaler.skipped_steps() == 1);
  CHECK_ERROR(E04, problem.scaler.step(problem.optimizer));
  problem.scaler.update();
  CHECK(problem.scaler.get_scale() == 2);
  CHECK(problem.step(1).taken());
}

TEST_CASE("A listener may put another in its place, and moves with the scaler") {
  Problem problem;
  Ear second;
  bool lives_on = false;
  auto& scaler = problem.scaler;
  problem.scaler.on_overflow([&, second, own = std::make_shared<int>(1)](const Overflow&) {
    const std::weak_ptr<int> mine = own;
    bool& result = lives_on;  // nothing of the listener's is used below
    scaler.on_overflow(second);
    result = !mine.expired();
  });

  problem.step(infinity);
  CHECK(lives_on);
  problem.step(infinity);
  CHECK(second.heard->size() == 1);

  GradScaler moved = std::move(problem.scaler);
  problem.optimizer.zero_grad();
  moved.scale((problem.weight * infinity).sum()).backward();
  moved.step(problem.optimizer);
  CHECK(second.heard->size() == 2);
}

TEST_CASE("A listener keeps what it counts") {
  Problem problem;
  int last = 0;
  problem.scaler.on_overflow([&last, count = 0](const Overflow&) mutable { last = ++count; });

  problem.step(infinity);
  problem.step(infinity);

  CHECK(last == 2);
}
