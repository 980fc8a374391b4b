// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/archive.h>

#include "io/files.h"
#include "support/doctest.h"
#include "support/errors.h"

#include <limits>
#include <sstream>
#include <string>
#include <vector>

using torchamp::BasicGradScaler;
using torchamp::ConstantLossScale;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::GradScalerState;

namespace {

/// Scale 4, doubled after two good steps, quartered by the second overflow.
GradScalerOptions small_numbers() {
  return GradScalerOptions().init_scale(4).backoff_factor(0.25).growth_interval(2).hysteresis(2);
}

struct Problem {
  torch::Tensor parameter = torch::full({1}, 10.0, torch::requires_grad());
  torch::optim::SGD optimizer{std::vector<torch::Tensor>{parameter}, torch::optim::SGDOptions(1.0)};
};

void train_one_step(GradScaler& scaler, Problem& problem, bool overflow = false) {
  const float factor = overflow ? std::numeric_limits<float>::infinity() : 0;
  problem.optimizer.zero_grad();
  scaler.scale((problem.parameter * factor).sum()).backward();
  scaler.step(problem.optimizer);
  scaler.update();
}

/// Saves one scaler and loads it into another.
template <class From, class To>
void hand_over(const From& from, To& to) {
  std::stringstream file;
  torch::save(from, file);
  torch::load(to, file);
}

}  // namespace

TEST_CASE("A scaler is saved to a file and loaded from it, before its first use") {
  const TemporaryFile file("archive_test.pt");
  const GradScaler first(small_numbers());
  GradScaler second;

  torch::save(first, file.path());
  torch::load(second, file.path());

  CHECK(second.state_dict() == first.state_dict());
  CHECK(second.get_scale() == 4);
}

TEST_CASE("A scaler that is loaded in the middle of an interval goes on as the saved one") {
  for (const bool used_before : {false, true}) {
    CAPTURE(used_before);
    Problem problem;
    GradScaler first(small_numbers());
    for (const bool overflow : {false, false, true, false}) {
      train_one_step(first, problem, overflow);
    }
    GradScaler second;
    if (used_before) train_one_step(second, problem);

    hand_over(first, second);

    CHECK(second.get_scale() == 8);
    CHECK(second.growth_tracker() == 1);
    for (const bool overflow : {true, true, false, false, false}) {
      train_one_step(first, problem, overflow);
      train_one_step(second, problem, overflow);
      CHECK(second.state_dict() == first.state_dict());
    }
  }
}

TEST_CASE("A scaler is a part of a larger archive") {
  std::stringstream file;
  const GradScaler first(small_numbers());
  {
    torch::serialize::OutputArchive checkpoint, part;
    part << first;
    checkpoint.write("scaler", part);
    checkpoint.write("epoch", c10::IValue(int64_t{7}));
    checkpoint.save_to(file);
  }
  torch::serialize::InputArchive checkpoint, part;
  checkpoint.load_from(file);
  GradScaler second;
  CHECK_ERROR_SAYS("larger one", checkpoint >> second);

  checkpoint.read("scaler", part);
  part >> second;

  CHECK(second.state_dict() == first.state_dict());
}

TEST_CASE("A scaler is not saved between unscale_() or step() and update()") {
  Problem problem;
  GradScaler scaler(small_numbers());
  std::stringstream file;
  scaler.scale(problem.parameter.sum()).backward();
  CHECK_NOTHROW(torch::save(scaler, file));

  scaler.unscale_(problem.optimizer);
  CHECK_ERROR(E18, torch::save(scaler, file));
  scaler.step(problem.optimizer);
  CHECK_ERROR_SAYS("after update()", torch::save(scaler, file));
  scaler.update();

  CHECK_NOTHROW(torch::save(scaler, file));
}

TEST_CASE("A disabled scaler saves an empty state, loads none, and an enabled one refuses it") {
  GradScaler disabled(small_numbers().enabled(false)), enabled(small_numbers().init_scale(32));
  GradScaler other_disabled(GradScalerOptions().enabled(false));

  hand_over(disabled, other_disabled);
  hand_over(enabled, disabled);
  CHECK_ERROR(E17, hand_over(disabled, enabled));

  CHECK(disabled.get_scale() == 1);
  CHECK(disabled.options().init_scale() == 4);
  CHECK(enabled.get_scale() == 32);
}

TEST_CASE("A state that does not fit is refused and the scaler has not changed") {
  const GradScaler from(small_numbers());
  GradScaler to(GradScalerOptions().init_scale(32));
  GradScalerState state = from.state_dict();
  state.growth_factor = 1;
  const GradScalerState before = to.state_dict();

  CHECK_ERROR(E17, hand_over(state, to));

  CHECK(to.state_dict() == before);
}

TEST_CASE("A scaler whose scale is constant is saved and loaded") {
  const BasicGradScaler<ConstantLossScale> first(GradScalerOptions().init_scale(4));
  BasicGradScaler<ConstantLossScale> second;

  hand_over(first, second);

  CHECK(second.get_scale() == 4);
}

TEST_CASE("A file that another release of LibTorch wrote is loaded") {
  // torch::save of LibTorch 2.4.1: init_scale 8, interval 5, hysteresis 3, of which 1 was left.
  GradScaler scaler;

  torch::load(scaler, golden("archive_2.4.1.pt"));

  CHECK(scaler.get_scale() == 8);
  CHECK(scaler.get_growth_interval() == 5);
  CHECK(scaler.growth_tracker() == 2);
  CHECK(scaler.state_dict().hysteresis == 3);
  CHECK(scaler.state_dict().hysteresis_tracker == 1);
}

TEST_CASE("A file that LibTorch cannot read leaves the scaler as it was") {
  std::stringstream whole;
  torch::save(GradScaler(small_numbers()), whole);
  const std::string bytes = whole.str();
  GradScaler scaler(GradScalerOptions().init_scale(32));

  CHECK_THROWS_AS(torch::load(scaler, "no/such/file.pt"), c10::Error);
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    std::stringstream part(bytes.substr(0, size));
    CHECK_THROWS(torch::load(scaler, part));
  }

  CHECK(scaler.get_scale() == 32);
}
