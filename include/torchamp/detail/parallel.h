// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Calls `function(begin, end)` for `parts` pieces of [0, count) on LibTorch's CPU threads, and
/// waits for all. What LibTorch's operators do inside stays on the thread that called them.
/// Thread-local state (grad mode, autocast, observers) is not carried over.
///
/// at::parallel_for would do, were it not compiled into the caller: a program built without OpenMP
/// gets a plain loop from it, in which LibTorch's operators still start threads of their own. A
/// TensorIterator divides its elements inside LibTorch, so here one element stands for one piece.
template <class Function>
void for_each_part(std::size_t count, std::size_t parts, const Function& function) {
  const at::Tensor elements = at::empty({static_cast<int64_t>(parts)}, at::kByte);
  const auto* const first = static_cast<const char*>(elements.const_data_ptr());
  // One dimension, whose stride is 1; the second size is 1.
  const auto run = [&](char** data, const int64_t* /*strides*/, int64_t size, int64_t /*rows*/) {
    for (int64_t i = 0; i < size; ++i) {
      const auto part = static_cast<std::size_t>(data[0] - first + i);
      function(count * part / parts, count * (part + 1) / parts);
    }
  };
  at::TensorIterator::borrowing_nullary_op(elements).for_each(run, /*grain_size=*/1);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
