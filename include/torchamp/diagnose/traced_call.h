// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/each_tensor.h>
#include <torchamp/diagnose/forward_calls.h>
#include <torchamp/diagnose/non_finite_kinds.h>
#include <torchamp/diagnose/tensor_names.h>
#include <torchamp/diagnose/traced_operator.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/DispatchKey.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/intrusive_ptr.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Of a number among an operator's arguments; none of what is no number.
inline NonFiniteKinds kinds_of_number(const c10::IValue& value) {
  NonFiniteKinds kinds;
  if (!value.isDouble()) return kinds;
  const double number = value.toDouble();
  uint64_t bits = 0;  // compared as an integer, whatever the compiler was told about infinity
  std::memcpy(&bits, &number, sizeof bits);
  kinds.positive_inf = bits == 0x7ff0000000000000;
  kinds.negative_inf = bits == 0xfff0000000000000;
  kinds.nan = (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  return kinds;
}

/// True inside the kernel of an operator, where autograd does not look any more.
inline bool is_below_autograd() {
  return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradOther);
}

inline bool is_among(const std::vector<const c10::StorageImpl*>& sorted,
                     const c10::StorageImpl* memory) {
  return std::binary_search(sorted.begin(), sorted.end(), memory, std::less<>());
}

struct TracedArgument {
  at::Tensor tensor;
  std::size_t argument;                 // its place in the schema
  bool written;                         // by the operator
  std::optional<NonFiniteKinds> kinds;  // before the call, if that had to be looked at
};

/// What was seen of a tensor.
struct LookedAt {
  c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
  uint32_t version;
  NonFiniteKinds kinds;
};

struct TracedCall;

/// The calls of one thread.
struct ThreadCalls {
  TracedCall* innermost = nullptr;
  std::shared_ptr<const ScopePath> scopes;
  ForwardCalls forward;
};

/// The backward node that a call is, or is part of.
struct TracedNode {
  std::string name;  // "" for none
  int64_t sequence_number = -1;
  uint64_t forward_thread = 0;
};

/// A call from its start to its end.
struct TracedCall : at::ObserverContext {
  enum class Kind {
    Operator,
    Node,    // of the backward pass
    Engine,  // the engine's work for one node: the node, and adding up what comes out of it
    UserScope,
  };
  Kind kind = Kind::Operator;
  int64_t number = 0;  // grows from call to call
  TracedCall* outer = nullptr;
  ThreadCalls* thread = nullptr;

  TracedNode node;                                // Node, Engine
  std::shared_ptr<const ScopePath> outer_scopes;  // UserScope

  const TracedOperator* op = nullptr;  // Operator, and what follows
  int64_t sequence_number = -1;
  bool below_autograd = false;
  NonFiniteKinds numbers;  // those among the arguments
  std::vector<TracedArgument> inputs;
  std::vector<const c10::StorageImpl*> reads, writes;  // their memories, sorted
  std::vector<LookedAt> looked_at;                     // by calls in it

  /// The operator that called this, null if none did. A backward node is called by none.
  TracedCall* calling_operator() const {
    for (auto* call = outer; call != nullptr && call->kind != Kind::Node; call = call->outer) {
      if (call->kind == Kind::Operator) return call;
    }
    return nullptr;
  }

  /// The outermost operator around this one, or itself.
  const TracedCall& root() const {
    const TracedCall* call = this;
    while (const TracedCall* const caller = call->calling_operator()) call = caller;
    return *call;
  }

  /// The backward node or the engine's work that this is part of, null outside of backward.
  const TracedCall* backward() const {
    for (const auto* call = outer; call != nullptr; call = call->outer) {
      if (call->kind == Kind::Node || call->kind == Kind::Engine) return call;
    }
    return nullptr;
  }

  /// The number of the backward node that this is part of, -1 if it is part of none.
  int64_t node_number() const {
    const auto* const around = backward();
    return around != nullptr && around->kind == Kind::Node ? around->number : -1;
  }

  /// Fills in `inputs`, and looks at those that the operator may overwrite.
  /// Host sync: if such inputs are on an accelerator.
  void read_inputs(c10::ArrayRef<const c10::IValue> values);

  /// Of a result, from a call in this one that has looked at it, or by looking now.
  NonFiniteKinds kinds_of_result(const at::Tensor& result);

  /// True if `result` is a view of an input that the operator does not change.
  bool is_view(const at::Tensor& result) const;

  /// The tensors that the call made or changed; views of what it left alone are neither.
  std::vector<at::Tensor> results(const std::vector<c10::IValue>& outputs) const;
};

inline void TracedCall::read_inputs(c10::ArrayRef<const c10::IValue> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool written = i < op->written.size() && op->written[i] != 0;
    const auto kinds = kinds_of_number(values[i]);
    numbers.positive_inf = numbers.positive_inf || kinds.positive_inf;
    numbers.negative_inf = numbers.negative_inf || kinds.negative_inf;
    numbers.nan = numbers.nan || kinds.nan;
    for_each_tensor(values[i], [&](const at::Tensor& tensor) {
      inputs.push_back({tensor, i, written, std::nullopt});
    });
  }
  for (const auto& input : inputs) {
    (input.written ? writes : reads).push_back(memory_of(input.tensor));
  }
  std::sort(reads.begin(), reads.end(), std::less<>());
  std::sort(writes.begin(), writes.end(), std::less<>());
  if (!op->writes) return;
  for (auto& input : inputs) {
    if (op->ignores(input.argument)) {
      input.kinds = NonFiniteKinds();
      continue;
    }
    const bool lost = input.written || is_among(writes, memory_of(input.tensor));
    if (lost) input.kinds = has_kinds(input.tensor) ? kinds_of(input.tensor) : NonFiniteKinds();
  }
}

inline NonFiniteKinds TracedCall::kinds_of_result(const at::Tensor& result) {
  const auto version = [](const at::Tensor& tensor) {
    return tensor.is_inference() ? 0 : static_cast<uint32_t>(tensor._version());
  };
  const auto known =
      std::find_if(looked_at.rbegin(), looked_at.rend(), [&](const LookedAt& looked) {
        return looked.tensor._unsafe_get_target() == result.unsafeGetTensorImpl() &&
               looked.version == version(result) && !result.is_inference();
      });
  const auto kinds = known != looked_at.rend() ? known->kinds : kinds_of(result);
  if (auto* const caller = calling_operator()) {
    caller->looked_at.push_back({c10::weak_intrusive_ptr<c10::TensorImpl>(result.getIntrusivePtr()),
                                 version(result), kinds});
  }
  return kinds;
}

inline bool TracedCall::is_view(const at::Tensor& result) const {
  const auto* const memory = memory_of(result);
  return memory != nullptr && is_among(reads, memory) && !is_among(writes, memory);
}

inline std::vector<at::Tensor> TracedCall::results(const std::vector<c10::IValue>& outputs) const {
  std::vector<at::Tensor> all;
  std::unordered_set<const c10::TensorImpl*> known;
  const auto add = [&](const at::Tensor& tensor) {
    if (!is_view(tensor) && known.insert(tensor.unsafeGetTensorImpl()).second)
      all.push_back(tensor);
  };
  for (const auto& output : outputs) for_each_tensor(output, add);
  for (const auto& input : inputs) {
    if (input.written) add(input.tensor);
  }
  return all;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
