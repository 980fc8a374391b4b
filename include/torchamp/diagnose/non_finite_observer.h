// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/diagnose/forward_calls.h>
#include <torchamp/diagnose/memory_marks.h>
#include <torchamp/diagnose/non_finite_finding.h>
#include <torchamp/diagnose/non_finite_judge.h>
#include <torchamp/diagnose/non_finite_kinds.h>
#include <torchamp/diagnose/non_finite_tracer_options.h>
#include <torchamp/diagnose/operator_scope.h>
#include <torchamp/diagnose/tensor_names.h>
#include <torchamp/diagnose/traced_call.h>
#include <torchamp/diagnose/traced_operator.h>

#include <ATen/SequenceNumber.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/util/ArrayRef.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Looks for the origin of inf and NaN in what an OperatorScope tells.
class NonFiniteObserver : public OperatorObserver {
 public:
  explicit NonFiniteObserver(NonFiniteTracerOptions options)
      : options_(std::move(options)), operators_(options_.allowed()) {}

  /// To be told of the registered names before the scope begins.
  TensorNames& names() { return judge_.names; }

  /// In the order in which they came about.   Threads: any.
  std::vector<NonFiniteFinding> findings() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return judge_.store.findings();
  }

  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                               c10::ArrayRef<const c10::IValue> inputs) override;
  void finished(const at::RecordFunction& call, const std::vector<c10::IValue>& outputs,
                at::ObserverContext* context) override;
  void may_throw() override {
    if (options_.on_finding() == OnNonFinite::Throw) throw_first_of(take_fresh());
  }

  /// Throws: [E32] if there is a finding.
  void throw_if_any() const { throw_first_of(findings()); }

 private:
  static void throw_first_of(const std::vector<NonFiniteFinding>& found) {
    TORCHAMP_CHECK(E32, found.empty(), "NonFiniteTracer: ", found.front().to_text());
  }
  std::vector<NonFiniteFinding> take_fresh() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return judge_.store.take_fresh();
  }
  bool describe(TracedCall& traced, const at::RecordFunction& call);
  void leave(TracedCall& traced);
  void finish_operator(TracedCall& traced, const std::vector<c10::IValue>& outputs);
  void note_forward(TracedCall& traced, const std::vector<at::Tensor>& results);
  const ForwardCall* forward_of(const TracedCall& traced) const;
  void warn();

  const NonFiniteTracerOptions options_;
  std::atomic<bool> done_{false};
  mutable std::mutex mutex_;  // guards what follows
  TracedOperators operators_;
  std::unordered_map<uint64_t, ThreadCalls> threads_;
  NonFiniteJudge judge_;
  int64_t calls_ = 0;
};

inline std::unique_ptr<at::ObserverContext> NonFiniteObserver::started(
    const at::RecordFunction& call, c10::ArrayRef<const c10::IValue> inputs) {
  if (done_) return nullptr;
  auto traced = std::make_unique<TracedCall>();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!describe(*traced, call)) return nullptr;
  }
  if (traced->kind == TracedCall::Kind::Operator) traced->read_inputs(inputs);
  traced->thread->innermost = traced.get();
  return traced;
}

/// False if the call is of no interest.
inline bool NonFiniteObserver::describe(TracedCall& traced, const at::RecordFunction& call) {
  ThreadCalls& thread = threads_[at::RecordFunction::currentThreadId()];
  traced.thread = &thread;
  traced.outer = thread.innermost;
  traced.number = ++calls_;
  if (call.scope() == at::RecordScope::USER_SCOPE) {
    traced.kind = TracedCall::Kind::UserScope;
    traced.outer_scopes = thread.scopes;
    thread.scopes = std::make_shared<ScopePath>(ScopePath{call.name(), thread.scopes});
    return true;
  }
  if (call.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    traced.kind = TracedCall::Kind::Node;
    traced.node = {call.name(), call.seqNr(), call.forwardThreadId()};
    return true;
  }
  traced.below_autograd = is_below_autograd();
  const auto* const caller = traced.calling_operator();
  if (caller != nullptr && traced.below_autograd && !caller->below_autograd) return false;
  traced.op = &operators_.of(call);
  traced.sequence_number = call.seqNr();
  if (traced.op->known) return true;
  const std::string name = call.name();
  const std::string engine = "autograd::engine::evaluate_function: ";
  if (name.rfind(engine, 0) != 0) return false;
  traced.kind = TracedCall::Kind::Engine;
  traced.node.name = name.substr(engine.size());
  return true;
}

inline void NonFiniteObserver::finished(const at::RecordFunction& /*call*/,
                                        const std::vector<c10::IValue>& outputs,
                                        at::ObserverContext* context) {
  auto* const traced = static_cast<TracedCall*>(context);
  if (traced == nullptr) return;
  {
    struct Leave {  // also if a tensor cannot be looked at, which LibTorch logs
      ~Leave() { observer->leave(*traced); }
      NonFiniteObserver* observer;
      TracedCall* traced;
    };
    const Leave leave{this, traced};
    if (traced->kind == TracedCall::Kind::Operator && !done_) finish_operator(*traced, outputs);
  }
  warn();
}

inline void NonFiniteObserver::leave(TracedCall& traced) {
  const std::lock_guard<std::mutex> lock(mutex_);
  TracedCall** place = &traced.thread->innermost;
  while (*place != nullptr && *place != &traced) place = &(*place)->outer;
  if (*place != nullptr) *place = traced.outer;
  if (traced.kind == TracedCall::Kind::UserScope) traced.thread->scopes = traced.outer_scopes;
  if (traced.kind != TracedCall::Kind::Node) return;
  judge_.store.node_ended(traced.number, judge_.marks);
  // What the engine does next, adding up and reducing gradients, is this node's too.
  if (traced.outer != nullptr && traced.outer->kind == TracedCall::Kind::Engine) {
    traced.outer->node = traced.node;
  }
}

inline void NonFiniteObserver::finish_operator(TracedCall& traced,
                                               const std::vector<c10::IValue>& outputs) {
  const auto results = traced.results(outputs);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    note_forward(traced, results);
    if (traced.op->uninitialised) {
      for (const auto& result : results) {
        if (has_kinds(result)) {
          judge_.marks.set(result, {MemoryMark::Reason::Uninitialised, -1, traced.number});
        }
      }
      return;
    }
  }
  std::vector<BadResult> bad;
  std::vector<char> finite(results.size(), 1);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!has_kinds(results[i])) continue;
    const auto kinds = traced.kinds_of_result(results[i]);
    if (!kinds.any()) continue;
    bad.push_back({results[i], kinds, i});
    finite[i] = 0;
  }
  for (auto& input : traced.inputs) {
    if (bad.empty() || input.kinds) continue;
    input.kinds = has_kinds(input.tensor) ? kinds_of(input.tensor) : NonFiniteKinds();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!bad.empty()) judge_.explain(traced, bad, forward_of(traced));
  // Only now: what was overwritten explains what came of it.
  for (std::size_t i = 0; i < results.size(); ++i) {
    judge_.marks.written(results[i], finite[i] != 0);
  }
}

/// Of the backward node that the call is part of, null if that was not seen.
inline const ForwardCall* NonFiniteObserver::forward_of(const TracedCall& traced) const {
  const auto* const backward = traced.backward();
  if (backward == nullptr || backward->node.sequence_number < 0) return nullptr;
  const auto thread = threads_.find(backward->node.forward_thread);
  if (thread == threads_.end()) return nullptr;
  return thread->second.forward.find(static_cast<uint64_t>(backward->node.sequence_number));
}

/// Which operator made which node, and what a cast parameter is called.
inline void NonFiniteObserver::note_forward(TracedCall& traced,
                                            const std::vector<at::Tensor>& results) {
  if (traced.op->cast && !traced.inputs.empty() && !results.empty()) {
    judge_.names.follow(traced.inputs.front().tensor, results.front());
  }
  if (traced.sequence_number < 0) return;
  const auto began_at = static_cast<uint64_t>(traced.sequence_number);
  const uint64_t next = at::sequence_number::peek();
  if (!traced.thread->forward.made_node(began_at, next)) return;
  ForwardCall forward;
  forward.op = traced.op->name;
  forward.scopes = traced.thread->scopes;
  for (const auto& input : traced.inputs) {
    if (forward.parameter == nullptr)
      forward.parameter = judge_.names.registered_name_of(input.tensor);
  }
  traced.thread->forward.record(began_at, next, std::move(forward));
}

inline void NonFiniteObserver::warn() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (judge_.store.confirmed() >= options_.max_findings()) done_ = true;
  }
  if (options_.on_finding() != OnNonFinite::Warn) return;
  for (const auto& finding : take_fresh())
    TORCH_WARN("torchamp: NonFiniteTracer: ", finding.to_text());
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
