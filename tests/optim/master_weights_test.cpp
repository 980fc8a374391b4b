// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

#include <torchamp/core/grad_scaler.h>
#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_sgd.h>
#include <torchamp/optim/master_weights.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using torch::optim::Adam;
using torch::optim::AdamOptions;
using torch::optim::AdamW;
using torch::optim::RMSprop;
using torch::optim::SGD;
using torch::optim::SGDOptions;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::MasterWeights;
using torchamp::StepStatus;

namespace {

using Tensors = std::vector<torch::Tensor>;
using Groups = std::vector<torch::optim::OptimizerParamGroup>;

constexpr float infinity = std::numeric_limits<float>::infinity();

torch::Tensor weight(double value, torch::ScalarType dtype = torch::kHalf) {
  return torch::full({1}, value, dtype).requires_grad_();
}

/// As backward() does, which adds to what is there.
void add_gradient(const torch::Tensor& parameter, double value) {
  const auto gradient = torch::full_like(parameter, value).detach();
  if (parameter.grad().defined()) {
    parameter.mutable_grad().add_(gradient);
  } else {
    parameter.mutable_grad() = gradient;
  }
}

float value(const torch::Tensor& tensor) { return tensor.item<float>(); }

/// A scaler that has been used, so that gradients may be given by hand.
GradScaler scaler_of(double scale) {
  GradScaler scaler(GradScalerOptions().init_scale(scale));
  (void)scaler.scale(torch::ones({}));
  return scaler;
}

/// A half-precision weight that starts at 1, and a rate of 1: a step takes off the gradient.
struct Problem {
  torch::Tensor parameter = weight(1);
  MasterWeights<SGD> optimizer{Tensors{parameter}, SGDOptions(1.0)};

  torch::Tensor master() { return optimizer.master_parameters()[0]; }
};

/// Steps towards gradients that are the same in every program.
template <class Optimizer>
void train(Optimizer& optimizer, const Tensors& parameters, int first, int last) {
  for (int step = first; step < last; ++step) {
    optimizer.zero_grad();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      add_gradient(parameters[i], 0.01 * std::sin(step + 10.0 * static_cast<double>(i)));
    }
    optimizer.step();
  }
}

template <class Optimizer>
std::string saved(const Optimizer& optimizer) {
  std::stringstream file;
  torch::save(optimizer, file);
  return file.str();
}

template <class Optimizer>
void load(Optimizer& optimizer, const std::string& bytes) {
  std::stringstream file(bytes);
  torch::load(optimizer, file);
}

}  // namespace

// What masters are for.

TEST_CASE("Updates too small for a float16 weight add up in its master, and plain SGD loses them") {
  // Float16 numbers below 1 are 2^-11 apart: 1 - 2^-13 rounds to 1.
  const auto plain = weight(1), mastered = weight(1);
  SGD without(Tensors{plain}, SGDOptions(0x1p-13));
  MasterWeights<SGD> with(Tensors{mastered}, SGDOptions(0x1p-13));
  add_gradient(plain, 1);
  add_gradient(mastered, 1);

  for (int step = 0; step < 16; ++step) {
    without.step();
    with.step();
  }

  CHECK(value(plain) == 1);
  CHECK(value(mastered) == 1 - 16 * 0x1p-13f);
  CHECK(value(with.master_parameters()[0]) == 1 - 16 * 0x1p-13f);
}

TEST_CASE("A gradient that float16 could not hold unscaled is not lost") {
  Problem problem;
  problem.optimizer.param_groups()[0].options().set_lr(0x1p20);
  auto scaler = scaler_of(0x1p16);
  add_gradient(problem.parameter, 0x1p-14);  // 2^-30 in truth; the smallest float16 is 2^-24

  scaler.unscale_(problem.optimizer);
  CHECK(value(problem.master().grad()) == 0x1p-30f);
  CHECK(scaler.step(problem.optimizer).taken());
  CHECK(value(problem.master()) == 1 - 0x1p-10f);
  CHECK(value(problem.parameter) == 1 - 0x1p-10f);
  CHECK(value(problem.parameter.grad()) == 0x1p-14f);
}

TEST_CASE("A parameter is its master rounded to nearest") {
  Problem problem;

  add_gradient(problem.parameter, -0.75 / 1024);
  problem.optimizer.step();

  CHECK(value(problem.master()) == 1 + 0.75f / 1024);
  CHECK(value(problem.parameter) == 1 + 1.0f / 1024);
}

TEST_CASE("With masters, half-precision training is float32 training but for the rounding") {
  const auto run = [](auto optimizer_of, torch::ScalarType dtype) {
    const auto parameter = weight(1, dtype);
    auto optimizer = optimizer_of(Tensors{parameter});
    train(*optimizer, {parameter}, 0, 20);
    return parameter.detach().to(torch::kFloat);
  };
  const auto both = [&](auto stock, auto mastered) {
    for (const auto dtype : {torch::kHalf, torch::kBFloat16}) {
      CAPTURE(dtype);
      const double ulp = dtype == torch::kHalf ? 0x1p-11 : 0x1p-8;
      const auto full = run(stock, torch::kFloat), half = run(mastered, dtype);
      CHECK(std::abs(value(full) - value(half)) <= 2 * ulp);
    }
  };
  both([](const Tensors& p) { return std::make_unique<Adam>(p, AdamOptions(0.1)); },
       [](const Tensors& p) { return std::make_unique<MasterWeights<Adam>>(p, AdamOptions(0.1)); });
  both([](const Tensors& p) { return std::make_unique<AdamW>(p); },
       [](const Tensors& p) { return std::make_unique<MasterWeights<AdamW>>(p); });
  both([](const Tensors& p) { return std::make_unique<RMSprop>(p); },
       [](const Tensors& p) { return std::make_unique<MasterWeights<RMSprop>>(p); });
  both([](const Tensors& p) { return std::make_unique<SGD>(p, SGDOptions(1).momentum(0.9)); },
       [](const Tensors& p) {
         return std::make_unique<MasterWeights<SGD>>(p, SGDOptions(1).momentum(0.9));
       });
}

// Through a scaler.

TEST_CASE("A step that overflows leaves masters, parameters and state bit for bit") {
  const auto a = weight(1), b = weight(2, torch::kFloat);
  MasterWeights<Adam> optimizer(Tensors{a, b}, AdamOptions(0.1));
  train(optimizer, {a, b}, 0, 3);
  const auto before = saved(optimizer);
  const auto a_before = a.detach().clone(), b_before = b.detach().clone();
  auto scaler = scaler_of(4);

  optimizer.zero_grad();
  add_gradient(a, infinity);
  add_gradient(b, 1);
  CHECK(scaler.step(optimizer).skipped());

  CHECK(saved(optimizer) == before);
  CHECK(a.equal(a_before));
  CHECK(b.equal(b_before));
}

TEST_CASE("After a skipped step the next one takes its own gradients, with a scaler or without") {
  for (const bool scaled : {true, false}) {
    for (const bool to_none : {true, false}) {
      CAPTURE(scaled);
      CAPTURE(to_none);
      Problem problem;
      auto scaler = scaler_of(4);
      add_gradient(problem.parameter, infinity);
      CHECK(scaler.step(problem.optimizer).skipped());
      scaler.update(4.0);

      problem.optimizer.zero_grad(to_none);
      add_gradient(problem.parameter, 2);
      if (scaled) {
        CHECK(scaler.step(problem.optimizer).taken());
        CHECK(value(problem.parameter) == 0.5);
      } else if (to_none) {
        problem.optimizer.step();
        CHECK(value(problem.parameter) == -1);
      } else {  // as far as can be told, a backward() after unscale_()
        CHECK_ERROR(E24, problem.optimizer.step());
        problem.optimizer.zero_grad();
        add_gradient(problem.parameter, 2);
        problem.optimizer.step();
        CHECK(value(problem.parameter) == -1);
      }
    }
  }
}

TEST_CASE("A scaler knows the optimizer through a reference to its base") {
  Problem problem;
  torch::optim::Optimizer& base = problem.optimizer;
  auto scaler = scaler_of(4);
  add_gradient(problem.parameter, 2);

  scaler.unscale_(base);
  CHECK_ERROR(E03, scaler.unscale_(problem.optimizer));
  CHECK(scaler.step(base).taken());

  CHECK(value(problem.parameter) == 0.5);
  CHECK_ERROR(E04, scaler.step(problem.optimizer));
  CHECK_ERROR(E03, scaler.unscale_(base));
}

TEST_CASE("A scaler that has not scaled anything refuses the optimizer") {
  Problem problem;
  GradScaler scaler;
  add_gradient(problem.parameter, 2);

  CHECK_ERROR(E05, scaler.unscale_(problem.optimizer));
  CHECK_ERROR(E05, scaler.step(problem.optimizer));
  CHECK(value(problem.parameter) == 1);
}

TEST_CASE("An optimizer without gradients is left alone by the scaler") {
  Problem problem;
  auto scaler = scaler_of(4);

  CHECK(scaler.step(problem.optimizer).status() == StepStatus::NoGradients);
  scaler.update();
  scaler.unscale_(problem.optimizer);
  add_gradient(problem.parameter, 2);

  CHECK_ERROR(E03, scaler.step(problem.optimizer));  // it came after unscale_()
  CHECK(value(problem.parameter) == 1);
}

TEST_CASE("A backward after unscale_() is refused, and the gradients are not taken as true") {
  Problem problem;
  auto scaler = scaler_of(4);
  add_gradient(problem.parameter, 2);
  scaler.unscale_(problem.optimizer);

  add_gradient(problem.parameter, 2);

  CHECK_ERROR(E24, problem.master());
  CHECK_ERROR(E24, scaler.step(problem.optimizer));
  CHECK_ERROR_SAYS("after the last backward()", scaler.step(problem.optimizer));
  CHECK(value(problem.parameter) == 1);
}

TEST_CASE("Gradients of several backward passes are unscaled once, together") {
  Problem problem;
  auto scaler = scaler_of(4);

  add_gradient(problem.parameter, 1);
  add_gradient(problem.parameter, 1);
  scaler.step(problem.optimizer);

  CHECK(value(problem.parameter) == 0.5);
}

TEST_CASE("A loop trains as in float32, while the scale moves") {
  const auto train_it = [](auto& optimizer, const torch::Tensor& parameter) {
    GradScaler scaler(GradScalerOptions().init_scale(0x1p20).growth_interval(3));
    for (int step = 0; step < 12; ++step) {
      optimizer.zero_grad();
      scaler.scale((parameter.to(torch::kFloat) - 3).square().sum() / 8).backward();
      scaler.step(optimizer);
      scaler.update();
    }
    return std::make_pair(value(parameter), scaler.skipped_steps());
  };
  const auto half = weight(1), full = weight(1, torch::kFloat);
  MasterWeights<SGD> mastered(Tensors{half}, SGDOptions(1));
  SGD stock(Tensors{full}, SGDOptions(1));

  const auto [half_value, half_skips] = train_it(mastered, half);
  const auto [full_value, full_skips] = train_it(stock, full);

  CHECK(full_skips == 0);
  CHECK(half_skips > 2);  // 2^20 is too much for float16 gradients
  CHECK(half_value > 2);
  CHECK(half_value < full_value);  // by the steps that were skipped
}

// Clipping.

TEST_CASE(
    "Masters are clipped between unscale_() and step(), and the step takes them as they are") {
  Problem problem;
  auto scaler = scaler_of(4);
  add_gradient(problem.parameter, 32);

  scaler.unscale_(problem.optimizer);
  const double norm = torch::nn::utils::clip_grad_norm_(problem.optimizer.master_parameters(), 0.5);
  scaler.step(problem.optimizer);

  CHECK(norm == 8);
  CHECK(value(problem.parameter) == doctest::Approx(0.5));
}

TEST_CASE("Without a scaler, or with a disabled one, masters are clipped in the same way") {
  for (const bool with_scaler : {true, false}) {
    CAPTURE(with_scaler);
    Problem problem;
    GradScaler scaler(GradScalerOptions().enabled(false));
    add_gradient(problem.parameter, 8);

    if (with_scaler) scaler.unscale_(problem.optimizer);
    torch::nn::utils::clip_grad_value_(problem.optimizer.master_parameters(), 0.5);
    if (with_scaler) {
      scaler.step(problem.optimizer);
    } else {
      problem.optimizer.step();
    }

    CHECK(value(problem.parameter) == 0.5);
  }
}

TEST_CASE("Masters that are unscaled as a range of parameters are not unscaled again") {
  Problem problem;
  auto scaler = scaler_of(4);
  add_gradient(problem.parameter, 32);

  scaler.unscale_(problem.optimizer.master_parameters());
  torch::nn::utils::clip_grad_value_(problem.optimizer.master_parameters(), 0.5);
  CHECK(scaler.step(problem.optimizer).taken());

  CHECK(value(problem.parameter) == 0.5);
}

TEST_CASE("Clipping the model's gradients after unscale_(), which has no effect, is refused") {
  Problem problem;
  auto scaler = scaler_of(4);
  add_gradient(problem.parameter, 32);
  scaler.unscale_(problem.optimizer);

  problem.parameter.mutable_grad().mul_(0.5);

  CHECK_ERROR_SAYS("clip the gradients of master_parameters(), not those of the model",
                   scaler.step(problem.optimizer));
  CHECK(value(problem.parameter) == 1);
}

TEST_CASE("Masters that were looked at early get the gradients that came since") {
  Problem problem;

  CHECK_FALSE(problem.master().grad().defined());
  add_gradient(problem.parameter, 0.25);
  CHECK(value(problem.master().grad()) == 0.25);
  add_gradient(problem.parameter, 0.25);
  CHECK(value(problem.master().grad()) == 0.5);
  add_gradient(problem.parameter, 0.25);
  problem.optimizer.step();

  CHECK(value(problem.parameter) == 0.25);
}

TEST_CASE("The masters' gradients are freed by the step, the model's are left") {
  const auto half = weight(1), full = weight(1, torch::kFloat);
  MasterWeights<SGD> optimizer(Tensors{half, full}, SGDOptions(1));
  const auto masters = optimizer.master_parameters();
  add_gradient(half, 0.5);
  add_gradient(full, 0.5);

  optimizer.step();

  CHECK_FALSE(masters[0].grad().defined());
  CHECK(value(half.grad()) == 0.5);
  CHECK(value(full.grad()) == 0.5);
}

// Parameters of every kind.

TEST_CASE("Parameters of several dtypes are stepped together, each in its way") {
  const Tensors parameters = {weight(1, torch::kHalf), weight(1, torch::kBFloat16),
                              weight(1, torch::kFloat), weight(1, torch::kDouble)};
  MasterWeights<SGD> optimizer(parameters, SGDOptions(1));
  auto scaler = scaler_of(4);
  for (const auto& parameter : parameters) add_gradient(parameter, 2);

  scaler.step(optimizer);

  for (const auto& parameter : parameters) CHECK(value(parameter) == 0.5);
}

TEST_CASE("Without half-precision parameters it steps as the inner optimizer alone") {
  const auto a = weight(1, torch::kFloat), b = weight(1, torch::kFloat);
  MasterWeights<Adam> mastered(Tensors{a}, AdamOptions(0.1));
  Adam stock(Tensors{b}, AdamOptions(0.1));

  train(mastered, {a}, 0, 5);
  train(stock, {b}, 0, 5);

  CHECK(a.equal(b));
  CHECK(mastered.master_parameters()[0].is_same(a));
}

TEST_CASE("Parameters without gradients, and frozen ones, stay as they are") {
  const auto trained = weight(1), unused = weight(2);
  const auto frozen = torch::full({1}, 3.0, torch::kHalf);
  MasterWeights<AdamW> optimizer(Tensors{trained, unused, frozen},
                                 torch::optim::AdamWOptions(0.25).weight_decay(0.5));
  auto scaler = scaler_of(4);
  add_gradient(trained, 2);

  scaler.step(optimizer);

  CHECK(value(trained) != 1);
  CHECK(value(unused) == 2);
  CHECK(value(frozen) == 3);
  CHECK(optimizer.inner().state().size() == 1);
}

TEST_CASE("A sparse gradient reaches the masters in float32, with SGD") {
  const auto table = torch::ones({3, 1}, torch::kHalf).requires_grad_();
  MasterWeights<SGD> optimizer(Tensors{table}, SGDOptions(1));
  auto scaler = scaler_of(4);
  table.mutable_grad() = torch::sparse_coo_tensor(torch::tensor({{2, 2}}),
                                                  torch::full({2, 1}, 1.0, torch::kHalf), {3, 1});

  scaler.step(optimizer);

  CHECK(table.equal(torch::tensor({{1.0}, {1.0}, {0.5}}, torch::kHalf)));
}

TEST_CASE("zero_grad() of the optimizer is that of the model") {
  Problem problem;
  add_gradient(problem.parameter, 1);

  problem.optimizer.zero_grad();

  CHECK_FALSE(problem.parameter.grad().defined());
}

// Options, groups, schedulers.

TEST_CASE("A learning rate that is set reaches the next step") {
  Problem problem;
  add_gradient(problem.parameter, 0.5);

  static_cast<SGDOptions&>(problem.optimizer.param_groups()[0].options()).lr(0.5);
  problem.optimizer.step();
  CHECK(value(problem.parameter) == 0.75);
  problem.optimizer.param_groups()[0].set_options(std::make_unique<SGDOptions>(1.0));
  problem.optimizer.step();
  CHECK(value(problem.parameter) == 0.25);
}

TEST_CASE("A learning-rate scheduler works on it") {
  Problem problem;
  torch::optim::StepLR scheduler(problem.optimizer, /*step_size=*/1, /*gamma=*/0.5);
  add_gradient(problem.parameter, 0.5);

  scheduler.step();  // LibTorch's does nothing at the first call
  scheduler.step();
  problem.optimizer.step();  // at half the rate

  CHECK(value(problem.parameter) == 0.75);
}

TEST_CASE("Each group has its own options, and those that it does not set from all") {
  const auto a = weight(1), b = weight(1);
  Groups groups;
  groups.emplace_back(Tensors{a}, std::make_unique<SGDOptions>(0.5));
  groups.emplace_back(Tensors{b});
  MasterWeights<SGD> optimizer(groups, SGDOptions(0.25));
  add_gradient(a, 1);
  add_gradient(b, 1);

  optimizer.step();

  CHECK(value(a) == 0.5);
  CHECK(value(b) == 0.75);
  CHECK(optimizer.defaults().get_lr() == 0.25);
}

TEST_CASE("A group that is added later is trained, with its options") {
  Problem problem;
  const auto later = weight(1), last = weight(1);
  add_gradient(problem.parameter, 0.25);
  problem.optimizer.step();

  problem.optimizer.add_param_group(
      {Tensors{later}, std::make_unique<SGDOptions>(SGDOptions(0.5))});
  problem.optimizer.param_groups()[0].params().push_back(last);
  add_gradient(later, 1);
  add_gradient(last, 1);
  problem.optimizer.step();

  CHECK(value(problem.parameter) == 0.5);
  CHECK(value(later) == 0.5);
  CHECK(value(last) == 0);
  CHECK(problem.optimizer.master_parameters().size() == 3);
}

TEST_CASE("A group that is taken out is not trained") {
  Problem problem;
  const auto other = weight(1);
  problem.optimizer.add_param_group({Tensors{other}});
  problem.optimizer.refresh_masters();
  problem.optimizer.param_groups().pop_back();
  add_gradient(problem.parameter, 0.5);
  add_gradient(other, 0.5);

  problem.optimizer.step();

  CHECK(value(problem.parameter) == 0.5);
  CHECK(value(other) == 1);
}

// A closure.

TEST_CASE("A closure is called once, and the step takes the gradients that it made") {
  Problem problem;
  int calls = 0;

  const auto loss = problem.optimizer.step([&] {
    ++calls;
    problem.optimizer.zero_grad();
    auto made = (problem.parameter * 0.5).sum();
    made.backward();
    return made;
  });

  CHECK(calls == 1);
  CHECK(value(loss) == 0.5);
  CHECK(value(problem.parameter) == 0.5);
}

// Parameters that are changed by others.

TEST_CASE("A parameter that was changed by hand is refused until it is said what counts") {
  for (const bool parameters_count : {true, false}) {
    CAPTURE(parameters_count);
    Problem problem;
    auto scaler = scaler_of(4);
    {
      const torch::NoGradGuard no_grad;
      problem.parameter.fill_(3);
    }
    add_gradient(problem.parameter, 2);
    CHECK_ERROR(E24, problem.optimizer.step());
    CHECK_ERROR(E24, problem.optimizer.step([] { return torch::Tensor(); }));
    CHECK_ERROR(E24, saved(problem.optimizer));
    CHECK_ERROR(E24, scaler.unscale_(problem.optimizer));
    CHECK_ERROR(E24, scaler.step(problem.optimizer));
    CHECK_ERROR_SAYS("refresh_masters()", scaler.step(problem.optimizer));
    CHECK(value(problem.parameter) == 3);
    CHECK(value(problem.parameter.grad()) == 2);

    if (parameters_count) {
      problem.optimizer.refresh_masters();
    } else {
      problem.optimizer.refresh_parameters();
    }
    scaler.step(problem.optimizer);

    CHECK(value(problem.parameter) == (parameters_count ? 2.5 : 0.5));
  }
}

TEST_CASE("A model that was loaded after the optimizer was made is not overwritten unsaid") {
  torch::nn::Linear model(1, 1), other(1, 1);
  model->to(torch::kHalf);
  other->to(torch::kHalf);
  std::stringstream file;
  torch::save(other, file);
  MasterWeights<SGD> optimizer(model->parameters(), SGDOptions(1));
  torch::load(model, file);
  add_gradient(model->weight, 0);

  CHECK_ERROR_SAYS("torch::load(model", optimizer.step());
  optimizer.refresh_masters();
  optimizer.step();

  CHECK(model->weight.equal(other->weight));
}

TEST_CASE("A model that is converted after the optimizer was made is refused") {
  torch::nn::Linear model(1, 1);
  MasterWeights<SGD> optimizer(model->parameters(), SGDOptions(1));
  model->to(torch::kHalf);
  add_gradient(model->weight, 1);

  CHECK_ERROR(E24, optimizer.step());
  CHECK_ERROR_SAYS("call model->to() first", optimizer.step());
  CHECK_ERROR(E24, optimizer.refresh_masters());
}

TEST_CASE("Masters that are changed by hand show in the parameters when these are refreshed") {
  Problem problem;

  problem.master().clamp_(0, 0.5);
  problem.optimizer.refresh_parameters();

  CHECK(value(problem.parameter) == 0.5);
}

// Saving.

TEST_CASE("A resumed run equals one that went on, bit for bit") {
  const auto check = [](auto make) {
    const Tensors on = {weight(1), weight(2, torch::kBFloat16), weight(3, torch::kFloat)};
    const Tensors resumed = {weight(7), weight(8, torch::kBFloat16), weight(3, torch::kFloat)};
    auto went_on = make(on);
    auto restored = make(resumed);
    train(*went_on, on, 0, 5);
    resumed[2].set_data(on[2].detach().clone());  // as the model's file has it

    load(*restored, saved(*went_on));
    for (int i = 0; i < 3; ++i) CHECK(resumed[i].equal(on[i]));
    train(*went_on, on, 5, 10);
    train(*restored, resumed, 5, 10);

    const auto masters = went_on->master_parameters(), others = restored->master_parameters();
    for (int i = 0; i < 3; ++i) {
      CHECK(resumed[i].equal(on[i]));
      CHECK(others[i].equal(masters[i]));
    }
    CHECK_FALSE(masters[0].equal(on[0].to(torch::kFloat)));  // there was something to lose
  };
  check([](const Tensors& p) { return std::make_unique<MasterWeights<Adam>>(p); });
  check([](const Tensors& p) {
    return std::make_unique<MasterWeights<SGD>>(p, SGDOptions(0.1).momentum(0.9));
  });
}

TEST_CASE("Options are saved as they are set now, and loaded into the groups") {
  Problem problem, other;
  problem.optimizer.param_groups()[0].options().set_lr(0.125);

  load(other.optimizer, saved(problem.optimizer));
  add_gradient(other.parameter, 1);
  other.optimizer.step();

  CHECK(other.optimizer.param_groups()[0].options().get_lr() == 0.125);
  CHECK(value(other.parameter) == 0.875);
}

TEST_CASE("A plain optimizer's archive brings its state, and masters are read from the model") {
  const auto full = weight(1, torch::kFloat), half = weight(1);
  Adam plain(Tensors{full}, AdamOptions(0.1));
  train(plain, {full}, 0, 3);
  MasterWeights<Adam> optimizer(Tensors{half}, AdamOptions(0.5));
  half.set_data(torch::full({1}, 0.75, torch::kHalf));

  load(optimizer, saved(plain));

  CHECK(value(optimizer.master_parameters()[0]) == 0.75);
  CHECK(value(half) == 0.75);
  CHECK(optimizer.param_groups()[0].options().get_lr() == 0.1);
  const auto& state = static_cast<torch::optim::AdamParamState&>(
      *optimizer.inner().state().at(optimizer.master_parameters()[0].unsafeGetTensorImpl()));
  CHECK(state.step() == 3);
}

TEST_CASE("A plain optimizer reads the archive of one with masters") {
  const auto half = weight(1), full = weight(1, torch::kFloat);
  MasterWeights<Adam> mastered(Tensors{half}, AdamOptions(0.1));
  train(mastered, {half}, 0, 3);
  Adam plain(Tensors{full}, AdamOptions(0.5));

  load(plain, saved(mastered));

  CHECK(plain.param_groups()[0].options().get_lr() == 0.1);
  CHECK(plain.state().size() == 1);
}

TEST_CASE("A float32 parameter takes the master that the archive has for it") {
  Problem problem;
  const auto full = weight(9, torch::kFloat);
  MasterWeights<SGD> optimizer(Tensors{full}, SGDOptions(1));
  add_gradient(problem.parameter, 0x1p-20);
  problem.optimizer.step();

  load(optimizer, saved(problem.optimizer));

  CHECK(value(full) == 1 - 0x1p-20f);
}

TEST_CASE("State that the archive does not have is gone after loading it") {
  const auto a = weight(1);
  MasterWeights<Adam> optimizer(Tensors{a}, AdamOptions(0.1));
  const auto fresh = saved(optimizer);
  train(optimizer, {a}, 0, 3);

  load(optimizer, fresh);

  CHECK(optimizer.inner().state().empty());
  CHECK(value(a) == 1);
}

TEST_CASE("An archive that does not fit is refused, and nothing has changed") {
  const auto a = weight(1), b = weight(2);
  MasterWeights<Adam> optimizer(Tensors{a, b}, AdamOptions(0.1));
  train(optimizer, {a, b}, 0, 3);
  const auto before = saved(optimizer);
  const auto check = [&](const std::string& archive) {
    CHECK_ERROR(E24, load(optimizer, archive));
    CHECK(saved(optimizer) == before);
  };
  const auto wide = torch::ones({3}, torch::kHalf), c = weight(3);

  check(saved(MasterWeights<Adam>(Tensors{wide, b})));                    // another shape
  check(saved(MasterWeights<Adam>(Tensors{a})));                          // too few parameters
  check(saved(MasterWeights<Adam>(Groups{{Tensors{a}}, {Tensors{b}}})));  // too many groups
  check(saved(MasterWeights<SGD>(Tensors{a, b}, SGDOptions(1))));         // another optimizer
  check(saved(Adam(Tensors{a})));
  check(saved(Adam(Groups{{Tensors{a}}, {Tensors{b}}})));
  check(saved(Adam(Tensors{a, b, c})));
}

TEST_CASE("Gradients that were collected before a state was loaded are not stepped with") {
  Problem problem;
  const auto archive = saved(problem.optimizer);
  auto scaler = scaler_of(4);
  add_gradient(problem.parameter, 2);
  scaler.unscale_(problem.optimizer);

  load(problem.optimizer, archive);

  problem.optimizer.step();
  CHECK(value(problem.parameter) == -1);
}

// An inner optimizer that decides on the device.

namespace {

/// SGD without options, decided on the device: as a fused optimizer is.
struct DeviceSgd : SGD, torchamp::AmpOptimizer {
  using SGD::SGD;
  bool decides_on_device() const override { return true; }
  void step_unless(const torch::Tensor& found_inf, const torch::Tensor& grad_scale) override {
    const torch::NoGradGuard no_grad;
    const double lr = param_groups()[0].options().get_lr();
    for (const auto& parameter : param_groups()[0].params()) {
      if (!parameter.grad().defined()) continue;
      auto gradient = parameter.grad();
      if (grad_scale.defined()) gradient = gradient / grad_scale;
      parameter.copy_(torch::where(found_inf == 1, parameter, parameter - lr * gradient));
    }
  }
};

}  // namespace

TEST_CASE("An inner optimizer that decides on the device does, and the host reads nothing") {
  const auto parameter = weight(1);
  MasterWeights<DeviceSgd> optimizer(Tensors{parameter}, SGDOptions(1));
  CHECK(optimizer.decides_on_device());
  torch::optim::Optimizer& base = optimizer;
  auto scaler = scaler_of(4);
  for (const float gradient : {1.0f, infinity, 1.0f}) {
    optimizer.zero_grad();
    add_gradient(parameter, gradient);
    HostReadCounter reads;
    scaler.step(base);
    scaler.update();
    CHECK(reads.more() == 0);
    if (gradient == infinity) CHECK(value(parameter) == 0.75);
  }

  CHECK(value(parameter) == 0.25);  // 1 - 1/4, skipped, 0.75 - 1/2 as the scale was halved
  CHECK(scaler.skipped_steps() == 1);
}

TEST_CASE("A divisor that is left to the step is handed on") {
  const auto parameter = weight(1);
  MasterWeights<DeviceSgd> optimizer(Tensors{parameter}, SGDOptions(1));
  add_gradient(parameter, 2);

  optimizer.step_unless(torch::zeros({}), torch::full({}, 4.0));

  CHECK(value(parameter) == 0.5);
}

TEST_CASE("An inner optimizer that does not decide on the device says so") {
  struct Told : SGD, torchamp::AmpOptimizer {
    using SGD::SGD;
  };
  Problem problem;

  CHECK_FALSE(problem.optimizer.decides_on_device());
  CHECK_FALSE(MasterWeights<Told>(Tensors{weight(1)}, 1.0).decides_on_device());
  CHECK(problem.optimizer.has_master_weights());
  CHECK_ERROR(E20, problem.optimizer.step_unless(torch::zeros({}), torch::Tensor()));
}

TEST_CASE("What masters cost a step does not grow with the number of parameters") {
  const auto copies_of = [](int count) {
    Tensors parameters;
    for (int i = 0; i < count; ++i) parameters.push_back(weight(1));
    MasterWeights<SGD> optimizer(parameters, SGDOptions(1));
    for (const auto& parameter : parameters) add_gradient(parameter, 1);
    OperatorCounter copies("aten::_foreach_copy_");
    optimizer.step();
    return copies.more();
  };

  CHECK(copies_of(1) == 2);  // gradients to masters, masters to parameters
  CHECK(copies_of(100) == 2);
}

TEST_CASE("Fused optimizers step the masters, without a host read, as the stock ones do") {
  const auto check = [](auto fused, auto stock, const Tensors& a, const Tensors& b) {
    auto fused_scaler = scaler_of(4), stock_scaler = scaler_of(4);
    CHECK(fused->decides_on_device());
    for (const double gradient : {double{infinity}, 1.0, -3.0, double{infinity}, 0.5}) {
      for (auto* const each : {static_cast<torch::optim::Optimizer*>(fused.get()),
                               static_cast<torch::optim::Optimizer*>(stock.get())}) {
        each->zero_grad();
      }
      for (const auto& parameter : a) add_gradient(parameter, gradient);
      for (const auto& parameter : b) add_gradient(parameter, gradient);
      stock_scaler.step(*stock);
      stock_scaler.update();
      HostReadCounter reads;
      fused_scaler.step(*fused);
      fused_scaler.update();
      CHECK(reads.more() == 0);
    }
    const auto masters = fused->master_parameters(), others = stock->master_parameters();
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(torch::allclose(masters[i], others[i], /*rtol=*/1e-5, /*atol=*/1e-6));
      CHECK_FALSE(masters[i].equal(torch::ones_like(masters[i])));
      CHECK(a[i].equal(masters[i].to(a[i].scalar_type())));
    }
    CHECK(fused_scaler.skipped_steps() == 2);
  };
  const auto three = [] {
    return Tensors{weight(1), weight(1, torch::kBFloat16), weight(1, torch::kFloat)};
  };
  auto a = three(), b = three();
  check(std::make_unique<MasterWeights<torchamp::FusedAdam>>(a, AdamOptions(0.1)),
        std::make_unique<MasterWeights<Adam>>(b, AdamOptions(0.1)), a, b);
  a = three();
  b = three();
  const auto momentum = SGDOptions(0.1).momentum(0.9);
  check(std::make_unique<MasterWeights<torchamp::FusedSGD>>(a, momentum),
        std::make_unique<MasterWeights<SGD>>(b, momentum), a, b);
}

TEST_CASE("A fused optimizer's masters are resumed bit for bit, and by the stock one") {
  const Tensors on = {weight(1), weight(2, torch::kBFloat16)};
  const Tensors resumed = {weight(7), weight(8, torch::kBFloat16)};
  MasterWeights<torchamp::FusedAdam> went_on(on, AdamOptions(0.1));
  MasterWeights<torchamp::FusedAdam> restored(resumed, AdamOptions(0.5));
  train(went_on, on, 0, 5);

  load(restored, saved(went_on));
  train(went_on, on, 5, 10);
  train(restored, resumed, 5, 10);
  for (int i = 0; i < 2; ++i) {
    CHECK(restored.master_parameters()[i].equal(went_on.master_parameters()[i]));
  }

  MasterWeights<Adam> stock(resumed, AdamOptions(0.5));
  load(stock, saved(went_on));
  train(went_on, on, 10, 15);
  train(stock, resumed, 10, 15);
  for (int i = 0; i < 2; ++i) {
    CHECK(torch::allclose(stock.master_parameters()[i], went_on.master_parameters()[i]));
  }
}
