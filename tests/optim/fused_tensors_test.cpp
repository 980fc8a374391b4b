// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/fused_tensors.h>

#include "support/doctest.h"

#include <mutex>
#include <set>
#include <thread>
#include <vector>

using torchamp::detail::FusedLists;
using torchamp::detail::FusedTensors;
using torchamp::detail::NewStepCounts;

namespace {

FusedTensors::Key cpu(bool is_small) { return {torch::kCPU, torch::kFloat, is_small, nullptr}; }

}  // namespace

TEST_CASE("A tensor is small below 65,536 elements, and only on a CPU") {
  CHECK(FusedTensors::is_small(torch::empty({65535})));
  CHECK_FALSE(FusedTensors::is_small(torch::empty({65536})));
  CHECK_FALSE(FusedTensors::is_small(torch::empty({1}, torch::kMeta)));
}

TEST_CASE("Every tensor is in one call, beside what belongs to it") {
  for (const bool is_small : {true, false}) {
    FusedTensors tensors(cpu(is_small));
    NewStepCounts counts;
    std::vector<torch::Tensor> moments;
    for (int i = 0; i < 7; ++i) moments.push_back(torch::full({1}, 10.0 * i));
    for (int i = 0; i < 7; ++i) {
      tensors.add(torch::full({1}, i), torch::full({1}, -i), {&moments[i], nullptr, nullptr},
                  counts.share(torch::kCPU, i).get());
    }
    std::mutex mutex;
    std::multiset<int> seen;

    tensors.run({}, {}, [&](const FusedLists& lists) {
      const std::lock_guard<std::mutex> lock(mutex);
      for (std::size_t i = 0; i < lists.params.size(); ++i) {
        const int number = lists.params[i].item<int>();
        seen.insert(number);
        CHECK(lists.grads[i].item<int>() == -number);
        CHECK(lists.moments[0][i].item<int>() == 10 * number);
        CHECK(lists.steps[i].item<int>() == number);
      }
      CHECK(lists.moments[1].empty());
      CHECK_FALSE(lists.found_inf);
      CHECK_FALSE(lists.grad_scale);
    });

    CHECK(seen == std::multiset<int>{0, 1, 2, 3, 4, 5, 6});
  }
}

TEST_CASE(
    "Small tensors are divided among the threads; large ones go to the operator in one call") {
  for (const bool is_small : {true, false}) {
    FusedTensors tensors(cpu(is_small));
    for (int i = 0; i < 8; ++i) tensors.add(torch::ones({1}), torch::ones({1}), {}, nullptr);
    std::mutex mutex;
    int calls = 0;

    tensors.run({}, {}, [&](const FusedLists& /*lists*/) {
      const std::lock_guard<std::mutex> lock(mutex);
      ++calls;
    });

    CHECK(calls == (is_small ? std::min(8, at::get_num_threads()) : 1));
  }
}

TEST_CASE("Whatever the thread, the kernel runs without gradient history") {
  FusedTensors tensors(cpu(true));
  for (int i = 0; i < 8; ++i) tensors.add(torch::ones({1}), torch::ones({1}), {}, nullptr);
  std::atomic<bool> with_history = false;

  tensors.run({}, {}, [&](const FusedLists& /*lists*/) {
    if (torch::GradMode::is_enabled()) with_history = true;
  });

  CHECK_FALSE(with_history);
}

TEST_CASE("A first step is possible as long as one count may be zero") {
  NewStepCounts counts;
  FusedTensors later(cpu(true)), maybe_first(cpu(true));
  later.add(torch::ones({1}), torch::ones({1}), {}, counts.share(torch::kCPU, 1).get());
  maybe_first.add(torch::ones({1}), torch::ones({1}), {}, counts.share(torch::kCPU, 1).get());
  maybe_first.add(torch::ones({1}), torch::ones({1}), {}, counts.share(torch::kCPU, 0).get());

  later.run({}, {}, [](const FusedLists& lists) { CHECK_FALSE(lists.is_first_step_possible); });
  maybe_first.run({}, {}, [](const FusedLists& lists) { CHECK(lists.is_first_step_possible); });
}
