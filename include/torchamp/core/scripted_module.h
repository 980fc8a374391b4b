// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A scripted or traced module on which autocast regions act as they do on eager code.
///
///     torchamp::ScriptedModule model(torch::jit::load("model.pt"));
///     torchamp::AutocastGuard autocast(device);
///     auto output = model.forward({input}).toTensor();
///
/// torch::jit::Module itself does not obey regions. What it compiles in its first region has that
/// region's dtype built in: a later region of another dtype computes in the wrong one, or backward
/// throws. And it has its own list of which operators are cast, made for CUDA, for every device.
/// This runs the same code operator by operator, so results and gradients are eager ones, bit for
/// bit, in every dtype and outside regions too. The price is TorchScript's fusion of operators.
///
/// Casts that were traced, because a region was open while the module was traced, stay: they are
/// part of its code. Calls through a TorchScript interface, and torch.jit.fork, are run by
/// TorchScript in its own way.
class ScriptedModule {
 public:
  /// Takes the methods as they are now; parameters are shared with `module`.
  explicit ScriptedModule(torch::jit::Module module);

  /// Host sync: none of its own.   Threads: several may call at once.
  /// Throws: [E21] if there is no method `forward`.
  c10::IValue forward(std::vector<c10::IValue> inputs,
                      const torch::jit::Kwargs& named_inputs = {}) const {
    return run_method("forward", std::move(inputs), named_inputs);
  }

  /// Throws: [E21] if there is no such method; it lists those that there are.
  c10::IValue run_method(const std::string& name, std::vector<c10::IValue> inputs,
                         const torch::jit::Kwargs& named_inputs = {}) const;

  /// The module itself: for its parameters, `train()`, `to()`, `save()`.
  torch::jit::Module& module() { return module_; }
  const torch::jit::Module& module() const { return module_; }

 private:
  struct Method {
    torch::jit::Function* function;
    torch::jit::Code code;
  };

  torch::jit::Module module_;
  std::map<std::string, Method> methods_;
};

inline ScriptedModule::ScriptedModule(torch::jit::Module module) : module_(std::move(module)) {
  for (const auto& method : module_.get_methods()) {
    const auto graph = method.graph()->copy();
    torch::jit::Inline(*graph);  // else the functions that it calls would run as TorchScript does
    methods_.emplace(method.name(),
                     Method{&method.function(), torch::jit::Code(graph, method.name())});
  }
}

inline c10::IValue ScriptedModule::run_method(const std::string& name,
                                              std::vector<c10::IValue> inputs,
                                              const torch::jit::Kwargs& named_inputs) const {
  const auto method = methods_.find(name);
  if (method == methods_.end()) {
    std::string names;
    for (const auto& known : methods_) names += (names.empty() ? "" : ", ") + known.first;
    TORCHAMP_CHECK(E21, false, "ScriptedModule: the module has no method ", name,
                   "; it has: ", names.empty() ? "none" : names);
  }
  inputs.insert(inputs.begin(), module_._ivalue());
  method->second.function->getSchema().checkAndNormalizeInputs(inputs, named_inputs);
  torch::jit::InterpreterState(method->second.code).run(inputs);
  return std::move(inputs.front());
}

}  // namespace v0
}  // namespace torchamp
