// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/copy_to.h>
#include <torchamp/detail/gradients.h>
#include <torchamp/detail/parameters.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_clamp_max.h>
#include <ATen/ops/_foreach_clamp_min.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_foreach_zero.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>
#include <c10/util/complex.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The order-`norm_type` norm of all gradients as if they were one vector: 0-dim, on the device of
/// the first, in float64 if a gradient is, else in float32. Of order 0 it is the number of
/// gradients, as LibTorch has it.   Host sync: none between devices of one type.
inline at::Tensor total_norm(const Gradients& gradients, double norm_type);

/// The gradients of `owner`, a range, an optimizer or one parameter, sparse ones coalesced, since
/// entries at one index are one number.
template <class Owner>
Gradients gradients_to_clip(Owner& owner, const char* caller);

/// Multiplies the gradients by `factor`, a 0-dim tensor, at most 1; if it is NaN they become 0.
inline void multiply_or_zero_(const Gradients& gradients, const at::Tensor& factor);

/// Brings the gradients into [-bound, bound]; makes them 0 if `witness`, a 0-dim tensor, is NaN.
inline void clamp_or_zero_(const Gradients& gradients, const at::Tensor& witness, double bound);

}  // namespace detail

/// Scales the gradients down, in place and all alike, so that their total norm is at most
/// `max_norm`, as torch::nn::utils::clip_grad_norm_ does, and returns the norm that they had: a
/// 0-dim tensor on the device of the first gradient; 0 if there is none.
///
///     scaler.scale(loss).backward();
///     scaler.unscale_(optimizer);  // always before: clipping would hide an overflow from step()
///     torchamp::clip_grad_norm_(model->parameters(), /*max_norm=*/1.0);
///     scaler.step(optimizer);
///     scaler.update();
///
/// `owner` is an optimizer, a range of parameters, with names or without, or one parameter. Of an
/// AmpOptimizer with master weights, pass the masters. A gradient that stands there twice counts
/// once. `norm_type` is any order, infinite and negative ones too. A `max_norm` of infinity only
/// measures; one of 0 makes the gradients 0.
/// If a gradient is inf or NaN, or the norm overflows, all gradients become 0, so that a step
/// without a scaler is not poisoned. (LibTorch makes inf NaN, and then the parameters.)
/// Host sync: none within one type of device, but for coalescing a sparse gradient, and one read if
/// `error_if_nonfinite`.
/// Throws: [E25] for a negative or NaN `max_norm`, a NaN `norm_type`, and, if asked for, a norm or
/// gradient that is not finite; [E10] for gradients that cannot be scaled. All are as they were.
template <class Owner>
at::Tensor clip_grad_norm_(Owner&& owner, double max_norm, double norm_type = 2.0,
                           bool error_if_nonfinite = false) {
  TORCHAMP_CHECK(E25, max_norm >= 0, "clip_grad_norm_(): max_norm is ", max_norm,
                 "; pass a number of at least 0, or infinity to measure the norm alone");
  TORCHAMP_CHECK(E25, !std::isnan(norm_type),
                 "clip_grad_norm_(): norm_type is NaN; pass the order of the norm, such as 2");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const c10::AutoGradMode no_grad(false);
  const auto gradients = detail::gradients_to_clip(owner, "clip_grad_norm_()");
  const at::Tensor norm = detail::total_norm(gradients, norm_type);
  // Orders of 0 and below may be finite in spite of an inf.
  const at::Tensor witness = norm_type > 0 ? norm : detail::total_norm(gradients, infinity);
  TORCHAMP_CHECK(E25, !error_if_nonfinite || at::isfinite(witness).item<bool>(),
                 "clip_grad_norm_(): the norm of order ", norm_type, " is ", norm.item<double>(),
                 ", as a gradient is inf or NaN, or the norm too large for its dtype; with a"
                 " GradScaler leave error_if_nonfinite false, since step() then skips");
  if (max_norm == infinity || gradients.groups().empty()) return norm;
  at::Tensor factor = (max_norm / (norm + 1e-6)).clamp_max_(1.0);
  factor.masked_fill_(at::isfinite(witness).logical_not_(),
                      std::numeric_limits<double>::quiet_NaN());
  gradients.put_copies();
  detail::multiply_or_zero_(gradients, factor);
  return norm;
}
/// The same, for `clip_grad_norm_({weight, bias}, 1.0)`.
inline at::Tensor clip_grad_norm_(std::initializer_list<at::Tensor> parameters, double max_norm,
                                  double norm_type = 2.0, bool error_if_nonfinite = false) {
  return clip_grad_norm_<>(parameters, max_norm, norm_type, error_if_nonfinite);
}

/// Brings every number of the gradients into [-clip_value, clip_value], in place, as
/// torch::nn::utils::clip_grad_value_ does; after `unscale_()`, like `clip_grad_norm_()`.
/// `owner` is as there. An inf becomes a bound; if a number is NaN, all gradients become 0.
/// Host sync: none within one type of device, but for coalescing a sparse gradient.
/// Throws: [E25] for a negative or NaN `clip_value`, and complex gradients, whose numbers have no
/// order; [E10] for gradients that cannot be changed. All are as they were.
template <class Owner>
void clip_grad_value_(Owner&& owner, double clip_value) {
  TORCHAMP_CHECK(E25, clip_value >= 0, "clip_grad_value_(): clip_value is ", clip_value,
                 "; pass a number of at least 0");
  const c10::AutoGradMode no_grad(false);
  const auto gradients = detail::gradients_to_clip(owner, "clip_grad_value_()");
  for (const auto& group : gradients.groups()) {
    TORCHAMP_CHECK(E25, !c10::isComplexType(group.dtype), "clip_grad_value_(): a gradient is ",
                   group.dtype, ", whose numbers have no order; use clip_grad_norm_()");
  }
  if (gradients.groups().empty()) return;
  // NaN if a number is, and much faster on a CPU than the largest magnitude. Clamping is not left
  // out where this is small: squares of tiny numbers are 0.
  const at::Tensor witness = detail::total_norm(gradients, 2.0);
  gradients.put_copies();
  detail::clamp_or_zero_(gradients, witness, clip_value);
}
/// The same, for `clip_grad_value_({weight, bias}, 1.0)`.
inline void clip_grad_value_(std::initializer_list<at::Tensor> parameters, double clip_value) {
  clip_grad_value_<>(parameters, clip_value);
}

namespace detail {

template <class Owner>
Gradients gradients_to_clip(Owner& owner, const char* caller) {
  if constexpr (std::is_convertible_v<Owner&, const at::Tensor&>) {
    const at::TensorList one(owner);
    return gradients_to_clip(one, caller);
  } else {
    static_assert(has_param_groups<Owner> || is_parameter_range<Owner>,
                  "torchamp: clipping takes an optimizer, a parameter, or a range of parameters:"
                  " of a module, model->parameters(); of a pointer, *optimizer");
    for_each_parameter(owner, [](const at::Tensor& parameter, const auto& /*place*/) {
      const at::Tensor& gradient = parameter.grad();
      if (gradient.defined() && gradient.layout() == c10::kSparse && !gradient.is_coalesced()) {
        parameter.mutable_grad() = gradient.coalesce();
      }
    });
    return Gradients::of(owner, HalfGradients::Allowed, caller);
  }
}

/// One norm for each gradient of the group, in a row.
inline at::Tensor norms_of(const GradientGroup& group, double norm_type) {
  if (group.dtype == at::kHalf || group.dtype == at::kBFloat16) {
    return at::stack(at::_foreach_norm(group.values, norm_type, at::kFloat));
  }
  if (!c10::isComplexType(group.dtype)) {
    return at::stack(at::_foreach_norm(group.values, norm_type));
  }
  std::vector<at::Tensor>
      values;  // pairs have another norm than complex numbers, unless of order 2
  for (const auto& pairs : group.values) values.push_back(at::view_as_complex(pairs));
  return at::stack(at::_foreach_norm(values, norm_type));
}

inline at::Tensor total_norm(const Gradients& gradients, double norm_type) {
  const auto& groups = gradients.groups();
  if (groups.empty()) {
    return gradients.empty()
               ? at::zeros({})
               : at::zeros(
                     {}, gradients.tensors()[0].options().layout(c10::kStrided).dtype(at::kFloat));
  }
  std::vector<at::Tensor> norms;
  for (const auto& group : groups) {
    norms.push_back(copy_to(norms_of(group, norm_type), groups[0].device));
  }
  const at::Tensor all = norms.size() == 1 ? norms[0] : at::cat(norms);
  if (norm_type == 0) return at::full({}, all.numel(), all.options());
  return all.numel() == 1 ? all[0] : at::linalg_vector_norm(all, norm_type);
}

/// Makes `values`, of one dtype, 0 if `factor` is NaN, without asking the host: NaN times 0 is NaN,
/// but its bits, taken for an integer, times 0 are 0, and times 1 are what they were.
inline void zero_if_nan_(const std::vector<at::Tensor>& values, const at::Tensor& factor) {
  const auto size = values[0].element_size();
  const auto integer = size == 2 ? at::kShort : size == 4 ? at::kInt : at::kLong;
  std::vector<at::Tensor> bits;
  bits.reserve(values.size());
  for (const auto& value : values) bits.push_back(value.view(integer));
  at::_foreach_mul_(bits, at::isnan(factor).logical_not_().to(integer));
}

/// Host sync: none, since it is in the host's own memory.
inline double read_cpu(const at::Tensor& number) {
  const at::Tensor wide = number.to(at::kDouble);
  return *wide.const_data_ptr<double>();
}

inline void multiply_or_zero_(const Gradients& gradients, const at::Tensor& factor) {
  for (const auto& group : gradients.groups()) {
    const at::Tensor here = copy_to(factor, group.device);
    if (group.device.is_cpu()) {  // what needs no change needs no pass
      const double number = read_cpu(here);
      if (std::isnan(number)) at::_foreach_zero_(group.values);
      if (number < 1) at::_foreach_mul_(group.values, here);
    } else {
      // In the dtype of the values, or each would have a kernel of its own.
      at::_foreach_mul_(group.values, here.to(group.values[0].scalar_type()));
      zero_if_nan_(group.values, here);
    }
  }
}

inline void clamp_or_zero_(const Gradients& gradients, const at::Tensor& witness, double bound) {
  for (const auto& group : gradients.groups()) {
    const at::Tensor here = copy_to(witness, group.device);
    if (group.device.is_cpu()) {  // one pass, where the foreach operators would make two
      if (std::isnan(read_cpu(here))) {
        at::_foreach_zero_(group.values);
      } else {
        for (const at::Tensor& value : group.values) value.clamp_(-bound, bound);
      }
    } else {
      at::_foreach_clamp_min_(group.values, -bound);
      at::_foreach_clamp_max_(group.values, bound);
      zero_if_nan_(group.values, here);
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
