// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
// How calls become rows, dtypes, bytes and times. Casts are in op_stats_test.cpp.
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/named_scope.h>
#include <torchamp/diagnose/op_stats_observer.h>

#include "diagnose/op_stats_rows.h"
#include "support/doctest.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

using torchamp::OpStatsReport;
using torchamp::detail::OpStatsObserver;

namespace {

OpStatsReport count(const std::function<void()>& step) {
  const auto observer = std::make_shared<OpStatsObserver>();
  const torchamp::OperatorScope scope(observer);
  step();
  return observer->report();
}

double sum_of_times(const OpStatsReport& report) {
  return std::accumulate(report.rows.begin(), report.rows.end(), report.casts().seconds,
                         [](double sum, const auto& row) { return sum + row.seconds; });
}

/// An operator whose kernel runs a backward pass.
torch::Tensor gradient_of_square(const torch::Tensor& x) {
  const at::AutoGradMode with_grad(true);
  const auto leaf = x.detach().requires_grad_();
  leaf.mul(leaf).sum().backward();
  return leaf.grad();
}

torch::Tensor call(const char* name, const torch::Tensor& x) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<torch::Tensor(const torch::Tensor&)>()
      .call(x);
}

// Two that autocast knows of, as those of other libraries may be.

torch::Tensor twice(const torch::Tensor& x) { return x + x; }

/// Casts, and casts the result back.
torch::Tensor twice_in_autocast(const torch::Tensor& x) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const auto lower = at::autocast::cached_cast(torch::kBFloat16, x, torch::kCPU);
  return call("op_stats_test::twice", lower).to(torch::kFloat);
}

/// Makes a cast that it does not hand on.
torch::Tensor wasteful_in_autocast(const torch::Tensor& x) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  x.to(torch::kDouble);
  return call("op_stats_test::wasteful", x);
}

}  // namespace

TORCH_LIBRARY(op_stats_test, library) {
  library.def("gradient_of_square(Tensor x) -> Tensor", gradient_of_square);
  library.def("twice(Tensor x) -> Tensor", twice);
  library.def("wasteful(Tensor x) -> Tensor", twice);
}
TORCH_LIBRARY_IMPL(op_stats_test, AutocastCPU, library) {
  library.impl("twice", twice_in_autocast);
  library.impl("wasteful", wasteful_in_autocast);
}

TEST_CASE("What an operator calls is part of it, in a scope with a name too") {
  const auto x = torch::ones({4});

  const auto report = count([&] {
    const torchamp::NamedScope scope("part");
    torch::ones_like(x);  // calls empty_like and fill_
  });

  CHECK(rows_of(report) == Rows{{"aten::ones_like Float", 1, 16}});
}

TEST_CASE("What a backward node calls is asked for by the node") {
  const auto x = torch::ones({4}, torch::requires_grad());
  const auto y = x.exp();

  const auto report = count([&] { y.backward(torch::ones({4})); });

  CHECK(row_of(report, "aten::mul").calls == 1);  // gradient times result
  CHECK(row_of(report, "aten::mul").bytes == 16);
}

TEST_CASE("The dtype is the result's; without one the inputs'; without any none") {
  const auto half = torch::ones({4}, torch::kHalf);
  const auto whole = torch::ones({4}, torch::kLong);

  const auto report = count([&] {
    half.gt(0);                      // a bool
    half.sum(torch::kFloat);         //
    whole.add(whole);                //
    half.view({2, 2})[0][0].item();  // a number
    whole.numel();                   // no operator
    torch::randperm(3);              //
  });

  CHECK(row_of(report, "aten::gt", torch::kHalf).calls == 1);
  CHECK(row_of(report, "aten::sum", torch::kFloat).calls == 1);
  CHECK(row_of(report, "aten::add", torch::kLong).calls == 1);
  CHECK(row_of(report, "aten::item", torch::kHalf).calls == 1);
  CHECK(row_of(report, "aten::randperm", torch::kLong).calls == 1);
}

TEST_CASE("Bytes are of what an operator made or changed, in place, by out and by foreach") {
  auto x = torch::ones({4});
  auto out = torch::empty({4});
  std::vector<torch::Tensor> list{x, out};

  const auto report = count([&] {
    x.t();
    x.add_(1);
    torch::cos_out(out, x);
    torch::_foreach_mul_(list, 2);
    torch::_foreach_mul(list, 2);
    x.detach();
  });

  CHECK(row_of(report, "aten::t").bytes == 0);
  CHECK(row_of(report, "aten::add_").bytes == 16);
  CHECK(row_of(report, "aten::cos").bytes == 16);
  CHECK(row_of(report, "aten::_foreach_mul_").bytes == 32);
  CHECK(row_of(report, "aten::_foreach_mul").bytes == 32);
  CHECK(row_of(report, "aten::detach").bytes == 0);
}

TEST_CASE("The times of rows and casts add up to the time in operators") {
  const auto x = torch::ones({64, 64}, torch::requires_grad());

  const auto report = count([&] {
    torch::Tensor y;
    {
      const torchamp::AutocastGuard autocast(torch::kCPU, torch::kBFloat16);
      y = torch::linear(x, x).exp();
    }
    y.sum().backward();
    call("op_stats_test::gradient_of_square", x);
  });

  CHECK(report.casts().seconds > 0);
  CHECK(report.lower_seconds > 0);
  CHECK(report.lower_seconds < report.seconds);
  CHECK(sum_of_times(report) == doctest::Approx(report.seconds).epsilon(1e-9));
}

TEST_CASE("Each moment counts once, however many operators are running in one another") {
  const auto half = torch::ones({1 << 20}, torch::kBFloat16);

  const auto start = std::chrono::steady_clock::now();
  const auto report =
      count([&] { torch::softmax(half, 0, torch::kFloat); });  // to in to in softmax
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;

  CHECK(report.seconds <= passed.count());
}

TEST_CASE("Time in lower precision is all of it, none, or that of the inner operators") {
  const auto half = torch::ones({64}, torch::kBFloat16);

  CHECK(count([&] { half.neg(); }).lower_share() == 1.0);
  CHECK(count([&] { half.to(torch::kFloat).neg(); }).lower_share() == 0.0);
  // Its result is float32, and so is its row; what it calls first is not.
  const auto mixed = count([&] { torch::softmax(half.clone(), 0, torch::kFloat); });
  CHECK(*mixed.lower_share() > 0);
  CHECK(*mixed.lower_share() < 1);
}

TEST_CASE("A backward pass inside of an operator is asked for by nobody, and its time is once") {
  const auto x = torch::ones({4});

  const auto report = count([&] { call("op_stats_test::gradient_of_square", x); });

  CHECK(row_of(report, "op_stats_test::gradient_of_square").calls == 1);
  CHECK(row_of(report, "aten::mul").calls == 2);  // by the node, one for each factor
  // Their sum, by the engine, which does it in place where it may.
  CHECK(row_of(report, "aten::add").calls + row_of(report, "aten::add_").calls == 1);
  CHECK(sum_of_times(report) == doctest::Approx(report.seconds).epsilon(1e-9));
}

TEST_CASE("Another library's operator that autocast knows of is seen to be cast for") {
  const auto weight = torch::ones({4}, torch::requires_grad());
  const torchamp::AutocastGuard autocast(
      torch::kCPU, torchamp::AutocastOptions(torch::kBFloat16).cache_enabled(true));

  const auto report = count([&] {
    call("op_stats_test::twice", weight);
    call("op_stats_test::twice", weight);
  });

  CHECK(rows_of(report) == Rows{{"op_stats_test::twice Float", 2, 32}});
  CHECK(casts_of(report.casts_to_lower) == Casts{1, 8});
  CHECK(casts_of(report.casts_to_wider) == Casts{2, 32});
  CHECK(report.cached_casts == 1);
}

TEST_CASE("A cast that is not handed on is a cast, and does not count against the cache") {
  const auto x = torch::ones({4});
  const torchamp::AutocastGuard autocast(torch::kCPU, torch::kBFloat16);

  const auto report = count([&] { call("op_stats_test::wasteful", x); });

  CHECK(casts_of(report.casts_to_wider) == Casts{1, 32});
  CHECK(report.cached_casts == 0);
  CHECK(report.cached_casts_bytes == 0);
}

TEST_CASE("An operator on an accelerator is noticed; the meta device is none") {
  CHECK_FALSE(count([] { torch::ones({2}).neg(); }).on_accelerator);
  CHECK_FALSE(count([] { torch::ones({2}, torch::kMeta).neg(); }).on_accelerator);

  // A call as an operator on such a device makes it.
  const auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), caffe2::TypeMeta::Make<float>(),
      c10::Device(c10::DeviceType::PrivateUse1, 0));
  const auto& schema = c10::Dispatcher::singleton().findSchemaOrThrow("aten::neg", "").schema();
  const std::vector<c10::IValue> inputs{tensor};
  const auto report = count([&] {
    at::RecordFunction record(at::RecordScope::FUNCTION);
    record.before(std::cref(schema), c10::ArrayRef<const c10::IValue>(inputs.data(), 1));
  });
  CHECK(report.on_accelerator);
  CHECK(row_of(report, "aten::neg", torch::kFloat).calls == 1);
  CHECK_FALSE(report.lower_share());
}

TEST_CASE("A call that ends after its scope does no harm") {
  const auto x = torch::ones({4});
  auto observer = std::make_shared<OpStatsObserver>();
  std::unique_ptr<at::RecordFunction> late;
  {
    const torchamp::OperatorScope scope(observer);
    late = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    late->before("late");
    x.neg();
  }
  late.reset();

  CHECK(row_of(observer->report(), "aten::neg").calls == 1);
}
