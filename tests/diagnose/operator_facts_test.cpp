// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/operator_facts.h>
#include <torchamp/diagnose/operator_scope.h>

#include "support/doctest.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

using torchamp::AutocastPolicy;
using torchamp::detail::OperatorFacts;
using torchamp::detail::OperatorFactsTable;

namespace {

/// The facts of all operators that a function calls.
std::map<std::string, OperatorFacts> facts_in(const std::function<void()>& function) {
  struct Asker : torchamp::OperatorObserver {
    std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                                 c10::ArrayRef<const c10::IValue>) override {
      found[call.name()] = table.of(call);
      found[call.name()] = table.of(call);  // from the table now
      return nullptr;
    }
    void finished(const at::RecordFunction&, const std::vector<c10::IValue>&,
                  at::ObserverContext*) override {}
    OperatorFactsTable table{torch::kCUDA};
    std::map<std::string, OperatorFacts> found;
  };
  const auto asker = std::make_shared<Asker>();
  const torchamp::OperatorScope scope(asker);
  function();
  return asker->found;
}

}  // namespace

TEST_CASE("The policy of an operator decides whether autocast is off inside it") {
  const auto x = torch::ones({2, 2});
  auto facts = facts_in([&] {
    torch::mm(x, x);
    torch::relu(x);
  });

  CHECK(facts["aten::mm"].policy == AutocastPolicy::LowerPrecision);
  CHECK(facts["aten::mm"].hides_autocast());
  CHECK_FALSE(facts["aten::relu"].hides_autocast());
}

TEST_CASE("In-place operators and those with an out argument write to their inputs") {
  auto x = torch::ones({2});
  auto facts = facts_in([&] {
    x.mul_(x);
    x.t();
    torch::sin_out(x, torch::ones({2}));
    torch::cos(x);
  });

  CHECK(facts["aten::mul_"].writes_inputs);
  CHECK(facts["aten::sin"].writes_inputs);
  CHECK_FALSE(facts["aten::cos"].writes_inputs);
  CHECK_FALSE(facts["aten::t"].writes_inputs);
}

TEST_CASE("Which arguments an operator changes is known, and whether it returns them") {
  std::vector<torch::Tensor> list{torch::ones({2})};
  auto facts = facts_in([&] {
    torch::_foreach_mul_(list, 2);
    list[0].add_(list[0]);
    list[0].neg();
  });

  CHECK(facts["aten::_foreach_mul_"].written == std::vector<char>{1, 0});
  CHECK(facts["aten::_foreach_mul_"].returns_nothing);
  CHECK(facts["aten::add_"].written == std::vector<char>{1, 0, 0});
  CHECK_FALSE(facts["aten::add_"].returns_nothing);
  CHECK(facts["aten::neg"].written == std::vector<char>{0});
}

TEST_CASE("An operator is known by its name, and a conversion and its cast are known") {
  auto facts = facts_in([] { torch::ones({2}).to(torch::kHalf); });

  CHECK(facts["aten::to"].name == "aten::to");
  CHECK(facts["aten::to"].conversion);
  CHECK_FALSE(facts["aten::to"].cast);
  CHECK(facts["aten::_to_copy"].cast);
  CHECK_FALSE(facts["aten::_to_copy"].conversion);
}

TEST_CASE("Operators that make nothing yet, or a number that was named, are known") {
  auto facts = facts_in([] {
    torch::empty({2}).new_empty({2});
    torch::full({2}, 3);
    torch::rand({2});
  });

  CHECK(facts["aten::empty"].uninitialised);
  CHECK(facts["aten::new_empty"].uninitialised);
  CHECK(facts["aten::full"].constant);
  CHECK_FALSE(facts["aten::rand"].constant);
  CHECK_FALSE(facts["aten::rand"].uninitialised);
}

TEST_CASE("Nothing is known of what is no operator") {
  auto facts = facts_in([] { RECORD_USER_SCOPE("mine"); });

  CHECK(facts.count("mine") == 1);
  CHECK(facts["mine"].policy == AutocastPolicy::Unchanged);
  CHECK_FALSE(facts["mine"].writes_inputs);
  CHECK(facts["mine"].name.empty());
}
