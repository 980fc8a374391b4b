// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/step_profile.h>
#include <torchamp/core/autocast.h>
#include <torchamp/probe/memory.h>

#include "support/doctest.h"

#include <stdexcept>
#include <string>
#include <vector>

using torchamp::profile_step;
using torchamp::StepProfile;

namespace {

torch::Tensor half(std::vector<int64_t> sizes) { return torch::ones(sizes, torch::kBFloat16); }

std::vector<std::string> odd_sizes_of(const torch::Tensor& left, const torch::Tensor& right) {
  return profile_step([&] { left.matmul(right); }).odd_sizes;
}

}  // namespace

TEST_CASE("Operators are counted, those inside of others not") {
  const auto a = torch::ones({8, 8});

  const StepProfile profile = profile_step([&] {
    a.add(a);
    torch::linear(a, a);  // calls others
  });

  CHECK(profile.operators == 2);
  CHECK(profile.half_operators == 0);
  CHECK(profile.casts == 0);
  CHECK(profile.seconds > 0);
  CHECK(profile.cast_share() == 0);
}

TEST_CASE("A cast is a conversion to another dtype, and its time is part of the whole") {
  const auto a = torch::ones({64, 64});

  const StepProfile profile = profile_step([&] {
    a.to(torch::kBFloat16).to(torch::kFloat);
    a.to(torch::kFloat);                            // nothing to do
    a.to(torch::kCPU, torch::kFloat, false, true);  // a copy
    torch::ones({}).to(torch::kBFloat16);           // a number
  });

  CHECK(profile.casts == 2);
  CHECK(profile.cast_seconds > 0);
  CHECK(profile.cast_share() > 0);
  CHECK(profile.cast_share() <= 1);
}

TEST_CASE("The operators and casts of an autocast region and of its backward are seen") {
  const auto weight = torch::ones({8, 8}, torch::requires_grad());

  const StepProfile profile = profile_step([&] {
    torch::Tensor product;
    {
      const torchamp::AutocastGuard autocast(torch::kCPU, torch::kBFloat16);
      product = torch::ones({8, 8}).mm(weight);
    }
    product.sum().backward();
  });

  CHECK(profile.half_operators > 0);
  CHECK(profile.casts == 3);  // both factors to bfloat16, the gradient of the weight back
}

TEST_CASE("Half precision that is float16 is told") {
  const auto run_in = [](torch::ScalarType dtype) {
    const auto a = torch::ones({8}, dtype);
    return profile_step([&] { a.add(a); }).float16;
  };

  CHECK(run_in(torch::kHalf));
  CHECK_FALSE(run_in(torch::kBFloat16));
  CHECK_FALSE(run_in(torch::kFloat));
}

TEST_CASE("The casts that autocast makes for an operator are casts and no operators") {
  const auto x = torch::ones({8, 8});

  const StepProfile profile = profile_step([&] {
    const torchamp::AutocastGuard autocast(torch::kCPU, torch::kBFloat16);
    x.mm(x);
    x.to(torch::kBFloat16);  // the program's own is both
  });

  CHECK(profile.operators == 2);
  CHECK(profile.half_operators == 2);
  CHECK(profile.casts == 3);
}

TEST_CASE("Products and convolutions in half precision tell sizes that are no multiples of 8") {
  CHECK(odd_sizes_of(half({16, 24}), half({24, 10})) ==
        std::vector<std::string>{"aten::mm 16 x 24 by 24 x 10"});
  CHECK(odd_sizes_of(half({16, 20}), half({20, 8})) ==
        std::vector<std::string>{"aten::mm 16 x 20 by 20 x 8"});
  CHECK(odd_sizes_of(half({15, 24}), half({24, 8})) ==
        std::vector<std::string>{"aten::mm 15 x 24 by 24 x 8"});
  CHECK(odd_sizes_of(half({16, 24}), half({24, 8})).empty());
  CHECK(odd_sizes_of(torch::ones({16, 24}), torch::ones({24, 10})).empty());  // float32

  const auto convolution = [](int64_t in, int64_t out) {
    return profile_step([&] {
             torch::conv2d(half({8, in, 5, 5}), half({out, in, 3, 3}));
           })
        .odd_sizes;
  };
  CHECK(convolution(3, 32) == std::vector<std::string>{"aten::convolution, weight 32 x 3 x 3 x 3"});
  CHECK(convolution(32, 12).size() == 1);
  CHECK(convolution(32, 16).empty());  // kernel, image and batch do not count
}

TEST_CASE("Each odd size is told once, and the bias of addmm is no factor") {
  const auto bias = half({10});
  const auto profile = profile_step([&] {
    for (int i = 0; i < 3; ++i) torch::addmm(bias, half({8, 16}), half({16, 10}));
  });

  CHECK(profile.odd_sizes == std::vector<std::string>{"aten::addmm 8 x 16 by 16 x 10"});
}

TEST_CASE("Nothing is noted after the step, nor after one that throws") {
  CHECK_THROWS_AS(profile_step([] { throw std::runtime_error("step failed"); }),
                  std::runtime_error);

  CHECK_FALSE(at::hasThreadLocalCallbacks());
}

TEST_CASE("A step is profiled under a memory probe as well") {
  const torchamp::MemoryProbe probe(torch::kCPU);

  const auto profile = profile_step([] { torch::empty({4}); });

  CHECK(profile.operators == 1);
  CHECK(probe.usage().peak_bytes == 16);
}
