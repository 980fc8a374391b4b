// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <stdexcept>
#include <thread>
#include <type_traits>

using torchamp::AutocastGuard;
using torchamp::AutocastOptions;
using torchamp::FullPrecisionGuard;

namespace {

const auto cpu = torch::kCPU;

torch::Dtype dtype_of_a_product() {
  const auto matrix = torch::ones({2, 2});
  return torch::mm(matrix, matrix).scalar_type();
}

/// All that a region may change, to compare before and after.
struct State {
  bool enabled = at::autocast::is_autocast_enabled(cpu);
  at::ScalarType dtype = at::autocast::get_autocast_dtype(cpu);
  bool cache = at::autocast::is_autocast_cache_enabled();

  bool operator==(const State& other) const {
    return enabled == other.enabled && dtype == other.dtype && cache == other.cache;
  }
};

}  // namespace

static_assert(!std::is_copy_constructible_v<AutocastGuard>);
static_assert(!std::is_move_constructible_v<AutocastGuard>);
static_assert(!std::is_move_constructible_v<FullPrecisionGuard>);
static_assert(std::is_nothrow_destructible_v<AutocastGuard>);

TEST_CASE("Products are bfloat16 inside a region on the CPU and float32 before and after") {
  CHECK(dtype_of_a_product() == torch::kFloat);
  {
    AutocastGuard autocast(cpu);
    CHECK(dtype_of_a_product() == torch::kBFloat16);
  }
  CHECK(dtype_of_a_product() == torch::kFloat);
}

TEST_CASE("A dtype can be given alone, and a device with an index will do") {
  AutocastGuard autocast(torch::Device(torch::kCPU), torch::kHalf);

  CHECK(dtype_of_a_product() == torch::kHalf);
}

TEST_CASE("Leaving a region restores enabled, dtype and cache flag") {
  const State before;
  {
    AutocastGuard autocast(cpu, AutocastOptions(torch::kHalf).cache_enabled(false));
    CHECK_FALSE(State() == before);
  }
  CHECK(State() == before);
}

TEST_CASE("Leaving a region by an exception restores what was there") {
  const State before;

  try {
    AutocastGuard autocast(cpu, torch::kHalf);
    throw std::runtime_error("passes through");
  } catch (const std::runtime_error&) {
  }

  CHECK(State() == before);
}

TEST_CASE("A disabled region inside an enabled one casts nothing, and the outer one goes on") {
  AutocastGuard outer(cpu);
  {
    AutocastGuard inner(cpu, AutocastOptions().enabled(false));
    CHECK(dtype_of_a_product() == torch::kFloat);
  }
  {
    FullPrecisionGuard full(cpu);
    CHECK(dtype_of_a_product() == torch::kFloat);
  }
  CHECK(dtype_of_a_product() == torch::kBFloat16);
}

TEST_CASE("A nested region without a dtype takes the outer one's") {
  AutocastGuard outer(cpu, torch::kHalf);
  AutocastGuard inner(cpu);

  CHECK(dtype_of_a_product() == torch::kHalf);
}

TEST_CASE(
    "A nested region of another dtype works on the same weights, and so does the outer after") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  AutocastGuard outer(cpu, torch::kBFloat16);
  CHECK(torch::mm(input, weight).scalar_type() == torch::kBFloat16);
  {
    AutocastGuard inner(cpu, torch::kHalf);
    CHECK(torch::mm(input, weight).scalar_type() == torch::kHalf);
  }
  CHECK(torch::mm(input, weight).scalar_type() == torch::kBFloat16);
}

TEST_CASE("A weight changed between two regions is seen by the second") {
  auto weight = torch::ones({1, 1}, torch::requires_grad());
  const auto input = torch::ones({1, 1});
  const auto product = [&] {
    AutocastGuard autocast(cpu);
    return torch::mm(input, weight).item<float>();
  };
  CHECK(product() == 1);

  torch::NoGradGuard no_grad;
  weight.fill_(3);

  CHECK(product() == 3);
}

TEST_CASE("A forward pass in a no-grad region does not cost a later one its gradients") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  AutocastGuard outer(cpu);
  {
    torch::NoGradGuard no_grad;
    AutocastGuard inner(cpu);
    torch::mm(input, weight);
  }

  torch::mm(input, weight).sum().backward();

  CHECK(weight.grad().defined());
}

TEST_CASE("autocast() runs a function in a region and returns what it returns") {
  CHECK(torchamp::autocast(cpu, dtype_of_a_product) == torch::kBFloat16);
  CHECK(torchamp::autocast(cpu, torch::kHalf, dtype_of_a_product) == torch::kHalf);
  CHECK(dtype_of_a_product() == torch::kFloat);

  int value = 0;
  int& reference = torchamp::autocast(cpu, [&]() -> int& { return value; });
  CHECK(&reference == &value);
}

TEST_CASE("Another thread starts without autocast") {
  AutocastGuard autocast(cpu);
  torch::Dtype seen = torch::kBFloat16;

  std::thread([&] { seen = dtype_of_a_product(); }).join();

  CHECK(seen == torch::kFloat);
}

TEST_CASE("A dtype that is not half precision is refused and nothing has changed") {
  const State before;

  CHECK_ERROR(E02, AutocastGuard(cpu, torch::kFloat));
  CHECK_ERROR(E02, AutocastGuard(cpu, torch::kInt));
  CHECK_ERROR_SAYS("enabled(false)", AutocastGuard(cpu, torch::kFloat));

  CHECK(State() == before);
}

TEST_CASE("A disabled region takes any dtype, since it casts nothing") {
  AutocastGuard autocast(cpu, AutocastOptions(torch::kFloat).enabled(false));

  CHECK(dtype_of_a_product() == torch::kFloat);
}

TEST_CASE("A device without autocast is refused by name") {
  CHECK_ERROR(E01, AutocastGuard(torch::kMeta));
  CHECK_ERROR_SAYS("meta", AutocastGuard(torch::kMeta));
}
