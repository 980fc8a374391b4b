// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Layout.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorOptions.h>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// A fused operator, and how its optimizer and the stock one are called.
struct FusedOperator {
  const char* schema;     // "aten::_fused_adam_"
  const char* optimizer;  // "FusedAdam"
  const char* stock;      // "torch::optim::Adam"
};

/// True if both have their elements at the same places from where they begin.
inline bool is_laid_out_as(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && a.device() == b.device() && a.scalar_type() == b.scalar_type() &&
         a.layout() == b.layout() && a.sizes() == b.sizes() &&
         (a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous()));
}

/// True if this LibTorch has a kernel of the operator for the device of `parameter`.
inline bool has_kernel(const char* schema, const at::Tensor& parameter) {
  const auto found = c10::Dispatcher::singleton().findSchema({schema, ""});
  return found && found->hasKernelForDispatchKey(c10::computeDispatchKey(
                      parameter.scalar_type(), c10::kStrided, parameter.device()));
}

/// Throws: [E26] if the operator cannot step `parameter`, or would read beyond its memory.
template <class Place>
void check_can_be_fused(const at::Tensor& parameter, const FusedOperator& fused,
                        const Place& place) {
  const auto dtype = parameter.scalar_type();
  const at::Tensor& gradient = parameter.grad();
  TORCHAMP_CHECK(
      E26,
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || dtype == at::kBFloat16,
      fused.optimizer, ": ", place(), ", of shape ", parameter.sizes(), ", has dtype ", dtype,
      "; float32, float64, bfloat16 and float16 can be stepped, use ", fused.stock,
      " for the others");
  TORCHAMP_CHECK(E26, gradient.layout() == c10::kStrided && gradient.scalar_type() == dtype,
                 fused.optimizer, ": ", place(), ", of shape ", parameter.sizes(), " and dtype ",
                 dtype, ", has a gradient of layout ", gradient.layout(), " and dtype ",
                 gradient.scalar_type(),
                 "; it must be dense and of the same dtype: make it so, for"
                 " instance with Embedding's sparse(false), or use torch::optim::SGD or Adagrad");
  TORCHAMP_CHECK(E26, parameter.is_non_overlapping_and_dense(), fused.optimizer, ": ", place(),
                 ", of shape ", parameter.sizes(), " and strides ", parameter.strides(),
                 ", is a view with gaps or repeated elements; give the optimizer the whole tensor,"
                 " or use ",
                 fused.stock);
  TORCHAMP_CHECK(E26, has_kernel(fused.schema, parameter), fused.optimizer, ": ", place(),
                 " is on ", parameter.device(), ", for which this LibTorch has no ", fused.schema,
                 "; use ", fused.stock);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
