// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/dry_run.h>
#include <torchamp/diagnose/non_finite_tracer.h>
#include <torchamp/diagnose/op_stats.h>
#include <torchamp/diagnose/operator_scope.h>

#include "case.h"
#include "training.h"

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

// What diagnoses cost: forward and backward of the SimpleCNN in float32, without one, after one has
// lived, and in one.
namespace benchmarks {

/// Hears of every operator and does nothing: what there is to pay before anything is looked at.
struct Listener : torchamp::OperatorObserver {
  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& /*call*/,
                                               c10::ArrayRef<const c10::IValue> /*in*/) override {
    return nullptr;
  }
  void finished(const at::RecordFunction& /*call*/, const std::vector<c10::IValue>& /*out*/,
                at::ObserverContext* /*context*/) override {}
};

/// diagnose/none, diagnose/after, diagnose/scope, diagnose/tracer, diagnose/op_stats,
/// diagnose/dry_run
inline Case diagnosis_case(const std::string& name) {
  namespace F = torch::nn::functional;
  auto model = examples::SimpleCnn();
  const auto inputs = torch::randn({16, 3, 32, 32});
  const auto labels = torch::randint(10, {16});
  auto step = [=]() mutable {
    model->zero_grad();
    F::cross_entropy(model->forward(inputs), labels).backward();
  };
  auto traced = [=]() mutable {
    const torchamp::NonFiniteTracer tracer(*model);
    step();
  };
  auto counted = [=]() mutable {
    const torchamp::OpStats stats;
    step();
  };
  auto dry = [=]() mutable { torchamp::dry_run(*model, step); };
  if (name == "diagnose/none") return {step, nullptr};
  if (name == "diagnose/tracer") return {traced, nullptr};
  if (name == "diagnose/op_stats") return {counted, nullptr};
  if (name == "diagnose/dry_run") return {dry, nullptr};
  if (name == "diagnose/scope") {
    return {[=]() mutable {
              const torchamp::OperatorScope scope(std::make_shared<Listener>());
              step();
            },
            nullptr};
  }
  if (name == "diagnose/after") {
    auto first = traced;
    first();
    auto second = counted;
    second();
    auto third = dry;
    third();
    return {step, nullptr};
  }
  no_such_case(name);
}

}  // namespace benchmarks
