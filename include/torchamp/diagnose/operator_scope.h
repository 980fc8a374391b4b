// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What an `OperatorScope` tells of each call in it: of an operator (at::RecordScope::FUNCTION), of
/// a node of the backward pass (BACKWARD_FUNCTION), and of a scope that the user named
/// (USER_SCOPE). Calls nest, and those of one thread end in the reverse order of their beginning; a
/// call that throws ends too. `call.name()` is "aten::mul", "MulBackward0", or the user's name.
///
/// Threads: both functions are called on the thread that makes the call, on several at once if
/// backward does; an observer with state has a lock.
/// Exceptions: better not to throw. LibTorch logs it and goes on, and the other observers hear of
/// the call all the same.
class OperatorObserver {
 public:
  virtual ~OperatorObserver() = default;

  /// Before the call. What it returns, or nullptr, is handed to `finished()`. `call.outputs()` is
  /// empty here; `inputs` are what the call was given, and gone when this returns.
  virtual std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                                       c10::ArrayRef<const c10::IValue> inputs) = 0;

  /// After the call, or when it throws. `outputs` is empty for what throws, for backward nodes,
  /// and for the user's scopes; `call.inputs()` must not be read here.
  virtual void finished(const at::RecordFunction& call, const std::vector<c10::IValue>& outputs,
                        at::ObserverContext* context) = 0;

  /// Called at the end of each `named_call()`, outside of LibTorch's callbacks: the one place where
  /// an observer may stop the program's step with an exception.
  virtual void may_throw() {}

  /// False promises that neither `started()` nor `finished()` calls an operator. To hide those that
  /// they call, LibTorch makes its lists of callbacks anew, which takes longer than all the rest.
  /// Asked once, when a scope begins.
  virtual bool calls_operators() const { return true; }
};

/// While it lives, `observer` hears of the calls that this thread makes, and of those that backward
/// passes started by this thread make on other threads. Other threads are not seen.
///
///     torchamp::OperatorScope scope(std::make_shared<CountOperators>());
///     train_step();
///
/// Scopes nest; the inner one's observer and the outer one's both hear each call. Operators that an
/// observer calls are seen by nobody. Costs two calls of each observer an operator while alive, and
/// nothing otherwise. Works beside LibTorch's profiler and torchamp's probes, as long as what began
/// last ends first: LibTorch keeps one stack of them for each thread.
class OperatorScope {
 public:
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  /// Throws: [E08] if `observer` is null.
  [[nodiscard]] explicit OperatorScope(std::shared_ptr<OperatorObserver> observer);
  ~OperatorScope();

  // An observation is a scope of one thread.
  OperatorScope(const OperatorScope&) = delete;
  OperatorScope& operator=(const OperatorScope&) = delete;
  OperatorScope(OperatorScope&&) = delete;
  OperatorScope& operator=(OperatorScope&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  const bool outermost_;
  c10::DebugInfoGuard observers_;
  at::CallbackHandle callback_ = at::INVALID_CALLBACK_HANDLE;
};

namespace detail {

// Note [How a callback finds its observers]
// A callback is two plain functions, with no place for a pointer of ours, and backward takes the
// callbacks of a thread along to the threads that it uses. LibTorch's own profiler finds its state
// in ThreadLocalDebugInfo, which is taken along in the same way. So does this: the outermost scope
// of a thread adds the callback, and each scope adds a list of all observers to the debug info.

/// The observers of a thread, outermost first. Never changed once made.
class OperatorObservers : public c10::DebugInfoBase,
                          public std::enable_shared_from_this<OperatorObservers> {
 public:
  explicit OperatorObservers(std::vector<std::shared_ptr<OperatorObserver>> list)
      : list_(std::move(list)),
        call_operators_(std::any_of(list_.begin(), list_.end(), [](const auto& observer) {
          return observer->calls_operators();
        })) {}

  const std::vector<std::shared_ptr<OperatorObserver>>& list() const { return list_; }

  bool call_operators() const { return call_operators_; }

  /// Those of this thread, nullptr if there are none.
  static OperatorObservers* current() {
    return static_cast<OperatorObservers*>(
        c10::ThreadLocalDebugInfo::get(operator_observers_kind()));
  }

  /// Those of this thread and `observer`.
  static std::shared_ptr<OperatorObservers> with(std::shared_ptr<OperatorObserver> observer) {
    TORCHAMP_CHECK(E08, observer != nullptr,
                   "OperatorScope: the observer is a null pointer; give one that exists");
    std::vector<std::shared_ptr<OperatorObserver>> list;
    if (const auto* const outer = current()) list = outer->list();
    list.push_back(std::move(observer));
    return std::make_shared<OperatorObservers>(std::move(list));
  }

 private:
  const std::vector<std::shared_ptr<OperatorObserver>> list_;
  const bool call_operators_;
};

/// Belongs to one call: who heard of its start, and what they noted. Holds the observers, since a
/// call may end after the scope in which it started.
struct ObservedCall : at::ObserverContext {
  std::shared_ptr<OperatorObservers> observers;
  std::vector<std::unique_ptr<at::ObserverContext>> contexts;
  std::exception_ptr fault;  // the last that an observer has thrown
};

// Note [Reading inputs() in programs compiled without NDEBUG]
// RecordFunction::inputs() asserts a flag that LibTorch sets only if LibTorch was compiled without
// NDEBUG, which releases are not: a debug build of a program that calls it fails in every callback.
// The flag lies in bytes that are padding otherwise, so the member behind it is at the same place
// in both, and is read past the assertion. An explicit instantiation may name a private member.
template <auto Member>
struct InputsOfCall {
  friend c10::ArrayRef<const c10::IValue> inputs_of_call(const at::RecordFunction& call) {
    return call.*Member;
  }
};
c10::ArrayRef<const c10::IValue> inputs_of_call(const at::RecordFunction& call);
template struct InputsOfCall<&at::RecordFunction::inputs_>;

inline std::unique_ptr<at::ObserverContext> call_started(const at::RecordFunction& call) {
  auto* const observers = OperatorObservers::current();
  if (observers == nullptr) return nullptr;
  std::optional<at::DisableRecordFunctionGuard> unobserved;
  if (observers->call_operators()) unobserved.emplace();
  auto observed = std::make_unique<ObservedCall>();
  observed->observers = observers->shared_from_this();
  observed->contexts.reserve(observers->list().size());
  for (const auto& observer : observers->list()) {
    auto& context = observed->contexts.emplace_back();
    try {
      context = observer->started(call, inputs_of_call(call));
    } catch (...) {  // the others have heard of the start, and are to hear of the end
      observed->fault = std::current_exception();
    }
  }
  return observed;
}

inline void call_finished(const at::RecordFunction& call, at::ObserverContext* context) {
  auto* const observed = static_cast<ObservedCall*>(context);
  if (observed == nullptr) return;
  std::optional<at::DisableRecordFunctionGuard> unobserved;
  if (observed->observers->call_operators()) unobserved.emplace();
  // Innermost first, so that each sees the others' calls nest around its own.
  for (std::size_t i = observed->contexts.size(); i-- > 0;) {
    try {
      observed->observers->list()[i]->finished(call, call.outputs(), observed->contexts[i].get());
    } catch (...) {
      observed->fault = std::current_exception();
    }
  }
  if (observed->fault) std::rethrow_exception(observed->fault);  // LibTorch logs it
}

}  // namespace detail

inline OperatorScope::OperatorScope(std::shared_ptr<OperatorObserver> observer)
    : outermost_(detail::OperatorObservers::current() == nullptr),
      observers_(detail::operator_observers_kind(),
                 detail::OperatorObservers::with(std::move(observer))) {
  if (!outermost_) return;
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(detail::call_started, detail::call_finished)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                   at::RecordScope::USER_SCOPE}));
}

inline OperatorScope::~OperatorScope() {
  if (outermost_) at::removeCallback(callback_);
}

}  // namespace v0
}  // namespace torchamp
