// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/operator_scope.h>

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// A part of the program with a name, by which diagnostics, and LibTorch's profiler, call it.
///
///     torchamp::NamedScope scope("encoder");
///
/// Scopes nest. Costs a look at a thread's callbacks, and nothing more if nobody observes.
class NamedScope {
 public:
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  [[nodiscard]] explicit NamedScope(const char* name) : call_(at::RecordScope::USER_SCOPE) {
    if (call_.isActive()) call_.before(name);
  }
  [[nodiscard]] explicit NamedScope(const std::string& name) : NamedScope(name.c_str()) {}

  /// True if somebody observes, so that the name matters.
  static bool observed() {
    return at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE).has_value();
  }

  // A scope is a part of the stack.
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;
  NamedScope(NamedScope&&) = delete;
  NamedScope& operator=(NamedScope&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  at::RecordFunction call_;
};

/// Calls `child->forward(inputs...)` in a scope of the name that `child` is registered by in
/// `parent`. LibTorch's modules have no hooks that could do this for them. In a `forward()`:
///
///     x = torchamp::named_call(*this, conv2, x);  // in a scope "conv2"
///
/// A child that is not registered in `parent` has the name of its type.
/// Host sync: none.   Throws: as [E32], what a tracer that is asked to throw has found and not
/// thrown yet.
template <class Parent, class Child, class... Inputs>
auto named_call(const Parent& parent, Child&& child, Inputs&&... inputs);

/// Calls the modules of a `torch::nn::Sequential` one after the other, each in a scope of its name.
/// As `sequential->forward<Result>(inputs...)` otherwise.
/// Host sync: none.   Throws: as `named_call()`.
template <class Result = at::Tensor, class Sequential, class... Inputs>
Result named_forward(Sequential&& sequential, Inputs&&... inputs);

namespace detail {

/// Lets observers throw, which they cannot do while LibTorch calls them.
inline void let_observers_throw() {
  const auto* const observers = OperatorObservers::current();
  if (observers == nullptr) return;
  for (const auto& observer : observers->list()) observer->may_throw();
}

/// The name that `child` is registered by in `parent`, or that of its type.
template <class Parent, class Module>
std::string registered_name(const Parent& parent, const Module& child) {
  const auto children = parent.named_children();
  for (const auto& item : children) {
    if (item.value().get() == std::addressof(child)) return item.key();
  }
  return child.name();
}

/// Calls the function, then lets observers throw.
template <class Function>
auto called_in_scope(const std::string& name, const Function& function) {
  if constexpr (std::is_void_v<decltype(function())>) {
    {
      const NamedScope scope(name);
      function();
    }
    let_observers_throw();
  } else {
    auto result = [&] {
      const NamedScope scope(name);
      return function();
    }();
    let_observers_throw();
    return result;
  }
}

/// The last value that the modules of `sequential` make, as a torch::nn::AnyValue.
template <class Impl, class... Inputs>
auto any_value_of(Impl& sequential, Inputs&&... inputs)
    -> decltype(sequential.begin()->any_forward(std::forward<Inputs>(inputs)...)) {
  const auto children = sequential.named_children();
  std::size_t next = 0;  // among the children, of which a derived class may have others too
  const auto call = [&](std::size_t place, auto&&... arguments) {
    auto& module = *(sequential.begin() + static_cast<std::ptrdiff_t>(place));
    const auto child = module.ptr();
    while (next < children.size() && children[next].value() != child) ++next;
    const auto name = next < children.size() ? children[next++].key() : child->name();
    return called_in_scope(
        name, [&] { return module.any_forward(std::forward<decltype(arguments)>(arguments)...); });
  };
  auto value = call(0, std::forward<Inputs>(inputs)...);
  for (std::size_t place = 1; place < sequential.size(); ++place) {
    value = call(place, std::move(value));
  }
  return value;
}

}  // namespace detail

template <class Parent, class Child, class... Inputs>
auto named_call(const Parent& parent, Child&& child, Inputs&&... inputs) {
  if (!NamedScope::observed()) return child->forward(std::forward<Inputs>(inputs)...);
  return detail::called_in_scope(detail::registered_name(parent, *child),
                                 [&] { return child->forward(std::forward<Inputs>(inputs)...); });
}

template <class Result, class Sequential, class... Inputs>
Result named_forward(Sequential&& sequential, Inputs&&... inputs) {
  if (!NamedScope::observed() || sequential->is_empty()) {
    return sequential->template forward<Result>(std::forward<Inputs>(inputs)...);
  }
  return detail::any_value_of(*sequential, std::forward<Inputs>(inputs)...).template get<Result>();
}

}  // namespace v0
}  // namespace torchamp
