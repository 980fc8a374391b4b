// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/each_tensor.h>
#include <torchamp/diagnose/operator_facts.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace torchamp {
inline namespace v0 {
namespace detail {

inline bool has_decimals(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) || c10::isComplexType(dtype);
}

/// The dtype of the first tensor of floating-point or complex numbers, else that of the first.
template <class Values>
c10::ScalarType leading_dtype(const Values& values) {
  auto dtype = c10::ScalarType::Undefined;
  for_each_tensor_in(values, [&](const at::Tensor& tensor) {
    if (has_decimals(dtype)) return;
    const auto type = tensor.scalar_type();
    if (dtype == c10::ScalarType::Undefined || has_decimals(type)) dtype = type;
  });
  return dtype;
}

/// Of the numbers of a tensor; 0 for sparse and nested ones.
inline int64_t bytes_of(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || tensor.is_nested() || !tensor.has_storage()) return 0;
  return tensor.numel() * static_cast<int64_t>(tensor.itemsize());
}

/// What `OpStats` has to know of a call while it runs.
struct OpStatsCall : at::ObserverContext {
  using Clock = std::chrono::steady_clock;

  /// What the time, calls and bytes of a call go to.
  enum class Part {
    Row,       // of the table
    Cast,      // by autocast
    CastBack,  // of a gradient, by the node of such a cast
  };

  OpStatsCall* outer = nullptr;
  OpStatsCall** innermost = nullptr;  // of its thread
  Clock::time_point start{};
  Clock::duration inside{};  // time of the calls in this one

  const OperatorFacts* op = nullptr;  // null for what is no operator
  OpStatsCall* root = nullptr;  // what it is part of: itself, one around it, or null in the engine
  bool undoes_cast = false;     // a backward node, of a cast that autocast made

  c10::ScalarType dtype = c10::ScalarType::Undefined;  // leading_dtype() of the inputs
  c10::ScalarType cast_from =
      c10::ScalarType::Undefined;  // that of a cast's input, if it has a size

  // Of a root.
  Part part = Part::Row;
  Clock::duration own{};  // time of the calls whose root this is
  int64_t written_bytes = 0;
  c10::SmallVector<const c10::StorageImpl*, 4> memory;  // of the inputs, if it writes to none

  // Of a call that autocast decides about.
  bool autocast = false;
  int64_t casts = 0;
  int64_t cast_bytes = 0;
  c10::SmallVector<c10::ScalarType, 8> dtypes;  // of the inputs

  /// Notes what `bytes()` needs of the inputs.
  void read_memory(c10::ArrayRef<const c10::IValue> inputs);

  /// Of the tensors that it made or changed. A view makes nothing, nor does what hands its input
  /// through.
  int64_t bytes(c10::ArrayRef<c10::IValue> outputs) const;
};

inline void OpStatsCall::read_memory(c10::ArrayRef<const c10::IValue> inputs) {
  if (!op->writes_inputs) {
    for_each_tensor_in(inputs, [&](const at::Tensor& tensor) {
      if (tensor.has_storage()) memory.push_back(tensor.storage().unsafeGetStorageImpl());
    });
    std::sort(memory.begin(), memory.end(), std::less<const c10::StorageImpl*>());
    return;
  }
  if (!op->returns_nothing) return;  // what it changes it returns
  for (std::size_t i = 0; i < inputs.size() && i < op->written.size(); ++i) {
    if (op->written[i] == 0) continue;
    for_each_tensor(inputs[i],
                    [&](const at::Tensor& tensor) { written_bytes += bytes_of(tensor); });
  }
}

inline int64_t OpStatsCall::bytes(c10::ArrayRef<c10::IValue> outputs) const {
  int64_t sum = written_bytes;
  for_each_tensor_in(outputs, [&](const at::Tensor& result) {
    const bool view =
        result.has_storage() && std::binary_search(memory.begin(), memory.end(),
                                                   static_cast<const c10::StorageImpl*>(
                                                       result.storage().unsafeGetStorageImpl()),
                                                   std::less<const c10::StorageImpl*>());
    if (!view) sum += bytes_of(result);
  });
  return sum;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
