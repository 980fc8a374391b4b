// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/operator_scope.h>
#include <torchamp/diagnose/traced_operator.h>

#include "support/doctest.h"

#include <memory>
#include <string>
#include <vector>

using torchamp::detail::TracedOperator;
using torchamp::detail::TracedOperators;

namespace {

/// What is known of the first operator, or other call, that `function` makes.
template <class Function>
TracedOperator first_in(const Function& function, std::vector<std::string> allowed = {}) {
  struct First : torchamp::OperatorObserver {
    explicit First(std::vector<std::string> names) : operators(std::move(names)) {}
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                                 c10::ArrayRef<const c10::IValue>) override {
      const auto& op = operators.of(call);
      same_again = same_again && &op == &operators.of(call);
      if (calls++ == 0) found = op;
      return nullptr;
    }
    void finished(const at::RecordFunction&, const std::vector<c10::IValue>&,
                  at::ObserverContext*) override {}
    TracedOperators operators;
    TracedOperator found;
    int calls = 0;
    bool same_again = true;
  };
  const auto first = std::make_shared<First>(std::move(allowed));
  torchamp::OperatorScope scope(first);
  function();
  CHECK(first->calls > 0);
  CHECK(first->same_again);
  return first->found;
}

using Flags = std::vector<char>;

}  // namespace

TEST_CASE("An operator's schema says what it changes") {
  auto x = torch::ones({2});

  const auto add = first_in([&] { x.add(1); });
  CHECK(add.known);
  CHECK(add.name == "aten::add");
  CHECK_FALSE(add.writes);
  CHECK(add.arguments.front() == "self");

  const auto in_place = first_in([&] { x.add_(x); });
  CHECK(in_place.writes);
  CHECK(in_place.written == Flags{1, 0, 0});
  CHECK(in_place.ignored == Flags{0, 0, 0});
}

TEST_CASE("To change a tensor's shape is not to write to it") {
  auto x = torch::ones({2, 3});

  CHECK_FALSE(first_in([&] { x.t_(); }).writes);
  CHECK_FALSE(first_in([&] { x.unsqueeze_(0); }).writes);
  CHECK_FALSE(first_in([&] { x.as_strided_({2}, {1}); }).writes);
}

TEST_CASE("Batch norm changes its running statistics, whatever its schema says") {
  const auto x = torch::ones({3, 2});
  const auto mean = torch::zeros({2});
  const auto variance = torch::ones({2});

  const auto norm = first_in([&] {
    torch::batch_norm(x, {}, {}, mean, variance, true, 0.1, 1e-5, /*cudnn_enabled=*/false);
  });

  CHECK(norm.writes);
  CHECK(norm.arguments[3] == "running_mean");
  CHECK(norm.written == Flags{0, 0, 0, 1, 1, 0, 0, 0, 0});
  CHECK_FALSE(norm.ignores(3));
}

TEST_CASE("What is overwritten is not read") {
  auto x = torch::ones({2});

  CHECK(first_in([&] { x.fill_(1); }).ignores(0));
  CHECK(first_in([&] { x.copy_(x); }).ignored == Flags{1, 0, 0});
  CHECK(first_in([&] { torch::neg_out(x, x); }).ignored == Flags{0, 1});
  CHECK_FALSE(first_in([&] { x.mul_(2); }).ignores(0));
  CHECK_FALSE(first_in([&] { x.mul_(2); }).ignores(99));
}

TEST_CASE("Memory without values, casts and allowed operators are known by name") {
  auto x = torch::ones({2});

  CHECK(first_in([&] { torch::empty({2}); }).uninitialised);
  CHECK(first_in([&] { torch::empty_like(x); }).uninitialised);
  CHECK(first_in([&] { x.new_empty({2}); }).uninitialised);
  CHECK_FALSE(first_in([&] { torch::ones({2}); }).uninitialised);
  CHECK(first_in([&] { x.clone(); }).cast);
  CHECK_FALSE(first_in([&] { x.neg(); }).cast);
  CHECK(first_in([&] { x.log(); }, {"aten::log"}).allowed);
  CHECK_FALSE(first_in([&] { x.log2(); }, {"aten::log"}).allowed);
}

TEST_CASE("A named part of the program is no operator") {
  CHECK_FALSE(first_in([] { RECORD_USER_SCOPE("mine"); }).known);
}
