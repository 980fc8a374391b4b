// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/copy_to.h>
#include <torchamp/detail/gradients.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Device.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>

#include <limits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Whether gradients were inf or NaN: one 0-dim float32 tensor a device, 0 or 1.
class FoundInf {
 public:
  /// True if no gradient was looked at.
  bool empty() const { return per_device_.empty(); }

  /// The tensor of `device`, made with value 0 if it is new.   Host sync: none.
  at::Tensor& on(c10::Device device);

  /// 1 if any of these is 1, else 0, on `device`; not a copy where all stand there already. Never
  /// more than 1, which LibTorch's fused kernels would take for 0.   Host sync: none between
  /// devices of one type.
  at::Tensor combined(c10::Device device) const;

  /// Adds what `other` found.   Host sync: none.
  void merge(const FoundInf& other);

  const std::vector<std::pair<c10::Device, at::Tensor>>& per_device() const { return per_device_; }

 private:
  std::vector<std::pair<c10::Device, at::Tensor>> per_device_;
};

inline at::Tensor& FoundInf::on(c10::Device device) {
  for (auto& [known, found] : per_device_) {
    if (known == device) return found;
  }
  per_device_.emplace_back(device,
                           at::zeros({}, at::TensorOptions().device(device).dtype(at::kFloat)));
  return per_device_.back().second;
}

inline at::Tensor FoundInf::combined(c10::Device device) const {
  if (per_device_.size() == 1 && per_device_[0].first == device) return per_device_[0].second;
  at::Tensor any = at::zeros({}, at::TensorOptions().device(device).dtype(at::kFloat));
  for (const auto& [known, found] : per_device_) {
    any.add_(detail::copy_to(found, device));
  }
  return any.clamp_max_(1.0);
}

inline void FoundInf::merge(const FoundInf& other) {
  for (const auto& [device, found] : other.per_device_) {
    at::Tensor& mine = on(device);
    mine = at::maximum(mine, found);
  }
}

namespace detail {

/// For gradients that LibTorch's operator has no kernel for: bfloat16 outside the CPU.
/// The same result from stock operators: the largest magnitude is inf or NaN if any value is.
inline void unscale_with_stock_operators_(at::TensorList values, at::Tensor& found_inf,
                                          const at::Tensor& inverse_scale) {
  const auto largest = at::_foreach_norm(values, std::numeric_limits<double>::infinity());
  const at::Tensor finite = at::stack(largest).isfinite().all();
  found_inf.add_(finite.logical_not()).clamp_max_(1.0);
  at::_foreach_mul_(values, inverse_scale);
}

/// Multiplies `values`, of one device and dtype, by `inverse_scale`, a 0-dim float32 tensor there,
/// and sets `found_inf` to 1 if one was inf or NaN before.   Host sync: none.
inline void unscale_group_(const GradientGroup& group, at::Tensor& found_inf,
                           const at::Tensor& inverse_scale) {
  if (group.dtype == at::kBFloat16 && !group.device.is_cpu()) {
    unscale_with_stock_operators_(group.values, found_inf, inverse_scale);
  } else {
    at::_amp_foreach_non_finite_check_and_unscale_(group.values, found_inf, inverse_scale);
  }
}

/// Multiplies each gradient by `inverse_scale` (0-dim float32) in place and notes on its device
/// whether any value is not finite, before or after. After needs a second look, and is looked for
/// only if `may_overflow`, to be set where `inverse_scale` may be more than 1.   Host sync: none.
inline FoundInf unscale_(const Gradients& gradients, const at::Tensor& inverse_scale,
                         bool may_overflow) {
  const c10::AutoGradMode no_grad(false);
  gradients.put_copies();
  FoundInf found_inf;
  for (const auto& group : gradients.groups()) {
    const at::Tensor inverse = copy_to(inverse_scale, group.device);
    at::Tensor& found = found_inf.on(group.device);
    unscale_group_(group, found, inverse);
    if (may_overflow) unscale_group_(group, found, at::ones_like(inverse));
  }
  return found_inf;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
