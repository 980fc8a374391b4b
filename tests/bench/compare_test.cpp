// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/compare.h>
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/report/check_report.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/fake_clock.h"
#include "support/profilers.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using doctest::Approx;
using torchamp::CompareFactory;
using torchamp::CompareOptions;
using torchamp::CompareProgress;
using torchamp::StepContext;
using FakeCompare = torchamp::BasicCompare<FakeClock>;

namespace {

/// Steps that take so many milliseconds, times what `slowdown` is at the moment.
CompareFactory taking(int milliseconds, const int& slowdown) {
  return [=, &slowdown] {
    return [=, &slowdown](StepContext&) {
      FakeClock::pass_milliseconds(milliseconds * slowdown);
      return torch::ones({});
    };
  };
}

CompareFactory taking(int milliseconds) {
  static const int no_slowdown = 1;
  return taking(milliseconds, no_slowdown);
}

/// A net of one layer on random data, in bfloat16 or not.
CompareFactory training(bool amp) {
  return [=] {
    torch::nn::Linear net(8, 1);
    const auto optimizer = std::make_shared<torch::optim::SGD>(net->parameters(), 0.01);
    const auto data = torch::rand({4, 8});
    return [=](StepContext& context) mutable {
      optimizer->zero_grad();
      torch::Tensor loss;
      {
        const auto forward = context.phase("forward");
        const torchamp::AutocastGuard autocast(torch::kCPU,
                                               torchamp::AutocastOptions().enabled(amp));
        loss = torch::dropout(net->forward(data), 0.5, /*train=*/true).pow(2).mean();
      }
      context.phase("backward", [&] { loss.backward(); });
      optimizer->step();
      return loss.detach();
    };
  };
}

/// The order in which three variants step, as "abc bca …".
std::string order_of(int rounds) {
  std::string order;
  FakeCompare compare(torch::kCPU, CompareOptions().warmup(0).rounds(rounds));
  for (const char* name : {"a", "b", "c"}) {
    compare.add(name, [&order, name] {
      return [&order, name](StepContext&) {
        order += name;
        FakeClock::pass_milliseconds(1);
        return torch::ones({});
      };
    });
  }
  compare.measure();
  return order;
}

}  // namespace

TEST_CASE("A step that takes exactly twice as long has the ratio 2, between 2 and 2") {
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(10));
  compare.add("FP32", taking(3)).add("AMP bf16", taking(6));

  const auto result = compare.measure();

  REQUIRE(result.pairs.size() == 1);
  CHECK(result.pairs[0].time.ratio == Approx(2));
  CHECK(result.pairs[0].time.low == Approx(2));
  CHECK(result.pairs[0].time.high == Approx(2));
  CHECK(result.pairs[0].time.stable());
  CHECK(result.variants[0].seconds == std::vector<double>(10, 0.003));
}

TEST_CASE("A machine that gets slower round by round changes nothing in the ratio") {
  int slowdown = 1;
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(10).prepare([&](int64_t round) {
    slowdown = static_cast<int>(round + 1);
  }));
  compare.add("FP32", taking(3, slowdown)).add("AMP bf16", taking(6, slowdown));

  const auto result = compare.measure();

  CHECK(result.variants[0].seconds.back() > 2 * result.variants[0].seconds.front());
  CHECK(result.pairs[0].time.low == Approx(2));
  CHECK(result.pairs[0].time.high == Approx(2));
}

TEST_CASE("Noise is called unstable, in the report too") {
  int turn = 0;
  const CompareFactory noisy = [&turn] {
    return [&turn](StepContext&) {
      FakeClock::pass_milliseconds(5 + 5 * (turn++ % 2));
      return torch::ones({});
    };
  };
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(12));
  compare.add("FP32", taking(7)).add("AMP bf16", noisy);

  const auto report = compare.run();

  CHECK_FALSE(report.comparisons.at(0).stable);
  CHECK_FALSE(report.warnings.empty());
}

TEST_CASE("Rounds rotate: each variant is first, second and third in turn") {
  // Two rounds that are not timed, for memory and for operators, come before the three.
  CHECK(order_of(3) == "abcbcacababcbca");
}

TEST_CASE("Warm-up is not timed, and every variant takes every step") {
  int calls = 0;
  FakeCompare compare(torch::kCPU, CompareOptions().warmup(2).rounds(4));
  compare.add("FP32", [&] {
    return [&](StepContext&) {
      FakeClock::pass_milliseconds(++calls <= 4 ? 1000 : 1);
      return torch::ones({});
    };
  });
  compare.add("AMP bf16", taking(1));

  const auto result = compare.measure();

  CHECK(result.untimed_steps == 4);
  CHECK(result.variants[0].seconds == std::vector<double>(4, 0.001));
  CHECK(result.variants[0].losses.size() == 8);
  CHECK(result.variants[1].losses.size() == 8);
}

TEST_CASE("Trainings from equal seeds have the same losses, dropout and all") {
  torchamp::Compare compare(torch::kCPU, CompareOptions().warmup(1).rounds(3));
  compare.add("FP32", training(false)).add("again", training(false)).add("AMP", training(true));

  const auto result = compare.measure();

  CHECK(result.variants[0].losses == result.variants[1].losses);
  CHECK(result.variants[0].losses[0] == Approx(result.variants[2].losses[0]).epsilon(0.02));
  CHECK(result.variants[0].losses != result.variants[2].losses);  // it did run in bfloat16
  CHECK(result.variants[0].profile.half_operators == 0);
  CHECK(result.variants[2].profile.half_operators > 0);
  CHECK(result.variants[2].phases.size() == 2);
}

TEST_CASE("The seed decides on the first weights and the data: another one, another training") {
  const auto first_loss = [](uint64_t seed) {
    torchamp::Compare compare(torch::kCPU, CompareOptions().warmup(0).rounds(1).seed(seed));
    compare.add("FP32", training(false)).add("AMP", training(true));
    return compare.measure().variants[0].losses[0];
  };

  CHECK(first_loss(1) == first_loss(1));
  CHECK(first_loss(1) != first_loss(2));
}

TEST_CASE("The seed decides on what is prepared as well") {
  const auto first_drawn = [](uint64_t seed) {
    double drawn = 0;
    FakeCompare compare(torch::kCPU,
                        CompareOptions().rounds(1).seed(seed).prepare([&](int64_t round) {
                          if (round == 0) drawn = torch::rand({1}).item<double>();
                        }));
    compare.add("FP32", taking(1)).add("AMP", taking(1)).measure();
    return drawn;
  };

  CHECK(first_drawn(1) == first_drawn(1));
  CHECK(first_drawn(1) != first_drawn(2));
}

TEST_CASE("The random numbers of the program go on as if nothing had been compared") {
  torch::manual_seed(9);
  const auto expected = torch::rand({2});
  torch::manual_seed(9);
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(1));
  compare.add("FP32", taking(1)).add("AMP", [&] {
    return [](StepContext&) -> torch::Tensor { throw std::runtime_error("out of memory"); };
  });

  CHECK_THROWS_AS(compare.measure(), std::runtime_error);

  CHECK(torch::equal(torch::rand({2}), expected));
}

TEST_CASE("A batch is prepared once a round, from random numbers that do not depend on variants") {
  const auto batches_of = [](int variants) {
    std::vector<double> drawn;
    std::vector<int64_t> rounds;
    FakeCompare compare(torch::kCPU,
                        CompareOptions().warmup(0).rounds(2).prepare([&](int64_t round) {
                          rounds.push_back(round);
                          drawn.push_back(torch::rand({1}).item<double>());
                        }));
    for (int i = 0; i < variants; ++i) {
      compare.add("variant " + std::to_string(i), [] {
        return [](StepContext&) {
          FakeClock::pass_milliseconds(1);
          return torch::rand({1});
        };
      });
    }
    compare.measure();
    CHECK(rounds == std::vector<int64_t>{0, 1, 2, 3});
    return drawn;
  };

  CHECK(batches_of(2) == batches_of(3));
}

TEST_CASE("Progress is told after every step") {
  std::vector<CompareProgress> told;
  FakeCompare compare(torch::kCPU,
                      CompareOptions().warmup(0).rounds(1).progress(
                          [&](const CompareProgress& progress) { told.push_back(progress); }));
  compare.add("FP32", taking(1)).add("AMP", taking(1));

  compare.measure();

  REQUIRE(told.size() == 6);
  CHECK(told.front().step == 1);
  CHECK(told.front().steps == 6);
  CHECK(told.front().name == "FP32");
  CHECK(told.front().loss == 1);
  CHECK_FALSE(told.front().scale);
  CHECK(told.back().step == 6);
  CHECK(told[2].name == "AMP");  // the second round begins with the second variant
}

TEST_CASE("Progress tells the scale of a scaler that the step watches") {
  std::vector<CompareProgress> told;
  FakeCompare compare(torch::kCPU,
                      CompareOptions().warmup(0).rounds(1).progress(
                          [&](const CompareProgress& progress) { told.push_back(progress); }));
  compare.add("FP32", taking(1)).add("AMP fp16", [] {
    const auto scaler =
        std::make_shared<torchamp::GradScaler>(torchamp::GradScalerOptions().init_scale(1024));
    return [scaler](StepContext& context) {
      FakeClock::pass_milliseconds(1);
      context.watch(*scaler);
      return torch::ones({});
    };
  });

  compare.measure();

  for (const CompareProgress& progress : told) {
    CAPTURE(progress.name);
    CHECK(progress.scale.has_value() == (progress.name == "AMP fp16"));
    CHECK(progress.scale.value_or(1024) == 1024);
  }
}

TEST_CASE("The baselines of float32 are strict, and TF32 where the device has it") {
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(1));
  compare.add_float32(taking(1)).add("AMP", taking(1));

  const auto result = compare.measure();

  REQUIRE(result.variants.size() == 2);
  CHECK(result.variants[0].name == "FP32");
  CHECK(result.variants[0].math == torchamp::Float32Math::Strict);
  CHECK(result.variants[1].math == torchamp::Float32Math::AsSet);
}

TEST_CASE("A TF32 variant is a second baseline for those after it") {
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(1));
  compare.add("FP32", taking(4), torchamp::Float32Math::Strict);
  compare.add("TF32", taking(2), torchamp::Float32Math::Tf32);
  compare.add("AMP fp16", taking(1)).add("AMP bf16", taking(1));

  const auto result = compare.measure();

  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const auto& pair : result.pairs) pairs.emplace_back(pair.variant, pair.baseline);
  CHECK(pairs ==
        std::vector<std::pair<std::size_t, std::size_t>>{{1, 0}, {2, 0}, {3, 0}, {2, 1}, {3, 1}});
}

TEST_CASE("A comparison comes out as a report that makes sense") {
  torchamp::Compare compare(torch::kCPU, CompareOptions().rounds(6).items_per_step(4));
  compare.add("FP32", training(false)).add("AMP bf16", training(true));

  const auto report = compare.run();

  CHECK_NOTHROW(torchamp::check_report(report));
  REQUIRE(report.variants.size() == 2);
  CHECK(report.variants[1].id == "amp_bf16");
  CHECK(report.comparisons.size() == 1);
  CHECK_FALSE(report.verdict.empty());
  CHECK_FALSE(report.reasons.empty());
  CHECK(report.environment.size() == torchamp::environment().lines().size());
}

TEST_CASE("Fewer than two variants are refused before any is made") {
  int made = 0;
  FakeCompare compare(torch::kCPU);
  CHECK_ERROR(E30, compare.measure());
  compare.add("FP32", [&] {
    ++made;
    return taking(1)();
  });

  CHECK_ERROR(E30, compare.run());

  CHECK(made == 0);
}

TEST_CASE(
    "A comparison while a profiler of this thread runs is refused, and the profiler goes on") {
  FakeCompare compare(torch::kCPU, CompareOptions().warmup(0).rounds(1));
  compare.add("FP32", taking(1)).add("AMP", taking(1));
  start_profiler(profiling_memory());

  CHECK_ERROR(E13, compare.measure());

  torch::ones({}).add(1);
  CHECK(stop_profiler("aten::add") >= 1);
  CHECK(compare.measure().variants.size() == 2);
}

TEST_CASE("A name that is there, none, or no factory is refused, and the others stay") {
  FakeCompare compare(torch::kCPU, CompareOptions().rounds(1));
  compare.add("FP32", taking(1));

  CHECK_ERROR(E30, compare.add("FP32", taking(1)));
  CHECK_ERROR(E30, compare.add("fp-32", taking(1)).add("FP 32", taking(1)));  // one id for both
  CHECK_ERROR(E30, compare.add("", taking(1)));
  CHECK_ERROR(E30, compare.add("?!", taking(1)));
  CHECK_ERROR(E30, compare.add("AMP", nullptr));

  compare.add("AMP", taking(1));
  CHECK(compare.measure().variants.size() == 3);
}

TEST_CASE("Options that make no sense are refused") {
  CHECK_ERROR(E08, FakeCompare(torch::kCPU, CompareOptions().rounds(0)));
  CHECK_ERROR(E08, FakeCompare(torch::kCPU, CompareOptions().warmup(-1)));
  CHECK_ERROR(E08, FakeCompare(torch::kCPU, CompareOptions().confidence(0)));
  CHECK_ERROR(E08, FakeCompare(torch::kCPU, CompareOptions().confidence(1)));
  CHECK_ERROR(E08, FakeCompare(torch::kCPU, CompareOptions().tolerance(0)));
  CHECK_ERROR(E08, FakeCompare(torch::kCPU, CompareOptions().items_per_step(-1)));
}
