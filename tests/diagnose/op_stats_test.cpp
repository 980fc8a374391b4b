// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/linear.h>
#include <torchamp/diagnose/non_finite_tracer.h>
#include <torchamp/diagnose/op_stats.h>
#include <torchamp/probe/memory.h>

#include "diagnose/op_stats_rows.h"
#include "support/doctest.h"
#include "support/operators.h"

#include <torch/csrc/autograd/profiler_legacy.h>

#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using torchamp::AutocastGuard;
using torchamp::OpStats;
using torchamp::OpStatsReport;

static_assert(!std::is_copy_constructible_v<OpStats>);
static_assert(!std::is_move_constructible_v<OpStats>);

namespace {

torchamp::AutocastOptions bf16() {
  return torchamp::AutocastOptions(torch::kBFloat16).cache_enabled(true);
}

OpStatsReport count(const std::function<void()>& step) {
  const OpStats stats;
  step();
  return stats.report();
}

bool anyone_listens() {
  return at::hasThreadLocalCallbacks() || torchamp::detail::OperatorObservers::current() != nullptr;
}

}  // namespace

TEST_CASE("A small net in a bfloat16 region gives exactly these rows, casts and reuses") {
  torchamp::Linear layer(torch::nn::LinearOptions(4, 4).bias(false));  // 16 numbers
  const auto x = torch::ones({2, 4});                                  // 8 numbers
  torch::Tensor loss;
  const OpStats stats;
  {
    const AutocastGuard autocast(torch::kCPU, bf16());
    const auto hidden = torch::relu(layer(x));
    loss = torch::mse_loss(layer(hidden), x);
  }
  const OpStatsReport report = stats.report();

  CHECK(rows_of(report) == Rows{{"aten::linear BFloat16", 2, 32},  // 2 x 4 numbers of 2 bytes each
                                {"aten::relu BFloat16", 1, 16},    //
                                {"aten::mse_loss Float", 1, 4}});
  CHECK(report.calls() == 4);
  CHECK(report.lower_calls() == 3);
  CHECK(casts_of(report.casts_to_lower) == Casts{2, 16 + 32});  // x and the weight
  CHECK(casts_of(report.casts_to_wider) == Casts{1, 32});       // what mse_loss gets
  CHECK(report.cached_casts == 1);                              // the weight, in the second layer
  CHECK(report.cached_casts_bytes == 32);
  CHECK(casts_of(report.casts_back) == Casts{0, 0});
  CHECK(casts_of(report.other_casts) == Casts{0, 0});

  loss.backward();

  // The gradients of what mse_loss got, and of the weight, once, however often it was used.
  CHECK(casts_of(stats.report().casts_back) == Casts{2, 16 + 64});
  CHECK(casts_of(stats.report().other_casts) == Casts{0, 0});
  CHECK(row_of(stats.report(), "aten::to").calls == 0);
}

TEST_CASE("Without a region there are no casts, and an operator's inner calls are no rows") {
  const auto x = torch::ones({2, 4});
  const auto weight = torch::ones({3, 4});

  const auto report = count([&] { torch::linear(x, weight); });

  CHECK(rows_of(report) == Rows{{"aten::linear Float", 1, 24}});
  CHECK(report.lower_calls() == 0);
  CHECK(report.casts().calls == 0);
  CHECK(report.cached_casts == 0);
}

TEST_CASE(
    "A region that ends forgets its casts; one outside of the scope leaves them to be reused") {
  const auto x = torch::ones({2, 4}, torch::kBFloat16);
  const auto weight = torch::ones({3, 4}, torch::requires_grad());
  const auto use = [&] { torch::linear(x, weight); };

  const auto twice = count([&] {
    for (int i = 0; i < 2; ++i) {
      const AutocastGuard autocast(torch::kCPU, bf16());
      use();
    }
  });
  CHECK(twice.casts_to_lower.calls == 2);
  CHECK(twice.cached_casts == 0);

  const AutocastGuard autocast(torch::kCPU, bf16());
  use();
  const auto later = count(use);
  CHECK(later.casts_to_lower.calls == 0);
  CHECK(later.cached_casts == 1);
  CHECK(later.cached_casts_bytes == 24);
}

TEST_CASE("Only parameters are cached: an input that is used twice is cast twice") {
  const auto x = torch::ones({4, 4});
  const auto weight = torch::ones({4, 4}, torch::requires_grad());
  const AutocastGuard autocast(torch::kCPU, bf16());

  const auto report = count([&] {
    torch::mm(x, x);
    torch::mm(weight, weight);
  });

  CHECK(report.casts_to_lower.calls == 3);
  CHECK(report.cached_casts == 1);
  CHECK(report.cached_casts_bytes == 32);
}

TEST_CASE("Without the cache every use casts, and none is counted as reused") {
  const auto weight = torch::ones({4, 4}, torch::requires_grad());
  const AutocastGuard autocast(torch::kCPU, bf16().cache_enabled(false));

  const auto report = count([&] { torch::mm(weight, weight); });

  CHECK(report.casts_to_lower.calls == 2);
  CHECK(report.cached_casts == 0);
}

TEST_CASE("The program's own casts are told from autocast's, forward and backward") {
  const auto x = torch::ones({4}, torch::requires_grad());
  const OpStats stats;
  {
    const AutocastGuard autocast(torch::kCPU, bf16());
    x.to(torch::kBFloat16).sum().backward();
  }
  const auto report = stats.report();

  CHECK(report.casts().calls == 0);
  CHECK(casts_of(report.other_casts) == Casts{2, 8 + 16});
  CHECK(row_of(report, "aten::to", torch::kBFloat16).bytes == 8);
  CHECK(row_of(report, "aten::to", torch::kFloat).bytes == 16);
}

TEST_CASE("What to() does not convert is no cast: the same dtype, a copy, a number") {
  const auto x = torch::ones({4});

  const auto report = count([&] {
    x.to(torch::kFloat);
    x.to(torch::kCPU, torch::kFloat, false, /*copy=*/true);
    torch::ones({}).to(torch::kBFloat16);
  });

  CHECK(report.other_casts.calls == 0);
  CHECK(row_of(report, "aten::to", torch::kFloat).calls == 2);
  CHECK(row_of(report, "aten::to", torch::kFloat).bytes == 16);  // of the copy
}

TEST_CASE("A cast inside of an operator is another cast, and no row of its own") {
  const auto x = torch::ones({4}, torch::kBFloat16);

  const auto report = count([&] { torch::softmax(x, 0, torch::kFloat); });

  CHECK(rows_of(report) == Rows{{"aten::softmax Float", 1, 16}});
  CHECK(casts_of(report.other_casts) == Casts{1, 16});
}

TEST_CASE("Tensors in lists are cast, and seen to be") {
  const auto lower = torch::ones({2}, torch::kBFloat16);
  const auto wide = torch::ones({3});
  const AutocastGuard autocast(torch::kCPU, bf16());

  const auto report = count([&] { torch::cat({lower, wide, lower}); });

  CHECK(casts_of(report.casts_to_wider) == Casts{2, 16});
  CHECK(rows_of(report) == Rows{{"aten::cat Float", 1, 28}});
  CHECK(report.cached_casts == 0);
}

TEST_CASE("A gradient is cast back each time that backward runs") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const OpStats stats;
  torch::Tensor loss;
  {
    const AutocastGuard autocast(torch::kCPU, bf16());
    loss = torch::mm(torch::ones({2, 2}), weight).sum();
  }
  loss.backward({}, /*keep_graph=*/true);
  CHECK(casts_of(stats.report().casts_back) == Casts{1, 16});
  loss.backward();
  CHECK(casts_of(stats.report().casts_back) == Casts{2, 32});
}

TEST_CASE("A cast without a gradient has no node, and takes no other's") {
  const auto weight = torch::ones({2, 2}, torch::kBFloat16).requires_grad_();
  const OpStats stats;
  torch::Tensor loss;
  {
    const AutocastGuard autocast(torch::kCPU, bf16());
    loss = torch::mm(torch::ones({2, 2}), weight).sum();
  }
  loss.backward();

  CHECK(casts_of(stats.report().casts_to_lower) == Casts{1, 8});
  CHECK(casts_of(stats.report().casts_back) == Casts{0, 0});
  CHECK(row_of(stats.report(), "aten::mm", torch::kBFloat16).calls == 2);
}

TEST_CASE("A custom autograd function's casts, which it makes itself, are other casts") {
  const auto x = torch::ones({4});
  const AutocastGuard autocast(torch::kCPU, bf16());

  const auto report = count([&] { at::autocast::cached_cast(torch::kBFloat16, x, torch::kCPU); });

  CHECK(report.casts().calls == 0);
  CHECK(casts_of(report.other_casts) == Casts{1, 8});
}

TEST_CASE("After a scope nothing listens, also if it was left by an exception") {
  REQUIRE_FALSE(anyone_listens());
  { const OpStats stats; }
  CHECK_FALSE(anyone_listens());

  CHECK_THROWS([] {
    const OpStats outer;
    const OpStats inner;
    throw std::runtime_error("a step that failed");
  }());
  CHECK_FALSE(anyone_listens());
}

TEST_CASE("An operator that throws counts, and what follows is counted as ever") {
  const auto x = torch::ones({2, 3});
  const AutocastGuard autocast(torch::kCPU, bf16());
  const OpStats stats;

  CHECK_THROWS(torch::mm(x, x));
  torch::relu(x);

  CHECK(row_of(stats.report(), "aten::mm", torch::kFloat).calls == 1);
  CHECK(row_of(stats.report(), "aten::mm", torch::kFloat).bytes == 0);
  CHECK(row_of(stats.report(), "aten::relu", torch::kFloat).bytes == 24);
  CHECK(stats.report().casts_to_lower.calls == 2);  // they were made
}

TEST_CASE("Scopes nest: both count what the inner one holds") {
  const auto x = torch::ones({2});
  const OpStats outer;
  x.neg();
  {
    const OpStats inner;
    x.neg();
    CHECK(row_of(inner.report(), "aten::neg").calls == 1);
  }
  x.neg();

  CHECK(row_of(outer.report(), "aten::neg").calls == 3);
}

TEST_CASE("Several threads at once count each their own, and share nothing but the cache") {
  std::vector<OpStatsReport> reports(4);
  std::vector<std::thread> threads;
  for (auto& report : reports) {
    threads.emplace_back([&report] {
      const auto weight = torch::ones({4, 4}, torch::requires_grad());
      const OpStats stats;
      for (int i = 0; i < 50; ++i) {
        torch::Tensor loss;
        {
          const AutocastGuard autocast(torch::kCPU, bf16());
          loss = torch::mm(torch::ones({4, 4}), weight).sum();
        }
        loss.backward();
      }
      report = stats.report();
    });
  }
  for (auto& thread : threads) thread.join();

  for (const auto& report : reports) {
    CHECK(row_of(report, "aten::mm", torch::kBFloat16).calls == 2 * 50);  // forward and backward
    CHECK(report.casts_to_lower.calls == 2 * 50);
    CHECK(report.casts_back.calls == 50);
  }
}

TEST_CASE("One scope is told by several threads at once, as by those of backward") {
  const OpStats stats;
  const at::ThreadLocalState state;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&state] {
      const at::ThreadLocalStateGuard guard(state);
      const auto weight = torch::ones({4, 4}, torch::requires_grad());
      for (int j = 0; j < 50; ++j) torch::linear(torch::ones({4, 4}), weight).sum().backward();
    });
  }
  for (auto& thread : threads) thread.join();

  const auto report = stats.report();
  CHECK(row_of(report, "aten::linear").calls == 200);
  CHECK(row_of(report, "aten::linear").bytes == 200 * 64);
  CHECK(row_of(report, "aten::addmm").calls == 0);
}

TEST_CASE("Casts are known in a backward pass on another thread") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const OpStats stats;
  torch::Tensor loss;
  {
    const AutocastGuard autocast(torch::kCPU, bf16());
    loss = torch::mm(torch::ones({2, 2}), weight).sum();
  }
  const at::ThreadLocalState state;
  std::thread([&] {
    const at::ThreadLocalStateGuard guard(state);
    loss.backward();
  }).join();

  CHECK(stats.report().casts_back.calls == 1);
}

TEST_CASE("The profiler, a memory probe and a tracer see beside it what they see alone") {
  using namespace torch::autograd::profiler;
  const auto x = torch::full({2, 2}, 30000.0F);
  const OpStats outer;
  const torchamp::NonFiniteTracer tracer;
  const OpStats inner;
  {
    const torchamp::MemoryProbe probe(torch::kCPU);
    x.neg();
    CHECK(probe.usage().peak_bytes == 16);
  }
  enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));
  x.to(torch::kHalf).exp();
  int seen = 0;
  for (const auto& events : disableProfilerLegacy()) {
    for (const auto& event : events) {
      seen += std::string(event.name()) == "aten::exp" && event.kind() == EventKind::PushRange;
    }
  }
  CHECK(seen == 1);
  REQUIRE(tracer.first());
  CHECK(tracer.first()->op == "aten::exp");
  for (const OpStats* stats : {&outer, &inner}) {
    CHECK(row_of(stats->report(), "aten::neg").calls == 1);
    CHECK(row_of(stats->report(), "aten::exp", torch::kHalf).bytes == 8);
  }
}

TEST_CASE("It calls no operator that the program does not call") {
  const auto x = torch::ones({2, 2});
  OperatorCounter operators;
  const auto step = [&] {
    const AutocastGuard autocast(torch::kCPU, bf16());
    torch::mm(x, x);
  };
  step();
  const int alone = operators.more();

  count(step);

  CHECK(operators.more() == alone);
}

TEST_CASE("It prints what it has counted, also while it counts") {
  const OpStats stats;
  torch::ones({2}).neg();
  std::ostringstream text;
  text << stats;
  CHECK(text.str().find("aten::neg") != std::string::npos);
  CHECK(text.str() == stats.report().to_text());
}
