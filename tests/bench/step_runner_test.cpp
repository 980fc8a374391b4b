// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/compare_report.h>
#include <torchamp/bench/step_runner.h>
#include <torchamp/core/grad_scaler.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/fake_clock.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

using torchamp::CompareFactory;
using torchamp::Float32Math;
using torchamp::StepContext;
using torchamp::StepPurpose;
using Runner = torchamp::StepRunner<FakeClock>;

namespace {

/// A runner of a step that calls `function` with the number of the step and the context, and has
/// its result as the loss.
template <class Function>
Runner runner_of(Function function, Float32Math math = Float32Math::AsSet) {
  return Runner(
      torch::kCPU, "AMP bf16", math,
      [=]() {
        return [=, number = 0](StepContext& context) mutable {
          return torch::tensor(function(number++, context), torch::kDouble);
        };
      },
      /*seed=*/1);
}

bool tf32_now() { return at::globalContext().allowTF32CuBLAS(); }

}  // namespace

TEST_CASE("Only steps that are timed have a time, and all have a loss") {
  auto runner = runner_of([](int number, StepContext&) {
    FakeClock::pass_milliseconds(10 + number);
    return 8.0 - number;
  });

  for (const auto purpose :
       {StepPurpose::WarmUp, StepPurpose::Memory, StepPurpose::Profile, StepPurpose::Time}) {
    runner.take_step(purpose);
  }

  REQUIRE(runner.record().seconds.size() == 1);
  CHECK(runner.record().seconds[0] == doctest::Approx(0.013));
  CHECK(runner.record().losses == std::vector<double>{8, 7, 6, 5});
  CHECK(runner.record().name == "AMP bf16");
}

TEST_CASE("A phase that not every round has is 0 in the others") {
  auto runner = runner_of([](int number, StepContext& context) {
    FakeClock::pass_milliseconds(1);
    context.phase(number % 2 == 0 ? "even" : "odd", [] { FakeClock::pass_milliseconds(4); });
    return 1.0;
  });

  for (int i = 0; i < 3; ++i) runner.take_step(StepPurpose::Time);

  const auto& phases = runner.record().phases;
  REQUIRE(phases.size() == 2);
  CHECK(phases[0].name == "even");
  CHECK(phases[0].seconds == std::vector<double>{0.004, 0, 0.004});
  CHECK(phases[1].name == "odd");
  CHECK(phases[1].seconds == std::vector<double>{0, 0.004, 0});
}

TEST_CASE("Memory is that of the step that is taken for it, to the byte") {
  auto runner = runner_of([](int number, StepContext&) {
    torch::empty({number == 1 ? 1024 : 65536}, torch::kByte);
    return 1.0;
  });

  runner.take_step(StepPurpose::WarmUp);
  runner.take_step(StepPurpose::Memory);
  runner.take_step(StepPurpose::Time);

  CHECK(runner.record().memory.peak_bytes == 1024);
}

TEST_CASE("Operators are those of the step that is taken for them") {
  auto runner = runner_of([](int number, StepContext&) {
    const auto a = torch::ones({8});
    for (int i = 0; i < 10 * number; ++i) a.add(a);
    return 1.0;
  });

  runner.take_step(StepPurpose::WarmUp);
  runner.take_step(StepPurpose::Profile);
  runner.take_step(StepPurpose::Time);

  CHECK(runner.record().profile.operators >= 11);
  CHECK(runner.record().profile.operators < 20);
}

TEST_CASE("The scale after each step is kept, and the steps that were skipped") {
  const auto scaler =
      std::make_shared<torchamp::GradScaler>(torchamp::GradScalerOptions().init_scale(1024));
  const auto weight = torch::ones({1}, torch::requires_grad());
  const auto optimizer =
      std::make_shared<torch::optim::SGD>(std::vector<torch::Tensor>{weight}, 0.1);
  auto runner = runner_of([=](int number, StepContext& context) {
    optimizer->zero_grad();
    const double factor = number == 1 ? std::numeric_limits<double>::infinity() : 1;
    scaler->scale((weight * factor).sum()).backward();
    scaler->step(*optimizer);
    scaler->update();
    context.watch(*scaler);
    return 1.0;
  });

  for (int i = 0; i < 3; ++i) runner.take_step(StepPurpose::Time);

  CHECK(runner.record().scales == std::vector<double>{1024, 512, 512});
  CHECK(runner.record().skipped == std::vector<int64_t>{1});
}

TEST_CASE(
    "Steps that do not show their scaler have the scale from before, and marks stay in place") {
  const auto scaler =
      std::make_shared<torchamp::GradScaler>(torchamp::GradScalerOptions().init_scale(1024));
  const auto weight = torch::ones({1}, torch::requires_grad());
  const auto optimizer =
      std::make_shared<torch::optim::SGD>(std::vector<torch::Tensor>{weight}, 0.1);
  // Gradients of two steps are added up: the optimizer steps in the steps 1 and 3, and 3 is
  // skipped.
  auto runner = runner_of([=](int number, StepContext& context) {
    const double factor = number == 3 ? std::numeric_limits<double>::infinity() : 1;
    scaler->scale((weight * factor).sum()).backward();
    if (number % 2 == 0) return 1.0;
    scaler->step(*optimizer);
    scaler->update();
    optimizer->zero_grad();
    context.watch(*scaler);
    return 1.0;
  });

  for (int i = 0; i < 4; ++i) runner.take_step(StepPurpose::Time);

  CHECK(runner.record().scales == std::vector<double>{1024, 1024, 1024, 512});
  CHECK(runner.record().skipped == std::vector<int64_t>{3});
  torchamp::CompareResult result;
  result.variants = {runner.record()};
  const auto report = torchamp::to_report(result);
  const auto& scale = report.variants.at(0).series.at(2);
  CHECK(scale.id == "scale");
  CHECK(scale.marks == std::vector<std::size_t>{3});
}

TEST_CASE("Every runner begins with the seed and draws the numbers that it would draw alone") {
  const auto draw = [](int, StepContext&) { return torch::rand({1}).item<double>(); };
  auto alone = runner_of(draw);
  for (int i = 0; i < 3; ++i) alone.take_step(StepPurpose::Time);

  auto one = runner_of(draw);
  auto other = runner_of(draw);
  for (int i = 0; i < 3; ++i) {
    one.take_step(StepPurpose::Time);
    other.take_step(StepPurpose::Time);
  }

  CHECK(one.record().losses == alone.record().losses);
  CHECK(other.record().losses == alone.record().losses);
  CHECK(alone.record().losses[0] != alone.record().losses[1]);
}

TEST_CASE("TF32 is as a variant wants it while it is made and steps, and as before afterwards") {
  bool made_with = false;
  bool stepped_with = false;
  const CompareFactory factory = [&] {
    made_with = tf32_now();
    return [&](StepContext&) {
      stepped_with = tf32_now();
      return torch::ones({});
    };
  };
  Runner tf32(torch::kCPU, "TF32", Float32Math::Tf32, factory, 1);
  CHECK(made_with);
  CHECK_FALSE(tf32_now());

  tf32.take_step(StepPurpose::Time);
  CHECK(stepped_with);
  CHECK_FALSE(tf32_now());

  Runner strict(torch::kCPU, "FP32", Float32Math::Strict, factory, 1);
  strict.take_step(StepPurpose::Time);
  CHECK_FALSE(made_with);
  CHECK_FALSE(stepped_with);
}

TEST_CASE("A factory without a step and a step without a loss are refused with their name") {
  CHECK_ERROR(E30, Runner(
                       torch::kCPU, "FP32", Float32Math::AsSet, [] { return nullptr; }, 1));

  const auto returning = [](const torch::Tensor& loss) {
    Runner runner(
        torch::kCPU, "FP32", Float32Math::AsSet, [=] { return [=](StepContext&) { return loss; }; },
        1);
    return complaint_of([&] { runner.take_step(StepPurpose::Time); });
  };
  CHECK(returning(torch::Tensor()).find("[torchamp.E30] Compare: step 0 of \"FP32\"") == 0);
  CHECK(returning(torch::ones({2})).find("[torchamp.E30]") == 0);
  CHECK(returning(torch::ones({}, torch::kComplexFloat)).find("[torchamp.E30]") == 0);
  CHECK(returning(torch::full({}, std::numeric_limits<double>::infinity()))
            .find("[torchamp.E30] Compare: the first loss of \"FP32\" is inf") == 0);
}

TEST_CASE("A loss that is not finite later on is a result, not a mistake") {
  auto runner = runner_of([](int number, StepContext&) {
    return number == 0 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
  });

  runner.take_step(StepPurpose::Time);

  CHECK_NOTHROW(runner.take_step(StepPurpose::Time));
}
