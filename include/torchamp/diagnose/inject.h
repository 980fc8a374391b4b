// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/diagnose/injection.h>
#include <torchamp/diagnose/named_tensors.h>
#include <torchamp/diagnose/operator_scope.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// While it lives, puts an inf, or another value, into the gradient that a backward pass brings to
/// a parameter, to see what a program makes of it.
///
///     torchamp::GradientInjection fault(*model, "conv2.weight", torchamp::Injection().call(3));
///     train();  // with inf in that gradient in the third backward pass
///
/// It is a hook of the tensor: the value goes into what this pass adds to `grad()`, still
/// multiplied by the scale. A call is a backward pass that reaches the tensor. Any tensor that
/// requires gradients will do, an activation too. Costs a look at a counter for each pass.
class GradientInjection {
 public:
  /// Host sync: none.   Threads: any; backward may use others.
  /// Throws: [E31] for a tensor without gradients, an element that it has not, a call, a step or a
  /// number of times that makes no sense. Later, out of backward(), for an element that a sparse
  /// gradient has not.
  [[nodiscard]] explicit GradientInjection(const at::Tensor& tensor, Injection injection = {});

  /// The parameter called `name` of a module, or of parameters with their names.
  /// Throws: [E31] also if there is none of that name.
  template <class Model>
  [[nodiscard]] GradientInjection(Model&& model, const std::string& name, Injection injection = {})
      : GradientInjection(parameter_called(name, detail::named_parameters_of(model)),
                          std::move(injection)) {}

  ~GradientInjection();

  /// The next step begins: see `Injection::step()`.
  void next_step() { plan_->next_step(); }

  /// How often the value was put in.
  int64_t injected() const { return plan_->injected(); }

  // A fault is put in for as long as a scope lasts.
  GradientInjection(const GradientInjection&) = delete;
  GradientInjection& operator=(const GradientInjection&) = delete;
  GradientInjection(GradientInjection&&) = delete;
  GradientInjection& operator=(GradientInjection&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  static at::Tensor parameter_called(const std::string& name,
                                     const detail::NamedTensors& parameters);

  at::Tensor tensor_;
  std::decay_t<decltype(tensor_.grad_fn())> node_;  // that made it; in-place operators make another
  std::shared_ptr<detail::InjectionPlan> plan_;
  unsigned hook_ = 0;
};

namespace detail {
class OutputPoisoner;
}

/// While it lives, puts an inf, or another value, into what an operator returns.
///
///     torchamp::OutputInjection fault("aten::convolution", torchamp::Injection().call(2));
///
/// A call is one that the program makes, on this thread or in a backward pass that it starts; what
/// autocast, or the operator itself, calls by the same name inside of it is no call of its own. Nor
/// are those of an operator that returns nothing, as aten::_foreach_mul_.
/// The value is put into the memory, past autograd, as if the operator had computed it: it is there
/// in backward too, if the result was saved. What an in-place operator, or a view, shares with
/// other tensors, they show as well. Beside a tracer, make the tracer first, so that it looks at
/// what was put in. Costs what an OperatorScope does.
class OutputInjection {
 public:
  /// `name` as LibTorch has it, "aten::exp", without the overload.   Host sync: none.
  /// Threads: ends on the thread that began, innermost first of all scopes that observe operators.
  /// Throws: [E31] for a name that no operator has, an element, a call, a step or a number of times
  /// that makes no sense. What the operator's output cannot take, as an element beyond its end,
  /// gives a warning, since LibTorch lets no exception through there; `injected()` then stays as it
  /// was.
  [[nodiscard]] explicit OutputInjection(const std::string& name, Injection injection = {});

  /// The next step begins: see `Injection::step()`.
  void next_step() { plan_->next_step(); }

  /// How often the value was put in.
  int64_t injected() const { return plan_->injected(); }

  // A fault is put in for as long as a scope lasts.
  OutputInjection(const OutputInjection&) = delete;
  OutputInjection& operator=(const OutputInjection&) = delete;
  OutputInjection(OutputInjection&&) = delete;
  OutputInjection& operator=(OutputInjection&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  std::shared_ptr<detail::InjectionPlan> plan_;
  OperatorScope scope_;
};

namespace detail {

/// True if LibTorch, or another library, has an operator of this name, whatever its overloads.
inline bool is_operator(const std::string& name) {
  const auto names = c10::Dispatcher::singleton().getAllOpNames();
  return std::any_of(names.begin(), names.end(),
                     [&](const c10::OperatorName& known) { return known.name == name; });
}

/// Hears of operators, and changes what the chosen one returns.
class OutputPoisoner final : public OperatorObserver {
 public:
  OutputPoisoner(std::string name, std::shared_ptr<InjectionPlan> plan)
      : name_(std::move(name)), plan_(std::move(plan)) {}

  std::unique_ptr<at::ObserverContext> started(
      const at::RecordFunction& call, c10::ArrayRef<const c10::IValue> /*inputs*/) override {
    if (call.scope() != at::RecordScope::FUNCTION || name_ != call.name()) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    ++depth_[std::this_thread::get_id()];
    return std::make_unique<Called>();
  }

  void finished(const at::RecordFunction& /*call*/, const std::vector<c10::IValue>& outputs,
                at::ObserverContext* context) override {
    if (context == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (--depth_[std::this_thread::get_id()] > 0) return;
      depth_.erase(std::this_thread::get_id());
    }
    if (!outputs.empty() && plan_->is_due()) poison(outputs);
  }

 private:
  struct Called : at::ObserverContext {};

  void poison(const std::vector<c10::IValue>& outputs) const {
    std::vector<at::Tensor> tensors;
    for (const auto& output : outputs) {
      if (output.isTensor()) tensors.push_back(output.toTensor());
      if (output.isTensorList()) {
        for (const at::Tensor& tensor : output.toTensorVector()) tensors.push_back(tensor);
      }
    }
    try {
      const auto place = static_cast<std::size_t>(plan_->injection().output());
      TORCHAMP_CHECK(E31, place < tensors.size(), "OutputInjection: ", name_, " has ",
                     tensors.size(), " outputs, none with the number ", place);
      plan_->put_into(tensors[place], "OutputInjection: the output of " + name_);
    } catch (const c10::Error& error) {
      TORCH_WARN(error.what_without_backtrace());
    }
  }

  const std::string name_;
  const std::shared_ptr<InjectionPlan> plan_;
  std::mutex mutex_;
  std::unordered_map<std::thread::id, int64_t> depth_;  // of calls of this name, on each thread
};

}  // namespace detail

inline GradientInjection::GradientInjection(const at::Tensor& tensor, Injection injection)
    : tensor_(tensor),
      node_(tensor.defined() ? tensor.grad_fn() : nullptr),
      plan_(std::make_shared<detail::InjectionPlan>(std::move(injection), "GradientInjection")) {
  TORCHAMP_CHECK(E31, tensor.defined() && tensor.requires_grad(),
                 "GradientInjection: the tensor does not require gradients; give one that does");
  detail::check_element(plan_->injection(), tensor.numel(), "GradientInjection: the tensor");
  hook_ = tensor.register_hook([plan = plan_](const at::Tensor& gradient) -> at::Tensor {
    if (!gradient.defined() || !plan->is_due()) return {};
    const at::Tensor copy = gradient.clone();  // another may hold the original
    plan->put_into(copy, "GradientInjection: the gradient");
    return copy;
  });
}

inline GradientInjection::~GradientInjection() {
  plan_->end();  // in case the hook is no longer where it was put
  try {
    // With a new node the list of hooks began anew: this one's place may be another's.
    if (tensor_.grad_fn() == node_) tensor_.remove_hook(hook_);
  } catch (const std::exception&) {  // it is gone already, as after detach_()
  }
}

inline at::Tensor GradientInjection::parameter_called(const std::string& name,
                                                      const detail::NamedTensors& parameters) {
  at::Tensor found;
  std::string names;
  for (const auto& [known, parameter] : parameters) {
    if (known == name) found = parameter;
    names += (names.empty() ? "" : ", ") + known;
  }
  TORCHAMP_CHECK(E31, found.defined(), "GradientInjection: no parameter is called \"", name,
                 "\"; there are: ", names);
  return found;
}

inline OutputInjection::OutputInjection(const std::string& name, Injection injection)
    : plan_(std::make_shared<detail::InjectionPlan>(std::move(injection), "OutputInjection")),
      scope_([&] {
        TORCHAMP_CHECK(E31, detail::is_operator(name), "OutputInjection: \"", name,
                       "\" is no operator's name; write it as \"aten::exp\", without an overload");
        return std::make_shared<detail::OutputPoisoner>(name, plan_);
      }()) {}

}  // namespace v0
}  // namespace torchamp
