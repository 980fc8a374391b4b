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

// What diagnoses cost: forward and backward of a model in float32, without one, after one has
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

template <class Model>
Case diagnosis_case(const std::string& name, Model model, Batch batch) {
  namespace F = torch::nn::functional;
  auto step = [=]() mutable {
    model->zero_grad();
    F::cross_entropy(model->forward(batch.inputs), batch.labels).backward();
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
  const auto what = words_of(name).at(2);
  if (what == "none") return {step, nullptr};
  if (what == "tracer") return {traced, nullptr};
  if (what == "op_stats") return {counted, nullptr};
  if (what == "dry_run") return {dry, nullptr};
  if (what == "scope") {
    return {[=]() mutable {
              const torchamp::OperatorScope scope(std::make_shared<Listener>());
              step();
            },
            nullptr};
  }
  if (what == "after") {
    traced();
    counted();
    dry();
    return {step, nullptr};
  }
  no_such_case(name);
}

/// diagnose/cnn|mlp/none|after|scope|tracer|op_stats|dry_run
inline Case diagnosis_case(const std::string& name) {
  if (words_of(name).size() != 3) no_such_case(name);
  return with_model(
      name, [&](auto model, Batch batch) { return diagnosis_case(name, model, std::move(batch)); });
}

}  // namespace benchmarks
