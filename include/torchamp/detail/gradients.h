// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <unordered_set>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The gradients of one device and dtype as plain strided real tensors that share memory with
/// them: what one foreach operator takes.
struct GradientGroup {
  c10::Device device;
  at::ScalarType dtype;
  std::vector<at::Tensor> values;
};

/// The gradients of one optimizer, found in a single walk over its parameter groups.
/// A parameter that stands in two groups is visited once, so nothing is unscaled twice.
class Gradients {
 public:
  /// Host sync: none.
  /// Throws: [E09] for a float16 gradient, [E10] for a layout or dtype that cannot be unscaled;
  /// the whole walk comes before any change, so every gradient is as it was.
  template <class Optimizer>
  static Gradients of(Optimizer& optimizer, const char* caller);

  bool empty() const { return gradients_.empty(); }
  std::size_t size() const { return gradients_.size(); }
  const std::vector<at::Tensor>& tensors() const { return gradients_; }
  const std::vector<GradientGroup>& groups() const { return groups_; }

 private:
  void add(const at::Tensor& gradient, std::size_t group, std::size_t index, const char* caller);
  std::vector<at::Tensor>& bucket(const at::Tensor& values);

  std::vector<at::Tensor> gradients_;
  std::vector<GradientGroup> groups_;
};

/// True for the dtypes that have kernels here and lose nothing by being unscaled.
inline bool can_be_unscaled(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
    case at::kDouble:
    case at::kBFloat16:
    case at::kComplexFloat:
    case at::kComplexDouble:
      return true;
    default:
      return false;
  }
}

/// True if the gradient's numbers can be reached as a strided tensor that shares its memory.
inline bool has_reachable_values(const at::Tensor& gradient) {
  switch (gradient.layout()) {
    case c10::kStrided:
    case c10::kSparse:
    case c10::kSparseCsr:
    case c10::kSparseCsc:
    case c10::kSparseBsr:
    case c10::kSparseBsc:
      return true;
    default:
      return false;
  }
}

/// The numbers of a gradient as a real strided tensor that shares its memory.
inline at::Tensor reachable_values(const at::Tensor& gradient) {
  at::Tensor values = gradient;
  if (gradient.layout() == c10::kSparse) {
    values = gradient._values();
  } else if (gradient.layout() != c10::kStrided) {
    values = gradient.values();
  }
  // A conjugate view holds other numbers than it shows; unscaling by a real factor may ignore that.
  if (values.is_complex()) values = at::view_as_real(values.is_conj() ? values.conj() : values);
  return values;
}

template <class Optimizer>
Gradients Gradients::of(Optimizer& optimizer, const char* caller) {
  Gradients found;
  std::unordered_set<const c10::TensorImpl*> seen;
  std::size_t group_number = 0;
  for (auto& group : optimizer.param_groups()) {
    std::size_t index = 0;
    for (const at::Tensor& parameter : group.params()) {
      const at::Tensor& gradient = parameter.grad();
      if (gradient.defined() && seen.insert(gradient.unsafeGetTensorImpl()).second) {
        found.add(gradient, group_number, index, caller);
      }
      ++index;
    }
    ++group_number;
  }
  return found;
}

inline void Gradients::add(const at::Tensor& gradient, std::size_t group, std::size_t index,
                           const char* caller) {
  const auto dtype = gradient.scalar_type();
  TORCHAMP_CHECK(E09, dtype != at::kHalf && dtype != at::kComplexHalf, caller, ": parameter ",
                 index, " of group ", group, " has a ", dtype,
                 " gradient, which cannot be unscaled without losing what scaling saved; keep the"
                 " parameters in float32 and let AutocastGuard cast them");
  TORCHAMP_CHECK(E10, can_be_unscaled(dtype) && has_reachable_values(gradient), caller,
                 ": parameter ", index, " of group ", group, " has a gradient of dtype ", dtype,
                 " and layout ", gradient.layout(),
                 "; float32, float64, bfloat16 and complex gradients are supported, strided or"
                 " sparse");
  gradients_.push_back(gradient);
  const at::Tensor values = reachable_values(gradient);
  if (values.numel() > 0) bucket(values).push_back(values);
}

inline std::vector<at::Tensor>& Gradients::bucket(const at::Tensor& values) {
  for (auto& group : groups_) {
    if (group.device == values.device() && group.dtype == values.scalar_type()) {
      return group.values;
    }
  }
  groups_.push_back({values.device(), values.scalar_type(), {}});
  return groups_.back().values;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
