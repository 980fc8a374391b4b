// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/cast_nodes.h>
#include <torchamp/diagnose/each_tensor.h>
#include <torchamp/diagnose/op_stats_call.h>
#include <torchamp/diagnose/op_stats_counts.h>
#include <torchamp/diagnose/op_stats_report.h>
#include <torchamp/diagnose/operator_facts.h>
#include <torchamp/diagnose/operator_scope.h>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

// Note [How a cast of autocast's looks]
// An operator that autocast has a kernel for is called twice. The outer call is made while autocast
// is on. Its kernel turns autocast off, calls aten::to for each input that has to be cast, unless
// the cache has that cast, and then the same operator with what came out. So, directly inside of
// such an outer call, aten::to is autocast's; elsewhere it is not. Inputs whose dtype is another in
// the inner call were cast; those of them for which no aten::to was called came from the cache.
// In backward, aten::to undoes such a cast if it is called by the node that the cast has made.

// Note [Each moment once]
// A call's own time is what passes in it, but in none of the calls in it. It goes to the call's
// root: the operator that the program or a backward node called, or a cast by autocast. So the
// times of all rows and casts add up to the time in operators, also where an operator's kernel runs
// a backward pass.

/// Adds up what a scope runs.   Threads: any number, those of backward report as well.
class OpStatsObserver : public OperatorObserver {
 public:
  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& record,
                                               c10::ArrayRef<const c10::IValue> inputs) override {
    auto call = std::make_unique<OpStatsCall>();
    const std::lock_guard<std::mutex> lock(mutex_);
    begin(*call, record, inputs);
    call->start = Clock::now();
    return call;
  }

  void finished(const at::RecordFunction& record, const std::vector<c10::IValue>& outputs,
                at::ObserverContext* context) override {
    const auto now = Clock::now();
    if (context == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    end(*static_cast<OpStatsCall*>(context), record, outputs, now);
  }

  bool calls_operators() const override { return false; }

  OpStatsReport report() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_.report();
  }

 private:
  using Clock = OpStatsCall::Clock;
  using Part = OpStatsCall::Part;

  void begin(OpStatsCall& call, const at::RecordFunction& record,
             c10::ArrayRef<const c10::IValue> inputs);
  void choose_root(OpStatsCall& call, c10::ArrayRef<const c10::IValue> inputs);
  void count_cached_casts(const OpStatsCall& outer, c10::ArrayRef<const c10::IValue> inputs);
  void end(OpStatsCall& call, const at::RecordFunction& record,
           const std::vector<c10::IValue>& outputs, Clock::time_point now);
  void count_cast(const OpStatsCall& call, const at::RecordFunction& record,
                  const at::Tensor& result);

  mutable std::mutex mutex_;
  OpStatsCounts counts_;
  CastNodes cast_nodes_;
  std::unordered_map<uint64_t, OpStatsCall*> threads_;  // the innermost call of each
  std::map<c10::DeviceType, OperatorFactsTable> facts_;
};

inline void OpStatsObserver::begin(OpStatsCall& call, const at::RecordFunction& record,
                                   c10::ArrayRef<const c10::IValue> inputs) {
  call.innermost = &threads_[at::RecordFunction::currentThreadId()];
  call.outer = *call.innermost;
  *call.innermost = &call;
  if (record.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    call.undoes_cast = cast_nodes_.has(record.forwardThreadId(), record.seqNr());
    return;
  }
  auto device = c10::kCPU;
  for_each_tensor_in(inputs, [&](const at::Tensor& tensor) {
    if (device == c10::kCPU) device = tensor.device().type();
  });
  const auto& facts = facts_.try_emplace(device, device).first->second.of(record);
  if (facts.name.empty()) {
    // A part that has a name; or the engine, which is part of nothing, whoever called it.
    const bool engine = std::strncmp(record.name(), "autograd::engine::", 18) == 0;
    if (!engine && call.outer != nullptr) call.root = call.outer->root;
    return;
  }
  call.op = &facts;
  call.dtype = leading_dtype(inputs);
  if (device != c10::kCPU && device != c10::kMeta) counts_.on_accelerator = true;
  // What has no size is a number, as the 2 of `tensor * 2`.
  if (facts.cast && inputs[0].toTensor().dim() > 0) {
    call.cast_from = inputs[0].toTensor().scalar_type();
  }
  choose_root(call, inputs);
  if (facts.hides_autocast() && at::autocast::is_autocast_enabled(device)) {
    call.autocast = true;
    for_each_tensor_in(
        inputs, [&](const at::Tensor& tensor) { call.dtypes.push_back(tensor.scalar_type()); });
  }
}

/// See Note [How a cast of autocast's looks].
inline void OpStatsObserver::choose_root(OpStatsCall& call,
                                         c10::ArrayRef<const c10::IValue> inputs) {
  OpStatsCall* const outer = call.outer;
  call.root = &call;
  if (outer != nullptr && outer->autocast) {
    if (outer->op == call.op) count_cached_casts(*outer, inputs);
    if (call.op->conversion) {
      call.part = Part::Cast;
      return;
    }
  }
  if (outer != nullptr && outer->root != nullptr) {
    call.root = outer->root;
  } else if (outer != nullptr && outer->undoes_cast) {
    call.part = Part::CastBack;
  } else {
    call.read_memory(inputs);
  }
}

/// Of a call by autocast, in the one that it decides about: which inputs have another dtype now.
inline void OpStatsObserver::count_cached_casts(const OpStatsCall& outer,
                                                c10::ArrayRef<const c10::IValue> inputs) {
  std::size_t place = 0;
  int64_t casts = 0;
  int64_t bytes = 0;
  for_each_tensor_in(inputs, [&](const at::Tensor& tensor) {
    const bool cast = place < outer.dtypes.size() && tensor.scalar_type() != outer.dtypes[place];
    ++place;
    if (!cast) return;
    ++casts;
    bytes += bytes_of(tensor);
  });
  if (casts <= outer.casts) return;  // it may cast what it does not hand on
  counts_.cached_casts += casts - outer.casts;
  counts_.cached_casts_bytes += bytes - outer.cast_bytes;
}

inline void OpStatsObserver::end(OpStatsCall& call, const at::RecordFunction& record,
                                 const std::vector<c10::IValue>& outputs, Clock::time_point now) {
  const auto elapsed = now - call.start;
  const auto own = elapsed - call.inside;
  *call.innermost = call.outer;
  if (call.outer != nullptr) call.outer->inside += elapsed;
  if (call.root == nullptr) return;
  call.root->own += own;
  counts_.time += own;
  if (call.op == nullptr) return;

  const bool one_result = !outputs.empty() && outputs[0].isTensor();  // false if it threw
  auto dtype = leading_dtype(outputs);
  if (!has_decimals(dtype) && call.dtype != c10::ScalarType::Undefined) dtype = call.dtype;
  if (call.root->part != Part::Row) {
    if (call.root == &call && one_result) count_cast(call, record, outputs[0].toTensor());
    return;
  }
  if (is_lower_precision(dtype)) counts_.lower_time += own;
  if (call.cast_from != c10::ScalarType::Undefined && one_result) {
    const at::Tensor& result = outputs[0].toTensor();
    if (result.scalar_type() != call.cast_from) counts_.other_casts.add(bytes_of(result), elapsed);
  }
  if (call.root != &call) return;
  counts_.row(*call.op, dtype).add(call.bytes(outputs), call.own);
  for_each_tensor_in(outputs, [&](const at::Tensor& result) {
    if (!result.is_cpu() && !result.is_meta()) counts_.on_accelerator = true;
  });
}

inline void OpStatsObserver::count_cast(const OpStatsCall& call, const at::RecordFunction& record,
                                        const at::Tensor& result) {
  const int64_t bytes = bytes_of(result);
  if (call.part == Part::CastBack) {
    counts_.casts_back.add(bytes, call.own);
    return;
  }
  const bool lower = is_lower_precision(result.scalar_type());
  (lower ? counts_.casts_to_lower : counts_.casts_to_wider).add(bytes, call.own);
  ++call.outer->casts;
  call.outer->cast_bytes += bytes;
  // The number that was next when the cast began is that of the node that it made, if it made one.
  if (result.requires_grad()) {
    cast_nodes_.add(at::RecordFunction::currentThreadId(), record.seqNr());
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
