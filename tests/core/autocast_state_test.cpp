// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast_state.h>

#include "support/doctest.h"

#include <ATen/Parallel.h>
#include <c10/core/thread_pool.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

using torchamp::AutocastGuard;
using torchamp::AutocastOptions;
using torchamp::AutocastState;
using torchamp::AutocastStateGuard;

namespace {

const auto cpu = torch::kCPU;

torch::Dtype dtype_of_a_product() {
  const auto matrix = torch::ones({2, 2});
  return torch::mm(matrix, matrix).scalar_type();
}

/// The state inside a region with these options.
AutocastState state_with(const AutocastOptions& options) {
  AutocastGuard autocast(cpu, options);
  return AutocastState::current();
}

}  // namespace

static_assert(std::is_copy_constructible_v<AutocastState>);
static_assert(!std::is_copy_constructible_v<AutocastStateGuard>);
static_assert(!std::is_move_constructible_v<AutocastStateGuard>);
static_assert(std::is_nothrow_destructible_v<AutocastStateGuard>);

TEST_CASE("A state tells what autocast does, for each device, and compares") {
  const auto outside = AutocastState::current();
  const auto inside = state_with(AutocastOptions(torch::kHalf).cache_enabled(false));

  CHECK_FALSE(outside.enabled(cpu));
  CHECK(inside.enabled(cpu));
  CHECK(inside.dtype(cpu) == torch::kHalf);
  CHECK_FALSE(inside.cache_enabled());
  CHECK_FALSE(inside.enabled(torch::kCUDA));
  CHECK(inside.dtype(torch::kCUDA) == outside.dtype(torch::kCUDA));

  CHECK(inside == state_with(AutocastOptions(torch::kHalf).cache_enabled(false)));
  CHECK(inside != outside);
  CHECK(inside != state_with(AutocastOptions(torch::kBFloat16).cache_enabled(false)));
  CHECK(inside != state_with(AutocastOptions(torch::kHalf).cache_enabled(true)));
}

TEST_CASE("A device without autocast is off in every state") {
  CHECK_FALSE(AutocastState::current().enabled(torch::kMeta));
  CHECK(AutocastState::current().dtype(torch::kMeta) == torch::ScalarType::Undefined);
}

TEST_CASE("A state captured in a region is replayed outside it, and what was there comes back") {
  const auto outside = AutocastState::current();
  const auto half = state_with(AutocastOptions(torch::kHalf).cache_enabled(false));
  {
    AutocastStateGuard guard(half);
    CHECK(AutocastState::current() == half);
    CHECK(dtype_of_a_product() == torch::kHalf);
  }
  CHECK(AutocastState::current() == outside);
}

TEST_CASE("A state replays every device that was on when it was captured") {
  AutocastGuard on_cpu(cpu, torch::kHalf);
  const auto state = [] {
    AutocastGuard on_cuda(torch::kCUDA, torch::kBFloat16);
    return AutocastState::current();
  }();

  AutocastStateGuard guard(state);

  CHECK(at::autocast::is_autocast_enabled(torch::kCUDA));
  CHECK(at::autocast::get_autocast_dtype(torch::kCUDA) == torch::kBFloat16);
  CHECK(dtype_of_a_product() == torch::kHalf);
}

TEST_CASE("A state captured outside regions switches autocast off inside one") {
  const auto outside = AutocastState::current();
  AutocastGuard autocast(cpu);
  {
    AutocastStateGuard guard(outside);
    CHECK(dtype_of_a_product() == torch::kFloat);
  }
  CHECK(dtype_of_a_product() == torch::kBFloat16);
}

TEST_CASE("disabled() is the same state with every device off") {
  const auto state = state_with(torch::kHalf);

  CHECK_FALSE(state.disabled().enabled(cpu));
  CHECK(state.disabled().dtype(cpu) == torch::kHalf);
  CHECK(state.disabled().cache_enabled() == state.cache_enabled());
}

TEST_CASE("An exception that passes a replayed state restores what was there") {
  const auto outside = AutocastState::current();
  const auto throws = state_with(torch::kHalf).wrap([] { throw std::runtime_error("passes"); });

  CHECK_THROWS_AS(throws(), std::runtime_error);

  CHECK(AutocastState::current() == outside);
  CHECK(at::autocast::increment_nesting() == 1);
  CHECK(at::autocast::decrement_nesting() == 0);
}

TEST_CASE("A wrapped function runs in its state on a std::thread, and the thread is left clean") {
  torch::Dtype wrapped = torch::kFloat, after = torch::kBFloat16;
  AutocastGuard autocast(cpu);
  const auto function = AutocastState::current().wrap([&] { wrapped = dtype_of_a_product(); });

  std::thread([&] {
    function();
    after = dtype_of_a_product();
  }).join();
  CHECK(wrapped == torch::kBFloat16);
  CHECK(after == torch::kFloat);

  wrapped = torch::kFloat;
  std::thread(AutocastState::current().wrap([&] { wrapped = dtype_of_a_product(); })).join();
  CHECK(wrapped == torch::kBFloat16);
}

TEST_CASE("A wrapped function runs in its state in a thread pool") {
  c10::ThreadPool pool(1);
  torch::Dtype wrapped = torch::kFloat, bare = torch::kBFloat16;
  AutocastGuard autocast(cpu);

  pool.run(AutocastState::current().wrap([&] { wrapped = dtype_of_a_product(); }));
  pool.run([&] { bare = dtype_of_a_product(); });
  pool.waitWorkComplete();

  CHECK(wrapped == torch::kBFloat16);
  CHECK(bare == torch::kFloat);
}

TEST_CASE("A wrapped body of at::parallel_for computes in the region's dtype on every thread") {
  std::vector<torch::Dtype> seen(8, torch::kFloat);
  AutocastGuard autocast(cpu);

  at::parallel_for(0, 8, 1, AutocastState::current().wrap([&](int64_t begin, int64_t end) {
    for (auto i = begin; i < end; ++i) seen[i] = dtype_of_a_product();
  }));

  CHECK(seen == std::vector<torch::Dtype>(8, torch::kBFloat16));
}

TEST_CASE("A wrapped function takes and returns references and move-only values") {
  const auto state = state_with(torch::kHalf);

  int value = 1;
  CHECK(&state.wrap([](int& argument) -> int& { return argument; })(value) == &value);

  auto owner = std::make_unique<int>(7);
  auto move_only = state.wrap([owner = std::move(owner)](std::unique_ptr<int> other) {
    return std::make_unique<int>(*owner + *other);
  });
  CHECK(*move_only(std::make_unique<int>(1)) == 8);
  CHECK(*std::move(move_only)(std::make_unique<int>(2)) == 9);

  auto counter = state.wrap([count = 0]() mutable { return ++count; });
  CHECK(counter() == 1);
  CHECK(counter() == 2);

  auto future = std::async(std::launch::async, state.wrap(dtype_of_a_product));
  CHECK(future.get() == torch::kHalf);
}

TEST_CASE("A wrapped member function is called on the object that it is given") {
  struct Model {
    torch::Dtype forward() const { return dtype_of_a_product(); }
  };

  CHECK(state_with(torch::kHalf).wrap(&Model::forward)(Model()) == torch::kHalf);
}

TEST_CASE("A state replayed without gradients costs a later pass in the region none of its own") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  AutocastGuard autocast(cpu);
  {
    torch::NoGradGuard no_grad;
    AutocastStateGuard guard(AutocastState::current());
    torch::mm(weight, weight);
  }
  CHECK(torch::mm(weight, weight).requires_grad());

  AutocastStateGuard outside(AutocastState::current().disabled());
  AutocastGuard inner(cpu);
  {
    torch::NoGradGuard no_grad;
    torch::mm(weight, weight);
  }
  CHECK(torch::mm(weight, weight).requires_grad());
}
