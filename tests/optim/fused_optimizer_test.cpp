// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/optim/fused_adagrad.h>
#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_adamw.h>
#include <torchamp/optim/fused_optimizer.h>
#include <torchamp/optim/fused_sgd.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"
#include "support/stock_and_fused.h"

#include <limits>
#include <memory>
#include <vector>

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Adam {
  using Fused = torchamp::FusedAdam;
  using Stock = torch::optim::Adam;
  using State = torch::optim::AdamParamState;
  static auto options(double lr = 0.1) { return torch::optim::AdamOptions(lr).weight_decay(0.01); }
};
struct AdamW {
  using Fused = torchamp::FusedAdamW;
  using Stock = torch::optim::AdamW;
  using State = torch::optim::AdamWParamState;
  static auto options(double lr = 0.1) { return torch::optim::AdamWOptions(lr).amsgrad(true); }
};
struct SGD {
  using Fused = torchamp::FusedSGD;
  using Stock = torch::optim::SGD;
  using State = torch::optim::SGDParamState;
  static auto options(double lr = 0.1) { return torch::optim::SGDOptions(lr).momentum(0.9); }
};
struct DampenedSGD : SGD {
  static auto options(double lr = 0.1) { return SGD::options(lr).dampening(0.5); }
};
struct PlainSGD : SGD {
  static auto options(double lr = 0.1) { return torch::optim::SGDOptions(lr).weight_decay(0.01); }
};
struct Adagrad {
  using Fused = torchamp::FusedAdagrad;
  using Stock = torch::optim::Adagrad;
  using State = torch::optim::AdagradParamState;
  static auto options(double lr = 0.1) {
    return torch::optim::AdagradOptions(lr).lr_decay(0.1).initial_accumulator_value(0.5);
  }
};

/// A step of both with equal gradients, as `Twins::set_gradients()` makes them.
template <class... Gradients>
void step_both(Twins& twins, torch::optim::Optimizer& fused, torch::optim::Optimizer& stock,
               Gradients... gradients) {
  twins.set_gradients(gradients...);
  fused.step();
  stock.step();
}

torchamp::GradScaler scaler_of(double scale) {
  torchamp::GradScaler scaler(
      torchamp::GradScalerOptions().init_scale(scale).growth_interval(1000000));
  (void)scaler.scale(torch::ones({}));
  return scaler;
}

}  // namespace

#define FOR_ALL Adam, AdamW, SGD, DampenedSGD, PlainSGD, Adagrad

TEST_CASE_TEMPLATE("A fused optimizer walks the way of the stock one", Kind, FOR_ALL) {
  for (const auto dtype : {torch::kFloat, torch::kDouble}) {
    Twins twins(3, dtype);
    typename Kind::Fused fused(twins.a, Kind::options());
    typename Kind::Stock stock(twins.b, Kind::options());

    for (int i = 0; i < 10; ++i) {
      step_both(twins, fused, stock);
    }

    CHECK(twins.are_close());
  }
}

TEST_CASE_TEMPLATE("Parameters without a gradient wait, and count their own steps", Kind, FOR_ALL) {
  Twins twins(3);
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());

  for (int i = 0; i < 9; ++i) {
    step_both(twins, fused, stock, 1, i % 4);
  }

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("Large tensors, small ones and such of another dtype step alike", Kind,
                   FOR_ALL) {
  Twins twins(2);
  for (auto* side : {&twins.a, &twins.b}) {
    torch::manual_seed(2);
    side->push_back(torch::randn({70000}).requires_grad_());
    side->push_back(torch::randn({3}, torch::kDouble).requires_grad_());
    side->push_back(torch::randn({0, 3}).requires_grad_());
  }
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());

  for (int i = 0; i < 3; ++i) {
    step_both(twins, fused, stock);
  }

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("Through a scaler it walks the same way, skipped steps left out, the first too",
                   Kind, FOR_ALL) {
  Twins twins(3);
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  auto scaler_a = scaler_of(65536), scaler_b = scaler_of(65536);

  for (int i = 0; i < 8; ++i) {
    twins.set_gradients(65536);
    if (i % 3 == 0) {
      twins.a[1].mutable_grad()[0][0] = inf;
      twins.b[1].mutable_grad()[0][0] = inf;
    }
    const auto before = copies(twins.a);
    const bool taken = scaler_a.step(fused).taken();
    CHECK(taken == scaler_b.step(stock).taken());
    CHECK(taken == (i % 3 != 0));
    if (!taken) CHECK(are_equal(twins.a, before));
    scaler_a.update(65536.0);
    scaler_b.update(65536.0);
  }

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("A step through a scaler reads nothing on the host, also through the base", Kind,
                   FOR_ALL) {
  Twins twins(3);
  typename Kind::Fused fused(twins.a, Kind::options());
  torch::optim::Optimizer& base = fused;
  auto scaler = scaler_of(4);

  for (int i = 0; i < 2; ++i) {
    twins.set_gradients(4);
    HostReadCounter reads;
    scaler.step(fused);
    scaler.update();
    CHECK(reads.more() == 0);
    scaler.step(base);
    scaler.update();
    CHECK(reads.more() == 0);
  }
}

TEST_CASE_TEMPLATE("The gradients are divided by grad_scale, unless the step is skipped", Kind,
                   FOR_ALL) {
  Twins twins(1);
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  twins.set_gradients();
  twins.a[0].mutable_grad().mul_(8);

  fused.step_unless(torch::ones({}), torch::full({}, 8.0));
  CHECK(torch::equal(twins.a[0], twins.b[0]));
  CHECK(torch::equal(twins.a[0].grad(), twins.b[0].grad() * 8));

  fused.step_unless(torch::zeros({}), torch::full({}, 8.0));
  stock.step();
  CHECK(twins.are_close());
  CHECK(torch::equal(twins.a[0].grad(), twins.b[0].grad()));
}

TEST_CASE_TEMPLATE("A run goes on from the stock optimizer's archive, and back", Kind, FOR_ALL) {
  Twins twins(3);
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  for (int i = 0; i < 3; ++i) {
    step_both(twins, fused, stock, 1, i);
  }

  typename Kind::Stock from_fused(twins.a, Kind::options(9.0));
  typename Kind::Fused from_stock(twins.b, Kind::options(9.0));
  hand_over(fused, from_fused);
  hand_over(stock, from_stock);
  for (int i = 0; i < 3; ++i) {
    twins.set_gradients(1, i);
    from_fused.step();
    from_stock.step();
  }

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("An archive of before the first step that was taken starts a run anew", Kind,
                   FOR_ALL) {
  Twins twins(2);
  typename Kind::Fused skipped(twins.a, Kind::options());
  twins.set_gradients();
  skipped.step_unless(torch::ones({}), {});

  typename Kind::Stock from_skipped(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  hand_over(skipped, from_skipped);
  from_skipped.step();
  stock.step();

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE(
    "Groups keep options of their own, also those that a scheduler changes or that"
    " come later",
    Kind, FOR_ALL) {
  Twins twins(3);
  const auto groups = [](std::vector<torch::Tensor>& tensors) {
    return std::vector<torch::optim::OptimizerParamGroup>{
        {{tensors[0]},
         std::make_unique<std::decay_t<decltype(Kind::options())>>(Kind::options(0.5))},
        {{tensors[1]},
         std::make_unique<std::decay_t<decltype(Kind::options())>>(Kind::options(0.2))}};
  };
  typename Kind::Fused fused(groups(twins.a), Kind::options());
  typename Kind::Stock stock(groups(twins.b), Kind::options());
  const auto step = [&] { step_both(twins, fused, stock); };
  step();
  torch::optim::StepLR schedule_a(fused, 1, 0.5), schedule_b(stock, 1, 0.5);
  for (int i = 0; i < 2; ++i) {
    schedule_a.step();
    schedule_b.step();
  }
  step();
  if constexpr (!std::is_same_v<Kind, Adagrad>) {  // whose stock class makes no state for it
    fused.add_param_group(torch::optim::OptimizerParamGroup({twins.a[2]}));
    stock.add_param_group(torch::optim::OptimizerParamGroup({twins.b[2]}));
  }
  step();

  CHECK(fused.param_groups()[0].options().get_lr() == doctest::Approx(0.25));
  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("Gradients and parameters of other strides step right", Kind, FOR_ALL) {
  Twins twins(2);
  for (auto* side : {&twins.a, &twins.b}) {
    torch::manual_seed(3);
    side->push_back(torch::randn({5, 4}).t().detach().requires_grad_());
  }
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  for (int i = 0; i < 2; ++i) {
    twins.set_gradients();
    twins.a[0].mutable_grad() = twins.a[0].grad().t().contiguous().t();
    fused.step();
    stock.step();
  }

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("Moments of other strides, as an archive may bring them, are taken along", Kind,
                   FOR_ALL) {
  Twins twins(1);
  typename Kind::Stock before(twins.b, Kind::options());
  twins.set_gradients();
  before.step();
  twins.a[0] = twins.b[0].detach().t().contiguous().t().requires_grad_();
  typename Kind::Fused fused(twins.a, Kind::options());
  hand_over(before, fused);

  step_both(twins, fused, before);

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("A gradient of other strides is divided by grad_scale too", Kind, FOR_ALL) {
  Twins twins(1);
  typename Kind::Fused fused(twins.a, Kind::options());
  twins.set_gradients();
  twins.a[0].mutable_grad() = (twins.a[0].grad() * 8).t().contiguous().t();

  fused.step_unless(torch::zeros({}), torch::full({}, 8.0));

  CHECK(torch::equal(twins.a[0].grad(), twins.b[0].grad()));
}

TEST_CASE_TEMPLATE("A parameter that stands there twice, as tied weights do, is stepped once", Kind,
                   FOR_ALL) {
  Twins twins(2);
  const std::vector<torch::Tensor> tied{twins.a[0], twins.a[1], twins.a[0]};
  typename Kind::Fused fused(tied, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  for (int i = 0; i < 2; ++i) {
    step_both(twins, fused, stock);
  }

  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("What cannot be stepped is refused before anything has changed", Kind, FOR_ALL) {
  Twins twins(2);
  typename Kind::Fused fused(twins.a, Kind::options());
  twins.set_gradients();
  twins.a[1].mutable_grad() = torch::ones({4, 5}).to_sparse();
  const auto before = copies(twins.a);
  const auto states = fused.state().size();

  CHECK_ERROR(E26, fused.step());
  CHECK_ERROR_SAYS("parameter 1 of group 0", fused.step());
  CHECK(are_equal(twins.a, before));
  CHECK(fused.state().size() == states);
}

TEST_CASE_TEMPLATE("State of another shape is refused", Kind, Adam, AdamW, SGD, Adagrad) {
  Twins twins(1);
  std::vector<torch::Tensor> others{torch::ones({2}).requires_grad_()};
  typename Kind::Fused fused(twins.a, Kind::options()), other(others, Kind::options());
  others[0].mutable_grad() = torch::ones({2});
  other.step();
  hand_over(other, fused);
  twins.set_gradients();

  CHECK_ERROR(E26, fused.step());
  CHECK(torch::equal(twins.a[0], twins.b[0]));
}

TEST_CASE_TEMPLATE("A step calls as many operators for 1 parameter as for 1,000", Kind, FOR_ALL) {
  std::vector<int> calls;
  for (const int number : {1, 1000}) {
    std::vector<torch::Tensor> parameters;
    for (int i = 0; i < number; ++i) parameters.push_back(torch::ones({70000 / number}));
    typename Kind::Fused fused(parameters, Kind::options());
    for (const auto& parameter : parameters) parameter.mutable_grad() = torch::ones_like(parameter);
    fused.step();
    OperatorCounter steps("aten::_foreach_add_");
    fused.step();
    calls.push_back(steps.more());
  }

  CHECK(calls[0] == calls[1]);
}

TEST_CASE_TEMPLATE("A closure is called with gradient history, and its loss returned", Kind,
                   FOR_ALL) {
  Twins twins(1);
  typename Kind::Fused fused(twins.a, Kind::options());
  typename Kind::Stock stock(twins.b, Kind::options());
  const auto closure_of = [](torch::optim::Optimizer& optimizer, torch::Tensor& parameter) {
    return [&] {
      optimizer.zero_grad();
      const auto loss = (parameter * parameter).sum();
      loss.backward();
      return loss;
    };
  };

  const torch::NoGradGuard as_the_caller_may_have;
  const auto loss = fused.step(closure_of(fused, twins.a[0]));

  CHECK(torch::equal(loss, stock.step(closure_of(stock, twins.b[0]))));
  CHECK(twins.are_close());
}

TEST_CASE_TEMPLATE("A step inside an autocast region is seen by the next forward pass there", Kind,
                   FOR_ALL) {
  const auto weight = torch::ones({4, 4}).requires_grad_();
  typename Kind::Fused fused(std::vector<torch::Tensor>{weight}, Kind::options());
  const auto input = torch::ones({1, 4});
  const torchamp::AutocastGuard region(torch::kCPU,
                                       torchamp::AutocastOptions().cache_enabled(true));

  const auto before = at::linear(input, weight);
  weight.mutable_grad() = torch::ones({4, 4});
  fused.step();
  const auto after = at::linear(input, weight);

  CHECK_FALSE(torch::equal(before, after));
}

TEST_CASE_TEMPLATE("A copy of the state knows its number of steps", Kind, Adam, AdamW, Adagrad) {
  Twins twins(1);
  typename Kind::Fused fused(twins.a, Kind::options());
  for (int i = 0; i < 3; ++i) {
    twins.set_gradients();
    fused.step();
  }
  const auto& state = *fused.state().begin()->second;

  CHECK(static_cast<const typename Kind::State&>(*state.clone()).step() == 3);
  fused.read_steps();
  CHECK(static_cast<const typename Kind::State&>(state).step() == 3);
}
