// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/grad_scaler_state.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using torchamp::BasicGradScaler;
using torchamp::ConstantLossScale;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::GradScalerState;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Scale 4, doubled after two good steps, quartered by an overflow.
GradScalerOptions small_numbers() {
  return GradScalerOptions().init_scale(4).growth_factor(2).backoff_factor(0.25).growth_interval(2);
}

/// A state as Python has it, in numbers that no default has.
GradScalerState from_python() {
  GradScalerState state;
  state.scale = 3;
  state.growth_factor = 4;
  state.backoff_factor = 0.5;
  state.growth_interval = 3;
  state.growth_tracker = 1;
  return state;
}

struct Problem {
  torch::Tensor parameter = torch::full({1}, 10.0, torch::requires_grad());
  torch::optim::SGD optimizer{std::vector<torch::Tensor>{parameter}, torch::optim::SGDOptions(1.0)};
};

/// Steps once, with a gradient that overflows or not.
template <class Scaler>
void train_one_step(Scaler& scaler, Problem& problem, bool overflow = false) {
  problem.optimizer.zero_grad();
  scaler.scale((problem.parameter * (overflow ? infinity : 0.0F)).sum()).backward();
  scaler.step(problem.optimizer);
  scaler.update();
}

using Change = std::function<void(GradScalerState&)>;

GradScalerState changed(const Change& change) {
  GradScalerState state = from_python();
  change(state);
  return state;
}

}  // namespace

TEST_CASE("The state before the first use is what the options say") {
  const GradScaler scaler(small_numbers().hysteresis(3).consecutive_hysteresis(true).min_scale(1));

  const GradScalerState state = scaler.state_dict();

  CHECK_FALSE(state.empty);
  CHECK(state.scale == 4);
  CHECK(state.growth_factor == 2);
  CHECK(state.backoff_factor == 0.25);
  CHECK(state.growth_interval == 2);
  CHECK(state.growth_tracker == 0);
  CHECK(state.hysteresis == 3);
  CHECK(state.hysteresis_tracker == 3);
  CHECK(state.consecutive_hysteresis == true);
  CHECK(state.min_scale == 1);
  CHECK(state.max_scale == static_cast<double>(std::numeric_limits<float>::max()));
}

TEST_CASE("The state in the middle of an interval has the scale and the counts of that moment") {
  Problem problem;
  GradScaler scaler(small_numbers().growth_interval(3).hysteresis(2));
  train_one_step(scaler, problem, /*overflow=*/true);
  train_one_step(scaler, problem);

  CHECK(scaler.state_dict().scale == 4);
  CHECK(scaler.state_dict().growth_tracker == 1);
  CHECK(scaler.state_dict().hysteresis_tracker == 1);
  train_one_step(scaler, problem, /*overflow=*/true);
  CHECK(scaler.state_dict().scale == 1);
  CHECK(scaler.state_dict().hysteresis_tracker == 0);
}

TEST_CASE("The state may be asked for at any time and changes nothing") {
  Problem problem;
  GradScaler scaler(small_numbers());
  CHECK(scaler.between_iterations());
  scaler.scale(problem.parameter.sum()).backward();
  CHECK(scaler.between_iterations());
  scaler.unscale_(problem.optimizer);
  CHECK_FALSE(scaler.between_iterations());

  CHECK(scaler.state_dict().scale == 4);
  scaler.step(problem.optimizer);
  CHECK(scaler.state_dict().growth_tracker == 0);
  scaler.update();

  CHECK(scaler.between_iterations());
  CHECK(scaler.state_dict().growth_tracker == 1);
  CHECK(problem.parameter.item<float>() == 9);
}

TEST_CASE("A state loaded before the first use is where the scaler starts") {
  Problem problem;
  GradScaler scaler(small_numbers());

  scaler.load_state_dict(from_python());

  CHECK(scaler.get_scale() == 3);
  CHECK(scaler.growth_tracker() == 1);
  CHECK(scaler.get_growth_factor() == 4);
  CHECK(scaler.get_backoff_factor() == 0.5);
  CHECK(scaler.get_growth_interval() == 3);
  CHECK_FALSE(scaler.scale_tensor().defined());
  CHECK(scaler.scale(torch::ones({})).item<float>() == 3);
  train_one_step(scaler, problem);
  CHECK(scaler.growth_tracker() == 2);
  train_one_step(scaler, problem);
  CHECK(scaler.get_scale() == 12);
}

TEST_CASE("A state loaded after the first use fills the tensors that are there") {
  Problem problem;
  GradScaler scaler(small_numbers().hysteresis(2));
  train_one_step(scaler, problem, /*overflow=*/true);
  const torch::Tensor scale = scaler.scale_tensor();

  scaler.load_state_dict(from_python());

  CHECK(scaler.scale_tensor().is_same(scale));
  CHECK(scale.item<float>() == 3);
  CHECK(scaler.growth_tracker() == 1);
  CHECK(scaler.state_dict().hysteresis_tracker == 2);
  train_one_step(scaler, problem);
  train_one_step(scaler, problem);
  CHECK(scaler.get_scale() == 12);
}

TEST_CASE("A scaler that loads a state goes on as the one that it came from") {
  for (const bool used_before : {false, true}) {
    CAPTURE(used_before);
    Problem problem;
    GradScaler first(small_numbers().growth_interval(3).hysteresis(2).min_scale(0.5).max_scale(64));
    for (const bool overflow : {false, true, false, false}) {
      train_one_step(first, problem, overflow);
    }
    GradScaler second;
    if (used_before) train_one_step(second, problem);

    second.load_state_dict(first.state_dict());

    CHECK(second.state_dict() == first.state_dict());
    for (const bool overflow : {false, true, true, true, true, false, false, false, false, true}) {
      train_one_step(first, problem, overflow);
      train_one_step(second, problem, overflow);
      CHECK(second.state_dict() == first.state_dict());
    }
  }
}

TEST_CASE("A state from Python leaves torchamp's own options as they are") {
  GradScaler scaler(small_numbers().hysteresis(3).consecutive_hysteresis(true).min_scale(2));

  scaler.load_state_dict(from_python());

  CHECK(scaler.options().hysteresis() == 3);
  CHECK(scaler.options().consecutive_hysteresis());
  CHECK(scaler.options().min_scale() == 2);
  CHECK(scaler.state_dict().hysteresis_tracker == 3);
  CHECK(scaler.state_dict().python_part() == from_python());
}

TEST_CASE("A state of our own brings its options, what is no state stays") {
  GradScaler source(small_numbers().hysteresis(3).consecutive_hysteresis(true).min_scale(2));
  GradScaler target(GradScalerOptions().many_skips(7));

  target.load_state_dict(source.state_dict());

  CHECK(target.options().hysteresis() == 3);
  CHECK(target.options().consecutive_hysteresis());
  CHECK(target.options().min_scale() == 2);
  CHECK(target.options().many_skips() == 7);
}

TEST_CASE("A loaded count at or beyond the interval grows at the next good step") {
  for (const bool used_before : {false, true}) {
    for (const int64_t count : {3, 4, 1000}) {
      CAPTURE(used_before);
      CAPTURE(count);
      Problem problem;
      GradScaler scaler(small_numbers());
      if (used_before) train_one_step(scaler, problem);

      scaler.load_state_dict(changed([&](auto& state) { state.growth_tracker = count; }));
      train_one_step(scaler, problem);

      CHECK(scaler.get_scale() == 12);
    }
  }
}

TEST_CASE("An interval lowered between loading and the first use is not missed") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.load_state_dict(changed([](auto& state) { state.growth_tracker = 2; }));

  scaler.set_growth_interval(1);
  scaler.set_backoff_factor(0.125);
  CHECK(scaler.get_scale() == 3);
  train_one_step(scaler, problem);

  CHECK(scaler.get_scale() == 12);
}

TEST_CASE("A state that does not fit is refused by name and nothing has changed") {
  const std::vector<std::pair<std::string, Change>> misfits = {
      {"scale", [](auto& state) { state.scale = 0; }},
      {"scale", [](auto& state) { state.scale = -4; }},
      {"scale", [](auto& state) { state.scale = not_a_number; }},
      {"scale", [](auto& state) { state.scale = double(infinity); }},
      {"scale", [](auto& state) { state.scale = 1e39; }},
      {"max_scale", [](auto& state) { state.scale = 5, state.max_scale = 4; }},
      {"growth_factor", [](auto& state) { state.growth_factor = 1; }},
      {"growth_factor", [](auto& state) { state.growth_factor = not_a_number; }},
      {"backoff_factor", [](auto& state) { state.backoff_factor = 1; }},
      {"backoff_factor", [](auto& state) { state.backoff_factor = 0; }},
      {"growth_interval", [](auto& state) { state.growth_interval = 0; }},
      {"growth_interval", [](auto& state) { state.growth_interval = int64_t{1} << 31; }},
      {"growth_tracker", [](auto& state) { state.growth_tracker = -1; }},
      {"growth_tracker", [](auto& state) { state.growth_tracker = int64_t{1} << 31; }},
      {"hysteresis", [](auto& state) { state.hysteresis = 0; }},
      {"hysteresis_tracker", [](auto& state) { state.hysteresis_tracker = -1; }},
      {"hysteresis_tracker", [](auto& state) { state.hysteresis_tracker = 2; }},
      {"min_scale", [](auto& state) { state.min_scale = 0; }},
      {"min_scale", [](auto& state) { state.min_scale = not_a_number; }},
      {"max_scale", [](auto& state) { state.min_scale = 2, state.max_scale = 1; }},
      {"empty", [](auto& state) { state.empty = true; }}};
  for (const bool used_before : {false, true}) {
    Problem problem;
    GradScaler scaler(small_numbers());
    if (used_before) train_one_step(scaler, problem);
    const GradScalerState before = scaler.state_dict();
    for (const auto& [name, change] : misfits) {
      CAPTURE(name);
      CAPTURE(used_before);
      CHECK_ERROR(E17, scaler.load_state_dict(changed(change)));
      CHECK_ERROR_SAYS(name, scaler.load_state_dict(changed(change)));
      CHECK(scaler.state_dict() == before);
      CHECK(scaler.options().init_scale() == 4);
    }
  }
}

TEST_CASE("A loaded scale must be within the scaler's own bounds") {
  GradScaler scaler(small_numbers().min_scale(4));

  CHECK_ERROR_SAYS("scale is 3 in the state, and this scaler keeps it from min_scale, 4",
                   scaler.load_state_dict(from_python()));

  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("A disabled scaler has an empty state, and loads none") {
  GradScaler scaler(small_numbers().enabled(false));
  CHECK(scaler.state_dict().empty);

  scaler.load_state_dict(from_python());
  scaler.load_state_dict(GradScalerState::of_disabled());
  scaler.load_state_dict(changed([](auto& state) { state.scale = -1; }));

  CHECK(scaler.get_scale() == 1);
  CHECK(scaler.get_growth_factor() == 2);
  CHECK(scaler.options().init_scale() == 4);
}

TEST_CASE("In the middle of an iteration what is unscaled stays so, and the loaded scale moves") {
  Problem problem;
  GradScaler scaler(small_numbers());
  scaler.scale(problem.parameter.sum()).backward();
  scaler.unscale_(problem.optimizer);

  scaler.load_state_dict(from_python());
  CHECK_ERROR(E03, scaler.unscale_(problem.optimizer));
  scaler.step(problem.optimizer);
  scaler.update();

  CHECK(problem.parameter.item<float>() == 9);
  CHECK(scaler.get_scale() == 3);
  CHECK(scaler.growth_tracker() == 2);
}

TEST_CASE("A constant scaler takes the scale of a state and stays there") {
  Problem problem;
  GradScaler source(small_numbers().init_scale(64).hysteresis(2));
  BasicGradScaler<ConstantLossScale> scaler(GradScalerOptions().init_scale(8));

  scaler.load_state_dict(source.state_dict());
  CHECK(scaler.get_scale() == 64);
  train_one_step(scaler, problem, /*overflow=*/true);
  CHECK(scaler.get_scale() == 64);

  BasicGradScaler<ConstantLossScale> other;
  other.load_state_dict(scaler.state_dict());
  CHECK(other.get_scale() == 64);
  CHECK_ERROR(E17, other.load_state_dict(changed([](auto& state) { state.scale = 0; })));
}

TEST_CASE("States are equal if all their numbers are, and empty ones whatever they hold") {
  const GradScalerState state = GradScaler(small_numbers()).state_dict();
  const std::vector<Change> changes = {[](auto& other) { other.scale = 8; },
                                       [](auto& other) { other.growth_factor = 3; },
                                       [](auto& other) { other.backoff_factor = 0.5; },
                                       [](auto& other) { other.growth_interval = 3; },
                                       [](auto& other) { other.growth_tracker = 1; },
                                       [](auto& other) { other.hysteresis.reset(); },
                                       [](auto& other) { other.hysteresis_tracker = 0; },
                                       [](auto& other) { other.consecutive_hysteresis = true; },
                                       [](auto& other) { other.min_scale = 1; },
                                       [](auto& other) { other.max_scale = 8; },
                                       [](auto& other) { other.empty = true; }};
  CHECK(state == GradScalerState(state));
  for (const auto& change : changes) {
    GradScalerState other = state;
    change(other);
    CHECK(state != other);
  }
  CHECK(GradScalerState::of_disabled() == changed([](auto& other) { other.empty = true; }));
}
