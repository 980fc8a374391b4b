// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/finding_store.h>
#include <torchamp/diagnose/forward_calls.h>
#include <torchamp/diagnose/memory_marks.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/diagnose/non_finite_finding.h>
#include <torchamp/diagnose/non_finite_kinds.h>
#include <torchamp/diagnose/tensor_names.h>
#include <torchamp/diagnose/traced_call.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

// Note [Which call is blamed]
// Only results are looked at, once each; inputs when a result is bad, or when the call is about to
// overwrite them. What an operator's kernel calls, below autograd, is not looked at:
// "aten::_to_copy" is blamed, not the aten::copy_ in it. Of the calls above, the innermost is. An
// operator may make an inf on the way to a finite result, as logsumexp() does. So what is found
// inside another operator counts when the outermost one's result is bad too, and what is found in a
// backward node when something bad outlives the node; or else when another call reads it later.

/// A result that is not finite.
struct BadResult {
  at::Tensor tensor;
  NonFiniteKinds kinds;
  std::size_t place;  ///< among the results
};

using MarkReason = MemoryMark::Reason;

/// Decides what bad results are: a finding, what came of one, or on purpose.
/// Threads: one at a time.
struct NonFiniteJudge {
  TensorNames names;
  MemoryMarks marks;
  FindingStore store;

  /// To be told of the bad results of a call that ends, whose inputs were all looked at. `forward`
  /// is the operator that the backward node around it is of, if any.
  void explain(const TracedCall& traced, const std::vector<BadResult>& bad,
               const ForwardCall* forward);

 private:
  void mark(const TracedCall& traced, const std::vector<BadResult>& bad,
            const ForwardCall* forward);
  MemoryMark reason_for(const TracedCall& traced, const std::vector<BadResult>& bad,
                        const ForwardCall* forward);
  bool reads_memory_of_a_kernel(const TracedCall& traced) const;
  static bool is_mask(const TracedArgument& input);
  static bool is_allowed(const TracedCall& traced);
  int64_t add(NonFiniteFinding finding, const TracedCall& traced);
  NonFiniteFinding describe(const TracedCall& traced, NonFiniteFinding::Origin origin,
                            const std::vector<BadResult>& bad, const ForwardCall* forward) const;
};

inline void NonFiniteJudge::explain(const TracedCall& traced, const std::vector<BadResult>& bad,
                                    const ForwardCall* forward) {
  mark(traced, bad, forward);
  if (traced.calling_operator() == nullptr) {
    store.operator_ended_badly(traced.number, traced.node_number());
  }
}

inline void NonFiniteJudge::mark(const TracedCall& traced, const std::vector<BadResult>& bad,
                                 const ForwardCall* forward) {
  const bool known = std::all_of(bad.begin(), bad.end(), [&](const BadResult& result) {
    const auto* const known_mark = marks.find(result.tensor);
    // By a call in this one, which has explained it.
    return known_mark != nullptr && known_mark->made_at > traced.number &&
           known_mark->reason != MarkReason::Uninitialised;
  });
  if (known || reads_memory_of_a_kernel(traced)) return;
  const MemoryMark reason = reason_for(traced, bad, forward);
  for (const auto& result : bad) marks.set(result.tensor, reason);
}

inline MemoryMark NonFiniteJudge::reason_for(const TracedCall& traced,
                                             const std::vector<BadResult>& bad,
                                             const ForwardCall* forward) {
  const MemoryMark on_purpose{MarkReason::OnPurpose, -1, traced.number};
  const auto found = [&](int64_t finding) {
    return MemoryMark{MarkReason::Found, finding, traced.number};
  };
  const auto any_nan = [](const auto& range) {
    return std::any_of(range.begin(), range.end(), [](const auto& item) { return item.kinds.nan; });
  };
  std::vector<at::Tensor> unknown;
  std::vector<at::Tensor> uninitialised;
  bool mask = false;
  bool mask_has_nan = false;
  for (const auto& input : traced.inputs) {
    if (!input.kinds->any()) continue;
    const auto* const mark = marks.find(input.tensor);
    if (mark == nullptr || mark->reason == MarkReason::Uninitialised) {
      // The program may have written to memory without values, by other means than operators.
      if (is_mask(input)) {
        mask = true;
      } else {
        (mark == nullptr ? unknown : uninitialised).push_back(input.tensor);
      }
    } else if (mark->reason == MarkReason::Found) {
      store.read(mark->finding, traced.root().number, traced.node_number());
      return found(mark->finding);
    } else {
      mask = true;
      mask_has_nan = mask_has_nan || input.kinds->nan;
    }
  }
  if (is_allowed(traced)) return on_purpose;
  for (const auto* culprits : {&unknown, &uninitialised}) {
    if (culprits->empty()) continue;
    const auto origin = culprits == &unknown ? NonFiniteFinding::Origin::Input
                                             : NonFiniteFinding::Origin::Uninitialised;
    const auto mark = found(add(describe(traced, origin, bad, forward), traced));
    for (const auto& culprit : *culprits) marks.set(culprit, mark);
    return mark;
  }
  // Only somebody who means infinity writes an infinite number. NaN is data.
  const auto& numbers = traced.numbers;
  const bool meant = mask || numbers.positive_inf || numbers.negative_inf;
  if (mask_has_nan || (meant && !any_nan(bad))) return on_purpose;
  const auto origin =
      numbers.nan ? NonFiniteFinding::Origin::Input : NonFiniteFinding::Origin::Operator;
  return found(add(describe(traced, origin, bad, forward), traced));
}

/// In inference mode what a kernel calls is seen, what it writes by itself is not: the operator
/// that the kernel is of is judged instead.
inline bool NonFiniteJudge::reads_memory_of_a_kernel(const TracedCall& traced) const {
  if (!traced.below_autograd || traced.calling_operator() == nullptr) return false;
  const auto& given = traced.root().inputs;
  return std::any_of(traced.inputs.begin(), traced.inputs.end(), [&](const TracedArgument& input) {
    if (!input.kinds->any()) return false;
    const auto* const mark = marks.find(input.tensor);
    if (mark != nullptr && mark->reason != MarkReason::Uninitialised) return false;
    return std::none_of(given.begin(), given.end(), [&](const TracedArgument& argument) {
      return memory_of(argument.tensor) == memory_of(input.tensor);
    });
  });
}

/// Not made by an operator in the scope, -inf alone in what is not trained is a mask.
inline bool NonFiniteJudge::is_mask(const TracedArgument& input) {
  if (input.kinds->nan) return false;
  // A number of the program, of which LibTorch has made a tensor.
  if (input.tensor.unsafeGetTensorImpl()->is_wrapped_number()) return true;
  return !input.kinds->positive_inf && !input.tensor.requires_grad();
}

inline bool NonFiniteJudge::is_allowed(const TracedCall& traced) {
  for (const auto* call = &traced; call != nullptr; call = call->calling_operator()) {
    if (call->op->allowed) return true;
  }
  return false;
}

inline int64_t NonFiniteJudge::add(NonFiniteFinding finding, const TracedCall& traced) {
  store.sweep_if_many(marks);  // in evaluation no node ends
  return store.add(std::move(finding), traced.root().number, traced.node_number());
}

inline NonFiniteFinding NonFiniteJudge::describe(const TracedCall& traced,
                                                 NonFiniteFinding::Origin origin,
                                                 const std::vector<BadResult>& bad,
                                                 const ForwardCall* forward) const {
  NonFiniteFinding finding;
  finding.origin = origin;
  finding.op = traced.op->name;
  for (const auto* call = traced.calling_operator(); call != nullptr;
       call = call->calling_operator()) {
    // Autocast calls the operator that it has cast for.
    const std::string& inner = finding.called_by.empty() ? finding.op : finding.called_by.front();
    if (call->op->name != inner)
      finding.called_by.insert(finding.called_by.begin(), call->op->name);
  }
  finding.scopes = names_in(traced.thread->scopes.get());
  for (const auto& input : traced.inputs) {
    const auto* const registered = names.registered_name_of(input.tensor);
    if (registered != nullptr && finding.parameter.empty()) finding.parameter = *registered;
    if (traced.op->ignores(input.argument)) continue;
    std::optional<double> largest;
    if (!input.written && !input.kinds->any() && has_kinds(input.tensor)) {
      largest = largest_finite(input.tensor);
    }
    finding.inputs.push_back({traced.op->arguments[input.argument], names.name_of(input.tensor),
                              input.tensor.scalar_type(), input.tensor.sizes().vec(), *input.kinds,
                              largest});
  }
  for (const auto& result : bad) {
    const auto name = result.place == 0 ? "result" : "result " + std::to_string(result.place);
    auto report = find_non_finite({{name, result.tensor}});
    for (auto& tensor : report.tensors) finding.results.push_back(std::move(tensor));
  }
  const auto* const backward = traced.backward();
  if (backward == nullptr) return finding;
  finding.node = backward->node.name;
  finding.has_forward = backward->node.sequence_number >= 0;
  if (forward == nullptr) return finding;
  finding.forward_op = forward->op;
  finding.forward_scopes = names_in(forward->scopes.get());
  if (forward->parameter != nullptr) finding.forward_parameter = *forward->parameter;
  return finding;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
