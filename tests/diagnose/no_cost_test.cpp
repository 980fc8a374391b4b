// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
// A diagnosis that does not live costs nothing: LibTorch calls no callback, and a step dispatches
// the operators that it dispatches without torchamp.
#include <torchamp/diagnose/dry_run.h>
#include <torchamp/diagnose/named_scope.h>
#include <torchamp/diagnose/non_finite_tracer.h>
#include <torchamp/diagnose/op_stats.h>
#include <torchamp/diagnose/operator_scope.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <ATen/record_function.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// A step of training on a small net.
struct Step {
  torch::nn::Linear net{4, 3};
  torch::Tensor data = torch::ones({2, 4});

  void operator()() {
    net->zero_grad();
    net(data).sum().backward();
  }
};

int operators_of(Step& step) {
  OperatorCounter operators;
  step();
  return operators.more();
}

bool anyone_listens() {
  return at::hasCallbacks() ||
         at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value() ||
         at::getStepCallbacksUnlessEmpty(at::RecordScope::BACKWARD_FUNCTION).has_value() ||
         at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE).has_value();
}

struct Ignorant : torchamp::OperatorObserver {
  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction&,
                                               c10::ArrayRef<const c10::IValue>) override {
    return nullptr;
  }
  void finished(const at::RecordFunction&, const std::vector<c10::IValue>&,
                at::ObserverContext*) override {}
};

/// Every diagnosis of a whole step, by its name.
std::vector<std::pair<const char*, std::function<void(Step&)>>> diagnoses() {
  return {
      {"OperatorScope",
       [](Step& step) {
         const torchamp::OperatorScope scope(std::make_shared<Ignorant>());
         step();
       }},
      {"NonFiniteTracer",
       [](Step& step) {
         const torchamp::NonFiniteTracer tracer(*step.net);
         step();
       }},
      {"OpStats",
       [](Step& step) {
         const torchamp::OpStats stats;
         step();
       }},
      {"dry_run", [](Step& step) { torchamp::dry_run(step.net, step); }},
  };
}

}  // namespace

TEST_CASE("A step before, after and beside a diagnosis dispatches the same operators") {
  Step step;
  step();
  const int alone = operators_of(step);

  for (const auto& diagnosis : diagnoses()) {
    CAPTURE(diagnosis.first);
    int beside = 0;
    std::thread other;
    diagnosis.second(step);
    CHECK(operators_of(step) == alone);

    // On another thread, while the diagnosis lives on this one.
    const torchamp::OperatorScope scope(std::make_shared<Ignorant>());
    other = std::thread([&] {
      Step mine;
      mine();
      beside = operators_of(mine);
    });
    other.join();
    CHECK(beside == alone);
  }
}

TEST_CASE("A diagnosis adds no operator that others would count, while it lives") {
  Step step;
  step();
  const int alone = operators_of(step);

  for (const auto& diagnosis : diagnoses()) {
    CAPTURE(diagnosis.first);
    if (std::string(diagnosis.first) == "dry_run") continue;  // it copies the module's state
    OperatorCounter operators;
    diagnosis.second(step);
    CHECK(operators.more() == alone);
  }
}

TEST_CASE("Before a diagnosis, after it, and after one that threw, nobody listens") {
  Step step;
  CHECK_FALSE(anyone_listens());

  for (const auto& diagnosis : diagnoses()) {
    CAPTURE(diagnosis.first);
    diagnosis.second(step);
    CHECK_FALSE(anyone_listens());
    CHECK_THROWS(torchamp::dry_run(step.net, [] { throw std::runtime_error("stop"); }));
    CHECK_FALSE(anyone_listens());
  }
}

TEST_CASE("A named scope that nobody observes is no call") {
  CHECK_FALSE(torchamp::NamedScope::observed());
  OperatorCounter operators;
  { const torchamp::NamedScope scope("forward"); }
  CHECK(operators.more() == 0);
}
