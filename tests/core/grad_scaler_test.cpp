// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <cmath>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using torchamp::BasicGradScaler;
using torchamp::ConstantLossScale;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::StepStatus;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Scale 4, doubled after two good steps, quartered by an overflow.
GradScalerOptions small_numbers() {
  return GradScalerOptions().init_scale(4).growth_factor(2).backoff_factor(0.25).growth_interval(2);
}

/// One parameter that starts at 10. With the loss `factor * parameter` its gradient is `factor`,
/// and SGD with a rate of 1 takes it to 10 - factor.
struct Problem {
  torch::Tensor parameter = torch::full({1}, 10.0, torch::requires_grad());
  torch::optim::SGD optimizer{std::vector<torch::Tensor>{parameter}, torch::optim::SGDOptions(1.0)};

  torch::Tensor loss(float factor) const { return (parameter * factor).sum(); }
  float value() const { return parameter.item<float>(); }
  float gradient() const { return parameter.grad().item<float>(); }
};

torchamp::StepResult train_one_step(GradScaler& scaler, Problem& problem, float factor) {
  problem.optimizer.zero_grad();
  scaler.scale(problem.loss(factor)).backward();
  auto result = scaler.step(problem.optimizer);
  scaler.update();
  return result;
}

/// Everything that a refused call must leave alone.
struct Snapshot {
  float value, gradient;
  double scale;
  int64_t tracker;

  Snapshot(const GradScaler& scaler, const Problem& problem)
      : value(problem.value()),
        gradient(problem.gradient()),
        scale(scaler.get_scale()),
        tracker(scaler.growth_tracker()) {}

  bool operator==(const Snapshot& other) const {
    return value == other.value && gradient == other.gradient && scale == other.scale &&
           tracker == other.tracker;
  }
};

}  // namespace

static_assert(!std::is_copy_constructible_v<GradScaler>);
static_assert(!std::is_copy_assignable_v<GradScaler>);
static_assert(std::is_move_constructible_v<GradScaler>);

// --- The everyday loop -------------------------------------------------------------------------

TEST_CASE("The loss is multiplied by the scale, and the optimizer sees true gradients") {
  Problem problem;
  GradScaler scaler(small_numbers());

  const auto scaled = scaler.scale(problem.loss(3));
  CHECK(scaled.item<float>() == 120);
  scaled.backward();
  CHECK(problem.gradient() == 12);

  CHECK(scaler.step(problem.optimizer).taken());
  CHECK(problem.gradient() == 3);
  CHECK(problem.value() == 7);
}

TEST_CASE("GradScaler skips the step when a gradient is inf or NaN, and backs off") {
  for (const float bad : {infinity, -infinity, not_a_number}) {
    CAPTURE(bad);
    Problem problem;
    GradScaler scaler(small_numbers());

    const auto result = train_one_step(scaler, problem, bad);

    CHECK(result.skipped());
    CHECK(result.found_inf().item<float>() == 1);
    CHECK(problem.value() == 10);
    CHECK(scaler.get_scale() == 1);
  }
}

TEST_CASE("The scale grows after an interval of good steps, and an overflow resets the count") {
  Problem problem;
  GradScaler scaler(small_numbers());

  train_one_step(scaler, problem, 1);
  CHECK(scaler.get_scale() == 4);
  CHECK(scaler.growth_tracker() == 1);

  train_one_step(scaler, problem, 1);
  CHECK(scaler.get_scale() == 8);
  CHECK(scaler.growth_tracker() == 0);

  train_one_step(scaler, problem, infinity);
  CHECK(scaler.get_scale() == 2);
  CHECK(scaler.growth_tracker() == 0);
}

TEST_CASE("Three good steps and one overflow from 128 end at 128 times 8 times a half") {
  Problem problem;
  GradScaler scaler(GradScalerOptions().init_scale(128).growth_interval(1));

  for (const float factor : {1.0F, 1.0F, infinity, 1.0F}) train_one_step(scaler, problem, factor);

  CHECK(scaler.get_scale() == 128 * 8 * 0.5);
  CHECK(problem.value() == 7);
}

TEST_CASE("The scale never becomes inf or NaN by growing") {
  Problem problem;
  GradScaler scaler(GradScalerOptions().init_scale(1e38).growth_factor(16).growth_interval(1));

  train_one_step(scaler, problem, 1e-20F);

  CHECK(scaler.get_scale() == 1e38F);
}

TEST_CASE("The scale never leaves its lower bound however often steps overflow") {
  Problem problem;
  GradScaler scaler(small_numbers().min_scale(0.5));

  for (int i = 0; i < 10; ++i) train_one_step(scaler, problem, infinity);
  CHECK(scaler.get_scale() == 0.5);

  train_one_step(scaler, problem, 1);
  CHECK(problem.value() == 9);
}

TEST_CASE("A model trained with autocast and scaling ends near the one trained in float32") {
  const auto train = [](bool use_amp) {
    torch::manual_seed(1);
    torch::nn::Sequential model(torch::nn::Linear(8, 8), torch::nn::Linear(8, 8));
    torch::optim::SGD optimizer(model->parameters(), 0.1);
    GradScaler scaler(GradScalerOptions().enabled(use_amp).init_scale(128));
    for (int i = 0; i < 4; ++i) {
      const auto input = torch::randn({8, 8}), target = torch::randn({8, 8});
      optimizer.zero_grad();
      torch::Tensor loss;
      {
        torchamp::AutocastGuard autocast(torch::kCPU,
                                         torchamp::AutocastOptions(torch::kHalf).enabled(use_amp));
        loss = torch::mse_loss(model->forward(input), target);
      }
      scaler.scale(loss).backward();
      CHECK(scaler.step(optimizer).taken());
      scaler.update();
    }
    return torch::nn::utils::parameters_to_vector(model->parameters());
  };

  CHECK(torch::allclose(train(true), train(false), /*rtol=*/1e-3, /*atol=*/1e-3));
}

// --- scale() -----------------------------------------------------------------------------------

TEST_CASE("A half-precision loss of any shape is scaled in float32 and does not overflow") {
  GradScaler scaler;  // 65536 is more than float16 holds
  for (const auto dtype : {torch::kHalf, torch::kBFloat16}) {
    for (const auto& shape : std::vector<std::vector<int64_t>>{{}, {1}, {2, 2}}) {
      const auto scaled = scaler.scale(torch::ones(shape, dtype));

      CHECK(scaled.scalar_type() == torch::kFloat);
      CHECK(scaled.eq(65536).all().item<bool>());
    }
  }
}

TEST_CASE("A float64 loss stays float64 and a complex one complex") {
  GradScaler scaler(small_numbers());

  CHECK(scaler.scale(torch::ones({2}, torch::kDouble)).scalar_type() == torch::kDouble);
  const auto complex = scaler.scale(torch::ones({1}, torch::kComplexFloat));
  CHECK(complex.scalar_type() == torch::kComplexFloat);
  CHECK(torch::real(complex).item<float>() == 4);
}

TEST_CASE("The scale is not on a device before the first loss, and then on the loss's") {
  GradScaler scaler(small_numbers());
  CHECK_FALSE(scaler.scale_tensor().defined());
  CHECK(scaler.get_scale() == 4);

  static_cast<void>(scaler.scale(torch::ones({})));

  CHECK(scaler.scale_tensor().device().is_cpu());
  CHECK(scaler.scale_tensor().item<float>() == 4);
}

TEST_CASE("A loss that backward cannot start from is refused") {
  GradScaler scaler;

  CHECK_ERROR(E07, scaler.scale(torch::Tensor()));
  CHECK_ERROR(E07, scaler.scale(torch::ones({1}, torch::kLong)));
  CHECK_FALSE(scaler.scale_tensor().defined());
}

TEST_CASE("Losses in a container are all scaled, and come back in one of the same type") {
  GradScaler scaler(small_numbers());
  const std::vector<std::pair<torch::Tensor, torch::Tensor>> losses{
      {torch::ones({}), torch::ones({2})}};

  const auto scaled = scaler.scale(losses);

  CHECK(scaled[0].first.item<float>() == 4);
  CHECK(scaled[0].second.eq(4).all().item<bool>());
}

// --- Clipping, accumulation, several optimizers and groups -------------------------------------

TEST_CASE("Between unscale_ and step the gradients are true, so that clipping means what it says") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(8)).backward();

  scaler.unscale_(problem.optimizer);
  CHECK(problem.gradient() == 8);
  CHECK(torch::nn::utils::clip_grad_norm_(problem.parameter, /*max_norm=*/2.0) == 8);
  scaler.step(problem.optimizer);

  CHECK(problem.value() == doctest::Approx(8));
}

TEST_CASE(
    "An overflow found by unscale_ skips the step, also if clipping made the gradient finite") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(infinity)).backward();

  scaler.unscale_(problem.optimizer);
  problem.parameter.mutable_grad().fill_(1);

  CHECK(scaler.step(problem.optimizer).skipped());
  CHECK(problem.value() == 10);
}

TEST_CASE("Gradients made infinite after unscale_ are not checked again, as in torch.amp") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  scaler.unscale_(problem.optimizer);

  problem.parameter.mutable_grad().fill_(infinity);

  CHECK(scaler.step(problem.optimizer).taken());
  CHECK(problem.value() == -infinity);
}

TEST_CASE("Gradients of several backward passes accumulate at one scale") {
  Problem problem;
  GradScaler scaler(small_numbers());

  for (int iteration = 0; iteration < 2; ++iteration) {
    problem.optimizer.zero_grad();
    scaler.scale(problem.loss(1) / 2).backward();
    scaler.scale(problem.loss(3) / 2).backward();
    scaler.step(problem.optimizer);
    scaler.update();
  }

  CHECK(problem.value() == 6);
  CHECK(scaler.get_scale() == 8);
}

TEST_CASE("Two optimizers decide for themselves, and one overflow backs the common scale off") {
  Problem good, bad;
  GradScaler scaler(small_numbers());
  scaler.scale(good.loss(1)).backward();
  scaler.scale(bad.loss(infinity)).backward();

  scaler.unscale_(good.optimizer);
  CHECK(scaler.step(good.optimizer).taken());
  CHECK(scaler.step(bad.optimizer).skipped());
  scaler.update();

  CHECK(good.value() == 9);
  CHECK(bad.value() == 10);
  CHECK(scaler.get_scale() == 1);
}

TEST_CASE("The gradients of every parameter group are unscaled exactly once") {
  auto first = torch::full({1}, 10.0, torch::requires_grad());
  auto second = torch::full({1}, 10.0, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{first}, 1.0);
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(
      std::vector<torch::Tensor>{second}, std::make_unique<torch::optim::SGDOptions>(0.5)));
  GradScaler scaler(small_numbers());

  scaler.scale((first * 2 + second * 4).sum()).backward();
  scaler.step(optimizer);

  CHECK(first.item<float>() == 8);
  CHECK(second.item<float>() == 8);
}

TEST_CASE("An inf in any group skips them all") {
  auto first = torch::full({1}, 10.0, torch::requires_grad());
  auto second = torch::full({1}, 10.0, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{first}, 1.0);
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(std::vector<torch::Tensor>{second}));
  GradScaler scaler(small_numbers());

  scaler.scale((first + second * infinity).sum()).backward();

  CHECK(scaler.step(optimizer).skipped());
  CHECK(first.item<float>() == 10);
}

TEST_CASE("An optimizer without gradients is left alone while the others go on") {
  Problem used, unused;
  GradScaler scaler(small_numbers());
  scaler.scale(used.loss(1)).backward();

  CHECK(scaler.step(unused.optimizer).status() == StepStatus::NoGradients);
  CHECK(scaler.step(used.optimizer).taken());
  CHECK_NOTHROW(scaler.update());

  CHECK(used.value() == 9);
  CHECK(scaler.growth_tracker() == 1);
}

TEST_CASE("An iteration in which no optimizer had gradients does not move the scale") {
  Problem unused;
  GradScaler scaler(small_numbers());
  static_cast<void>(scaler.scale(torch::ones({})));

  scaler.step(unused.optimizer);
  scaler.update();

  CHECK(scaler.get_scale() == 4);
  CHECK(scaler.growth_tracker() == 0);
}

TEST_CASE("A parameter that two optimizers share is refused at the second, undivided") {
  Problem problem;
  torch::optim::SGD other(std::vector<torch::Tensor>{problem.parameter}, 1.0);
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  scaler.unscale_(problem.optimizer);
  const Snapshot before(scaler, problem);

  CHECK_ERROR(E11, scaler.unscale_(other));
  CHECK_ERROR(E11, scaler.step(other));

  CHECK(Snapshot(scaler, problem) == before);
}

TEST_CASE(
    "Optimizers that share a parameter may step one after the other on gradients of their own") {
  Problem problem;
  torch::optim::SGD other(std::vector<torch::Tensor>{problem.parameter}, 1.0);
  GradScaler scaler(small_numbers());

  scaler.scale(problem.loss(1)).backward();
  scaler.step(problem.optimizer);
  problem.optimizer.zero_grad();
  scaler.scale(problem.loss(2)).backward();
  scaler.step(other);
  scaler.update();

  CHECK(problem.value() == 7);
}

TEST_CASE("Any type with param_groups and step is an optimizer") {
  struct Group {
    std::vector<torch::Tensor> tensors;
    const std::vector<torch::Tensor>& params() const { return tensors; }
  };
  struct Minimal {
    std::vector<Group> groups;
    int steps = 0;
    std::vector<Group>& param_groups() { return groups; }
    void step() { ++steps; }
  };
  Problem problem;
  Minimal minimal{{{{problem.parameter}}}};
  GradScaler scaler(small_numbers());

  scaler.scale(problem.loss(1)).backward();
  scaler.step(minimal);

  CHECK(minimal.steps == 1);
  CHECK(problem.gradient() == 1);
}

TEST_CASE("A step inside an autocast region is seen by the next forward pass in it") {
  auto weight = torch::ones({1, 1}, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{weight}, 1.0);
  GradScaler scaler(small_numbers());
  torchamp::AutocastGuard autocast(torch::kCPU);
  const auto input = torch::ones({1, 1});

  scaler.scale(torch::mm(input, weight).sum()).backward();
  scaler.step(optimizer);

  CHECK(weight.item<float>() == 0);
  CHECK(torch::mm(input, weight).item<float>() == 0);
}

TEST_CASE("Sparse gradients are unscaled") {
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(3, 1).sparse(true));
  {
    torch::NoGradGuard no_grad;
    embedding->weight.fill_(10);
  }
  torch::optim::SGD optimizer(embedding->parameters(), 1.0);
  GradScaler scaler(small_numbers());

  scaler.scale(embedding->forward(torch::tensor({0, 2, 2})).sum()).backward();
  CHECK(scaler.step(optimizer).taken());

  CHECK(embedding->weight.flatten().equal(torch::tensor({9.0F, 10.0F, 8.0F})));
}

// --- Calls out of order ------------------------------------------------------------------------

TEST_CASE("Calls before scale() are refused") {
  Problem problem;
  problem.loss(1).backward();
  GradScaler scaler(small_numbers());
  const Snapshot before(scaler, problem);

  CHECK_ERROR(E05, scaler.unscale_(problem.optimizer));
  CHECK_ERROR(E05, scaler.step(problem.optimizer));
  CHECK_ERROR(E05, scaler.update());
  CHECK_ERROR(E05, scaler.update(8.0));

  CHECK(Snapshot(scaler, problem) == before);
}

TEST_CASE("unscale_() twice is refused and leaves the gradients untouched") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  scaler.unscale_(problem.optimizer);
  const Snapshot before(scaler, problem);

  CHECK_ERROR(E03, scaler.unscale_(problem.optimizer));

  CHECK(Snapshot(scaler, problem) == before);
  CHECK(scaler.step(problem.optimizer).taken());
}

TEST_CASE("unscale_() after step() is refused") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  scaler.step(problem.optimizer);
  const Snapshot before(scaler, problem);

  CHECK_ERROR(E03, scaler.unscale_(problem.optimizer));

  CHECK(Snapshot(scaler, problem) == before);
}

TEST_CASE("step() twice is refused and steps once") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  scaler.step(problem.optimizer);
  const Snapshot before(scaler, problem);

  CHECK_ERROR(E04, scaler.step(problem.optimizer));

  CHECK(Snapshot(scaler, problem) == before);
}

TEST_CASE("step() twice is refused for an optimizer without gradients too") {
  Problem unused;
  GradScaler scaler(small_numbers());
  static_cast<void>(scaler.scale(torch::ones({})));
  scaler.step(unused.optimizer);

  CHECK_ERROR(E04, scaler.step(unused.optimizer));
}

TEST_CASE("update() without a step is refused, also right after another update()") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  const Snapshot before(scaler, problem);
  CHECK_ERROR(E06, scaler.update());
  CHECK(Snapshot(scaler, problem) == before);

  scaler.step(problem.optimizer);
  scaler.update();
  CHECK_ERROR(E06, scaler.update());
  CHECK(scaler.growth_tracker() == 1);
}

TEST_CASE("update() after unscale_ without step counts as a good step, as in torch.amp") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  scaler.unscale_(problem.optimizer);

  scaler.update();

  CHECK(scaler.growth_tracker() == 1);
}

TEST_CASE("A float16 gradient is refused and no gradient of the optimizer has changed") {
  auto single = torch::full({1}, 10.0, torch::requires_grad());
  auto half = torch::full({1}, 10.0, torch::dtype(torch::kHalf).requires_grad(true));
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{single, half}, 1.0);
  GradScaler scaler(small_numbers());
  scaler.scale((single + half).sum()).backward();

  CHECK_ERROR(E09, scaler.step(optimizer));
  CHECK_ERROR_SAYS("parameter 1 of group 0", scaler.unscale_(optimizer));

  CHECK(single.grad().item<float>() == 4);
  CHECK(half.grad().item<float>() == 4);
}

TEST_CASE("An optimizer whose step throws may be stepped again without being unscaled twice") {
  struct Failing : torch::optim::SGD {
    using torch::optim::SGD::SGD;
    bool fails = true;
    torch::Tensor step(LossClosure closure = nullptr) override {
      if (fails) throw std::runtime_error("out of memory");
      return torch::optim::SGD::step(closure);
    }
  };
  Problem problem;
  Failing optimizer(std::vector<torch::Tensor>{problem.parameter}, torch::optim::SGDOptions(1.0));
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(1)).backward();
  CHECK_THROWS_AS(scaler.step(optimizer), std::runtime_error);

  optimizer.fails = false;
  CHECK(scaler.step(optimizer).taken());

  CHECK(problem.value() == 9);
}

// --- update(new_scale), getters and setters -----------------------------------------------------

TEST_CASE("update(new_scale) sets the scale, keeps the count and starts the next iteration") {
  Problem problem;
  GradScaler scaler(small_numbers());
  train_one_step(scaler, problem, 1);
  scaler.scale(problem.loss(1)).backward();
  scaler.step(problem.optimizer);

  scaler.update(32.0);

  CHECK(scaler.get_scale() == 32);
  CHECK(scaler.growth_tracker() == 1);
  CHECK_ERROR(E06, scaler.update());
}

TEST_CASE("A new scale may be a tensor, whose value is copied") {
  Problem problem;
  GradScaler scaler(small_numbers());
  train_one_step(scaler, problem, 1);
  auto new_scale = torch::full({1}, 16.0);

  scaler.update(new_scale);
  new_scale.fill_(5);

  CHECK(scaler.get_scale() == 16);
}

TEST_CASE("A new scale that is no single number is refused and the old one stays") {
  Problem problem;
  GradScaler scaler(small_numbers());
  train_one_step(scaler, problem, 1);

  CHECK_ERROR(E12, scaler.update(torch::Tensor()));
  CHECK_ERROR(E12, scaler.update(torch::ones({2})));
  CHECK_ERROR(E12, scaler.update(torch::ones({1}, torch::kInt)));
  CHECK_ERROR(E12, scaler.update(torch::ones({1}, torch::requires_grad())));

  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("Taken and skipped steps are counted, optimizers without gradients in neither") {
  Problem problem, unused;
  GradScaler scaler(small_numbers());
  for (const float factor : {1.0F, infinity, 1.0F}) train_one_step(scaler, problem, factor);
  scaler.step(unused.optimizer);

  CHECK(scaler.taken_steps() == 2);
  CHECK(scaler.skipped_steps() == 1);
}

TEST_CASE("A run of skips throws out of update() if asked to, after the scale has backed off") {
  Problem problem;
  GradScaler scaler(small_numbers().many_skips(1).on_many_skips(torchamp::ManySkips::Throw));

  CHECK_ERROR(E16, train_one_step(scaler, problem, infinity));

  CHECK(scaler.get_scale() == 1);
  CHECK_NOTHROW(train_one_step(scaler, problem, 1));
}

TEST_CASE("A new scale outside the bounds is refused and the old one stays") {
  Problem problem;
  GradScaler scaler(small_numbers().min_scale(1).max_scale(64));
  train_one_step(scaler, problem, 1);

  for (const double scale : {0.0, -1.0, 0.5, 65.0, double(infinity), double(not_a_number)}) {
    CAPTURE(scale);
    CHECK_ERROR(E12, scaler.update(scale));
  }

  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("Setters change what follows, and refuse nonsense without changing anything") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.set_growth_factor(3);
  scaler.set_backoff_factor(0.5);
  scaler.set_growth_interval(1);

  train_one_step(scaler, problem, 1);
  CHECK(scaler.get_scale() == 12);
  train_one_step(scaler, problem, infinity);
  CHECK(scaler.get_scale() == 6);

  CHECK_ERROR(E08, scaler.set_growth_factor(1));
  CHECK_ERROR(E08, scaler.set_backoff_factor(1));
  CHECK_ERROR(E08, scaler.set_growth_interval(0));
  CHECK(scaler.get_growth_factor() == 3);
  CHECK(scaler.get_backoff_factor() == 0.5);
  CHECK(scaler.get_growth_interval() == 1);
}

TEST_CASE("An interval lowered below the count of good steps grows at the next one") {
  Problem problem;
  GradScaler scaler(small_numbers().growth_interval(100));
  for (int i = 0; i < 5; ++i) train_one_step(scaler, problem, 1);

  scaler.set_growth_interval(2);
  train_one_step(scaler, problem, 1);

  CHECK(scaler.get_scale() == 8);
}

TEST_CASE("Options that make no sense are refused when the scaler is made") {
  CHECK_ERROR(E08, GradScaler(GradScalerOptions().init_scale(0)));
  CHECK_ERROR(E08, GradScaler(GradScalerOptions().growth_factor(1)));
}

TEST_CASE("A scaler that was moved goes on where it was") {
  Problem problem;
  GradScaler first(small_numbers());
  train_one_step(first, problem, 1);

  GradScaler second(std::move(first));
  train_one_step(second, problem, 1);

  CHECK(second.get_scale() == 8);
  CHECK(second.taken_steps() == 2);
}

// --- Disabled, and the constant scale ------------------------------------------------------------

TEST_CASE("A disabled scaler hands the loss through and steps in any order, inf or not") {
  Problem problem;
  GradScaler scaler(GradScalerOptions().enabled(false));
  CHECK_FALSE(scaler.is_enabled());

  const auto loss = problem.loss(infinity);
  CHECK(scaler.scale(loss).is_same(loss));
  loss.backward();
  scaler.unscale_(problem.optimizer);
  scaler.unscale_(problem.optimizer);
  CHECK(problem.gradient() == infinity);
  CHECK(scaler.step(problem.optimizer).taken());
  scaler.update();
  scaler.update(8.0);

  CHECK(problem.value() == -infinity);
  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.growth_tracker() == 0);
  CHECK_FALSE(scaler.scale_tensor().defined());
}

TEST_CASE("A disabled scaler trains bit for bit as a loop without one") {
  const auto train = [](bool with_scaler) {
    torch::manual_seed(1);
    torch::nn::Linear model(8, 8);
    torch::optim::Adam optimizer(model->parameters(), 0.1);
    GradScaler scaler(GradScalerOptions().enabled(false));
    for (int i = 0; i < 3; ++i) {
      optimizer.zero_grad();
      const auto loss = model->forward(torch::randn({4, 8})).square().mean();
      if (with_scaler) {
        scaler.scale(loss).backward();
        scaler.step(optimizer);
        scaler.update();
      } else {
        loss.backward();
        optimizer.step();
      }
    }
    return model->weight.detach().clone();
  };

  CHECK(train(true).equal(train(false)));
}

TEST_CASE("A constant scale skips overflowing steps and stays as it is") {
  Problem problem;
  BasicGradScaler<ConstantLossScale> scaler(GradScalerOptions().init_scale(4));

  scaler.scale(problem.loss(infinity)).backward();
  CHECK(scaler.step(problem.optimizer).skipped());
  scaler.update();

  CHECK(scaler.get_scale() == 4);
  CHECK(problem.value() == 10);
}

TEST_CASE("A range of parameters is unscaled, and step() then takes its gradients as they are") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(3)).backward();

  const auto found_inf = scaler.unscale_(std::vector<torch::Tensor>{problem.parameter});
  CHECK(found_inf.item<float>() == 0);
  CHECK(problem.gradient() == 3);
  CHECK(problem.value() == 10);

  CHECK(scaler.step(problem.optimizer).taken());
  CHECK(problem.gradient() == 3);
  CHECK(problem.value() == 7);
  scaler.update();
  CHECK(scaler.growth_tracker() == 1);
}

TEST_CASE("An inf in a range of parameters is found, skips the step and backs off") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(infinity)).backward();

  CHECK(scaler.unscale_(std::vector<torch::Tensor>{problem.parameter}).item<float>() == 1);

  CHECK(scaler.step(problem.optimizer).skipped());
  CHECK(problem.value() == 10);
  scaler.update();
  CHECK(scaler.get_scale() == 1);
}

TEST_CASE("Parameters without an optimizer can be trained by hand") {
  auto parameter = torch::full({1}, 10.0, torch::requires_grad());
  const std::map<std::string, torch::Tensor> parameters{{"weight", parameter}};
  GradScaler scaler(small_numbers());
  for (const float factor : {3.0F, infinity}) {
    parameter.mutable_grad() = torch::Tensor();
    scaler.scale((parameter * factor).sum()).backward();
    if (scaler.unscale_(parameters).item<float>() == 0) {
      const torch::NoGradGuard no_grad;
      parameter -= parameter.grad();
    }
    scaler.update();
  }

  CHECK(parameter.item<float>() == 7);
  CHECK(scaler.get_scale() == 1);
}

TEST_CASE("Two optimizers can step on one range of all their parameters") {
  Problem a, b;
  GradScaler scaler(small_numbers());
  scaler.scale(a.loss(3) + b.loss(5)).backward();

  scaler.unscale_(std::vector<torch::Tensor>{a.parameter, b.parameter});
  scaler.step(a.optimizer);
  scaler.step(b.optimizer);

  CHECK(a.value() == 7);
  CHECK(b.value() == 5);
}

TEST_CASE("A range that is unscaled twice, or has some of an optimizer's gradients, is refused") {
  Problem a, b;
  torch::optim::SGD both(std::vector<torch::Tensor>{a.parameter, b.parameter}, 1.0);
  GradScaler scaler(small_numbers());
  scaler.scale(a.loss(3) + b.loss(5)).backward();
  const std::vector<torch::Tensor> range{a.parameter};
  scaler.unscale_(range);

  CHECK_ERROR(E03, scaler.unscale_(range));
  CHECK_ERROR(E03, scaler.unscale_(a.optimizer));
  CHECK_ERROR(E11, scaler.step(both));

  CHECK(a.gradient() == 3);
  CHECK(b.gradient() == 20);
  CHECK(a.value() == 10);
  CHECK(b.value() == 10);
}

TEST_CASE("A range through an optimizer's gradients after unscale_(optimizer) is refused") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(3)).backward();
  scaler.unscale_(problem.optimizer);

  CHECK_ERROR(E11, scaler.unscale_(std::vector<torch::Tensor>{problem.parameter}));

  CHECK(problem.gradient() == 3);
}

TEST_CASE("A disabled scaler leaves a range of parameters as it is") {
  Problem problem;
  GradScaler scaler(GradScalerOptions().enabled(false));
  problem.loss(infinity).backward();

  CHECK(scaler.unscale_(std::vector<torch::Tensor>{problem.parameter}).item<float>() == 0);
}

TEST_CASE("An optimizer built where another was, within one iteration, is a new one") {
  Problem a, b;
  GradScaler scaler(small_numbers());
  scaler.scale(a.loss(3) + b.loss(5)).backward();
  const auto over = [](const Problem& problem) {
    return std::vector<torch::Tensor>{problem.parameter};
  };
  std::optional<torch::optim::SGD> optimizer(std::in_place, over(a), 1.0);
  const auto* const address = &*optimizer;

  scaler.step(*optimizer);
  optimizer.emplace(over(b), 1.0);
  REQUIRE(&*optimizer == address);
  scaler.unscale_(*optimizer);
  scaler.step(*optimizer);

  CHECK(a.value() == 7);
  CHECK(b.value() == 5);
}

TEST_CASE("A gradient that becomes infinite by being unscaled skips the step") {
  Problem problem;
  GradScaler scaler(small_numbers().init_scale(0.25));

  scaler.scale(problem.loss(1)).backward();
  problem.parameter.mutable_grad().fill_(1e38);  // finite, but 4e38 is not a float32

  CHECK(scaler.step(problem.optimizer).skipped());
  CHECK(problem.value() == 10);
  scaler.update();
  CHECK(scaler.get_scale() == 0.0625);
}

TEST_CASE("An overflow by unscaling is noticed after the scale has fallen below 1 too") {
  Problem problem;
  GradScaler scaler(small_numbers());  // 4, then 1, then a quarter
  train_one_step(scaler, problem, infinity);
  train_one_step(scaler, problem, infinity);
  REQUIRE(scaler.get_scale() == 0.25);

  problem.optimizer.zero_grad();
  scaler.scale(problem.loss(1)).backward();
  problem.parameter.mutable_grad().fill_(1e38);

  CHECK(scaler.step(problem.optimizer).skipped());
}

TEST_CASE("LBFGS and closures are refused before anything runs") {
  Problem problem;
  torch::optim::LBFGS lbfgs(std::vector<torch::Tensor>{problem.parameter});
  torch::optim::Optimizer& base = lbfgs;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(3)).backward();
  int calls = 0;
  const auto closure = [&] {
    ++calls;
    return problem.loss(3);
  };

  CHECK_ERROR(E19, scaler.step(base));
  CHECK_ERROR(E19, scaler.step(base, closure));
  CHECK_ERROR(E19, scaler.step(problem.optimizer, closure));

  CHECK(calls == 0);
  CHECK(problem.gradient() == 12);
  CHECK(problem.value() == 10);
  CHECK(scaler.step(problem.optimizer).taken());
}

TEST_CASE("A disabled scaler steps LBFGS with its closure") {
  Problem problem;
  torch::optim::LBFGS lbfgs(std::vector<torch::Tensor>{problem.parameter});
  GradScaler scaler(GradScalerOptions().enabled(false));

  const auto result = scaler.step(lbfgs, [&] {
    lbfgs.zero_grad();
    const auto loss = problem.parameter.square().sum();
    loss.backward();
    return loss;
  });

  CHECK(result.taken());
  CHECK(std::abs(problem.value()) < 1e-3);
}

namespace {

/// SGD that says of itself what a test needs.
struct AmpSgd : torch::optim::SGD, torchamp::AmpOptimizer {
  explicit AmpSgd(const torch::Tensor& parameter)
      : SGD(std::vector<torch::Tensor>{parameter}, 1.0) {}

  bool has_master_weights() const override { return masters; }
  bool decides_on_device() const override { return on_device; }
  void step_unless(const torch::Tensor& found_inf, const torch::Tensor& /*grad_scale*/) override {
    last_found_inf = found_inf;
    const torch::NoGradGuard no_grad;
    auto& parameter = param_groups()[0].params()[0];
    parameter.copy_(torch::where(found_inf == 1, parameter, parameter - parameter.grad()));
  }

  bool masters = false;
  bool on_device = false;
  torch::Tensor last_found_inf;
};

}  // namespace

TEST_CASE("Half gradients are unscaled where the optimizer says that it has master weights") {
  auto parameter = torch::full({1}, 10.0, torch::kHalf).requires_grad_();
  AmpSgd optimizer(parameter);
  torch::optim::Optimizer& base = optimizer;
  GradScaler scaler(small_numbers());
  scaler.scale((parameter * 3).sum()).backward();

  CHECK_ERROR(E09, scaler.step(base));
  CHECK_ERROR_SAYS("parameter 0 of group 0, of shape [1]", scaler.step(base));
  CHECK(parameter.grad().item<float>() == 12);

  optimizer.masters = true;
  CHECK(scaler.step(base).taken());
  CHECK(parameter.item<float>() == 7);
}

TEST_CASE("A half sparse gradient whose duplicates add up to inf skips the step") {
  auto table = torch::zeros({3}, torch::kHalf).requires_grad_();
  AmpSgd optimizer(table);
  optimizer.masters = true;
  GradScaler scaler(small_numbers());
  static_cast<void>(scaler.scale(torch::ones({})));
  table.mutable_grad() =
      torch::sparse_coo_tensor(torch::tensor({{0, 0}}), torch::full({2}, 64000.0), {3})
          .to(torch::kHalf);

  CHECK(scaler.step(optimizer).skipped());
}

TEST_CASE("An optimizer that decides on the device is given what was found, and nothing is read") {
  Problem problem;
  AmpSgd optimizer(problem.parameter);
  optimizer.on_device = true;
  torch::optim::Optimizer& base = optimizer;
  GradScaler scaler(small_numbers());

  scaler.scale(problem.loss(3)).backward();
  const auto taken = scaler.step(base);
  CHECK(optimizer.last_found_inf.item<float>() == 0);
  CHECK_ERROR(E04, scaler.step(optimizer));
  scaler.update();
  optimizer.zero_grad();
  scaler.scale(problem.loss(infinity)).backward();
  const auto skipped = scaler.step(base);
  CHECK(optimizer.last_found_inf.item<float>() == 1);
  scaler.update();

  CHECK(problem.value() == 7);
  CHECK(taken.taken());
  CHECK(skipped.skipped());
  CHECK(scaler.taken_steps() == 1);
  CHECK(scaler.skipped_steps() == 1);
  CHECK(scaler.get_scale() == 1);
}

TEST_CASE("Skips that were decided on a CPU count for the alarm") {
  Problem problem;
  AmpSgd optimizer(problem.parameter);
  optimizer.on_device = true;
  GradScaler scaler(small_numbers().many_skips(2).on_many_skips(torchamp::ManySkips::Throw));
  const auto overflow = [&] {
    optimizer.zero_grad();
    scaler.scale(problem.loss(infinity)).backward();
    scaler.step(optimizer);
  };

  overflow();
  CHECK_NOTHROW(scaler.update());
  overflow();
  CHECK_ERROR(E16, scaler.update());
}

TEST_CASE("A run without gradients is said, by update(), when all else is done") {
  Problem problem;
  GradScaler scaler(small_numbers().many_skips(2).on_many_skips(torchamp::ManySkips::Throw));
  static_cast<void>(scaler.scale(problem.loss(1)));
  scaler.step(problem.optimizer);
  scaler.update();

  scaler.step(problem.optimizer);
  CHECK_ERROR(E16, scaler.update());

  CHECK(scaler.get_scale() == 4);
  CHECK(scaler.between_iterations());
}

TEST_CASE("Parameters that are added between unscale_ and step are stepped from the next on") {
  Problem a, b;
  GradScaler scaler(small_numbers());
  scaler.scale(a.loss(3)).backward();

  scaler.unscale_(a.optimizer);
  a.optimizer.add_param_group(torch::optim::OptimizerParamGroup({b.parameter}));
  CHECK(scaler.step(a.optimizer).taken());
  scaler.update();
  CHECK(a.value() == 7);

  a.optimizer.zero_grad();
  scaler.scale(a.loss(1) + b.loss(5)).backward();
  CHECK(scaler.step(a.optimizer).taken());
  CHECK(a.value() == 6);
  CHECK(b.value() == 5);
}

TEST_CASE("Added parameters whose gradients are scaled are refused, with the cure") {
  Problem a, b;
  GradScaler scaler(small_numbers());
  scaler.scale(a.loss(3) + b.loss(5)).backward();

  scaler.unscale_(a.optimizer);
  a.optimizer.add_param_group(torch::optim::OptimizerParamGroup({b.parameter}));

  CHECK_ERROR(E11, scaler.step(a.optimizer));
  CHECK_ERROR_SAYS("call add_param_group() between iterations", scaler.step(a.optimizer));
  CHECK(a.value() == 10);
  CHECK(b.gradient() == 20);
}

TEST_CASE("Undefined parameters in a range are passed over") {
  const torch::nn::Linear linear(torch::nn::LinearOptions(1, 1).bias(false));
  GradScaler scaler(small_numbers());
  scaler.scale(linear->weight.sum()).backward();

  scaler.unscale_(std::vector<torch::Tensor>{linear->bias, linear->weight});

  CHECK(linear->weight.grad().item<float>() == 1);
}

TEST_CASE("A disabled scaler counts the steps that it takes") {
  Problem problem;
  GradScaler scaler(GradScalerOptions().enabled(false));
  problem.loss(1).backward();

  scaler.step(problem.optimizer);
  scaler.step(problem.optimizer, torch::optim::Optimizer::LossClosure());

  CHECK(scaler.taken_steps() == 2);
}

TEST_CASE("A float16 gradient in a range of parameters is refused by its name") {
  torch::nn::Linear linear(2, 2);
  linear->to(torch::kHalf);
  GradScaler scaler(small_numbers());
  scaler.scale(linear->weight.sum()).backward();

  CHECK_ERROR(E09, scaler.unscale_(linear->named_parameters()));
  CHECK_ERROR_SAYS("parameter \"weight\", of shape [2, 2]",
                   scaler.unscale_(linear->named_parameters()));
}

TEST_CASE("Losses in a list or a map come back in one") {
  GradScaler scaler(small_numbers());
  const std::list<torch::Tensor> list{torch::ones({}), torch::full({}, 2.0)};
  const std::map<std::string, torch::Tensor> map{{"main", torch::ones({})}};

  const std::list<torch::Tensor> scaled_list = scaler.scale(list);
  const std::map<std::string, torch::Tensor> scaled_map = scaler.scale(map);

  CHECK(scaled_list.back().item<float>() == 8);
  CHECK(scaled_map.at("main").item<float>() == 4);
}

TEST_CASE("An expanded gradient is unscaled with the others") {
  Problem a;
  auto b = torch::full({3}, 10.0, torch::requires_grad());
  torch::optim::SGD both(std::vector<torch::Tensor>{a.parameter, b}, 1.0);
  GradScaler scaler(small_numbers());
  scaler.scale(a.loss(3)).backward();
  b.mutable_grad() = torch::full({1}, 8.0).expand({3});

  CHECK(scaler.step(both).taken());

  CHECK(a.value() == 7);
  CHECK(b.eq(8).all().item<bool>());
}

TEST_CASE("A scale that stands at a bound which is no float32 can be set and loaded again") {
  // As float32, 3.3 is 3.29999995 and 3.7 is 3.70000005: each beyond its bound.
  for (const bool at_max : {false, true}) {
    const auto options = GradScalerOptions()
                             .init_scale(3.5)
                             .min_scale(3.3)
                             .max_scale(3.7)
                             .growth_interval(1)
                             .many_skips(0);
    Problem problem;
    GradScaler scaler(options);
    train_one_step(scaler, problem, at_max ? 1 : infinity);
    const double scale = scaler.get_scale();
    REQUIRE(scale == (at_max ? 3.7F : 3.3F));

    GradScaler other(options);
    CHECK_NOTHROW(other.load_state_dict(scaler.state_dict()));
    CHECK(other.get_scale() == scale);
    CHECK_NOTHROW(scaler.update(scale));
    CHECK_NOTHROW(GradScaler(GradScalerOptions(options).init_scale(scale)));
  }
}

TEST_CASE("unscale_() before backward() is noticed at step(), before anything is stepped") {
  Problem problem;
  GradScaler scaler(small_numbers());
  const auto loss = scaler.scale(problem.loss(3));
  scaler.unscale_(problem.optimizer);
  loss.backward();

  CHECK_ERROR(E03, scaler.step(problem.optimizer));
  CHECK_ERROR_SAYS("before backward()", scaler.step(problem.optimizer));

  CHECK(problem.value() == 10);
  CHECK(problem.gradient() == 12);
}

TEST_CASE("What unscale_() returned may be changed without changing what step() does") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.loss(infinity)).backward();

  scaler.unscale_(problem.optimizer).zero_();

  CHECK(scaler.step(problem.optimizer).skipped());
}

TEST_CASE("A step that throws drops the casts of the weights that it may have changed") {
  auto weight = torch::ones({1, 1}, torch::requires_grad());
  struct Throwing : torch::optim::SGD {
    using SGD::SGD;
    torch::Tensor step(LossClosure closure = nullptr) override {
      SGD::step(std::move(closure));
      throw std::runtime_error("late");
    }
  } optimizer(std::vector<torch::Tensor>{weight}, torch::optim::SGDOptions(1.0));
  GradScaler scaler(small_numbers());
  // Before LibTorch 2.11 a region caches only if it is asked to.
  const torchamp::AutocastGuard autocast(torch::kCPU,
                                         torchamp::AutocastOptions().cache_enabled(true));
  const auto forward = [&] { return torch::mm(torch::ones({1, 1}), weight).sum(); };
  scaler.scale(forward()).backward();

  CHECK_THROWS_AS(scaler.step(optimizer), std::runtime_error);

  CHECK(weight.item<float>() == 0);
  CHECK(forward().item<float>() == 0);
}

TEST_CASE("The host reads one number a step, and none if the device decides") {
  const auto options = small_numbers();
  const auto reads_of = [](auto scaler) {
    Problem problem;
    AmpSgd on_device(torch::ones({1}, torch::requires_grad()));
    on_device.on_device = true;
    auto& other = on_device.param_groups()[0].params()[0];
    std::vector<int> reads;
    HostReadCounter counter;
    const auto loss = scaler.scale(problem.loss(3) + other.sum());
    reads.push_back(counter.more());
    loss.backward();
    counter.more();
    scaler.unscale_(problem.optimizer);
    reads.push_back(counter.more());
    scaler.step(problem.optimizer);
    reads.push_back(counter.more());
    const auto result = scaler.step(on_device);
    reads.push_back(counter.more());
    scaler.update();
    reads.push_back(counter.more());
    static_cast<void>(scaler.skipped_steps());
    reads.push_back(counter.more());
    return reads;
  };
  //                              scale, unscale_, step, step on the device, update, skipped_steps
  const std::vector<int> expected{0, 0, 1, 0, 0, 0};  // 1 at the end on another device than a CPU

  CHECK(reads_of(GradScaler(options)) == expected);
  CHECK(reads_of(GradScaler(GradScalerOptions(options).hysteresis(2))) == expected);
  CHECK(reads_of(BasicGradScaler<ConstantLossScale>(options)) == expected);
}
