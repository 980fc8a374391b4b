// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/util/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The gradients of one device and dtype as plain strided real tensors that share memory with
/// them: what one foreach operator takes.
struct GradientGroup {
  c10::Device device;
  at::ScalarType dtype;  // of the gradients; if complex, `values` are pairs of real numbers
  std::vector<at::Tensor> values;
};

/// Whether half-precision gradients may be unscaled: float32 master weights must stand behind them.
enum class HalfGradients { Refused, Allowed };

/// The gradients of an optimizer or of a range of parameters, found in a single walk.
/// A parameter that stands in two groups is visited once, so nothing is unscaled twice.
class Gradients {
 public:
  /// Host sync: none, but for coalescing a float16 sparse gradient.
  /// Throws: [E09] for a float16 gradient where that is refused, [E10] for a layout or dtype that
  /// cannot be unscaled, or that begins where another one does and is not the same; the walk
  /// changes nothing, so every gradient is as it was.
  template <class Owner>
  static Gradients of(Owner& owner, HalfGradients half, const char* caller);

  bool empty() const { return gradients_.empty(); }
  std::size_t size() const { return gradients_.size(); }
  const std::vector<at::Tensor>& tensors() const { return gradients_; }
  const std::vector<GradientGroup>& groups() const { return groups_; }

  /// Gives their parameters the gradients that had to be copied, since they could not be unscaled
  /// in place; `groups()` is about the copies.
  void put_copies() const {
    for (const auto& [parameter, gradient] : copies_) parameter.mutable_grad() = gradient;
  }

 private:
  template <class Place>
  void add(const at::Tensor& parameter, HalfGradients half, const char* caller, const Place& place);
  std::vector<at::Tensor>& bucket(c10::Device device, at::ScalarType dtype);

  std::vector<at::Tensor> gradients_;
  std::vector<GradientGroup> groups_;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;  // parameter, gradient
  ska::flat_hash_map<const void*, at::Tensor> seen_;       // values by where they begin
};

/// True for the dtypes that have kernels here.
inline bool can_be_unscaled(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
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
  // Conjugate and negative views hold other numbers than they show. A real factor may ignore that.
  if (values.is_conj()) values = values.conj();
  if (values.is_neg()) values = at::_neg_view(values);
  return values.is_complex() ? at::view_as_real(values) : values;
}

/// True if two tensors that begin at one address have the same numbers, in whatever shape.
inline bool is_same_memory(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || a.numel() != b.numel()) return false;
  return (a.is_contiguous() && b.is_contiguous()) ||
         (a.sizes() == b.sizes() && a.strides() == b.strides());
}

template <class Owner>
Gradients Gradients::of(Owner& owner, HalfGradients half, const char* caller) {
  Gradients found;
  for_each_parameter(owner, [&](const at::Tensor& parameter, const auto& place) {
    if (parameter.grad().defined()) found.add(parameter, half, caller, place);
  });
  return found;
}

template <class Place>
void Gradients::add(const at::Tensor& parameter, HalfGradients half, const char* caller,
                    const Place& place) {
  at::Tensor gradient = parameter.grad();
  const auto dtype = gradient.scalar_type();
  TORCHAMP_CHECK(E09, half == HalfGradients::Allowed || dtype != at::kHalf, caller, ": ", place(),
                 ", of shape ", parameter.sizes(),
                 ", has a Half gradient, which cannot be unscaled without losing what scaling"
                 " saved; keep the parameters in float32 and let AutocastGuard cast them, or have"
                 " MasterWeights as the optimizer, and unscale that rather than the parameters");
  TORCHAMP_CHECK(E10, can_be_unscaled(dtype) && has_reachable_values(gradient), caller, ": ",
                 place(), ", of shape ", parameter.sizes(), ", has a gradient of dtype ", dtype,
                 " and layout ", gradient.layout(),
                 "; float32, float64, bfloat16 and complex gradients are supported, strided or"
                 " sparse");
  const at::Tensor original = reachable_values(gradient);
  if (original.numel() == 0) return gradients_.push_back(gradient);  // nothing to unscale
  // Two finite values at one index may have a sum that float16 cannot hold.
  const bool coalesce =
      dtype == at::kHalf && gradient.layout() == c10::kSparse && !gradient.is_coalesced();
  // One number for several places, as expand() makes, cannot be multiplied in place.
  const bool copy = at::has_internal_overlap(original) == at::MemOverlap::Yes;

  const auto [seen, is_new] = seen_.emplace(original.const_data_ptr(), original);
  TORCHAMP_CHECK(E10, is_new || (is_same_memory(seen->second, original) && !coalesce && !copy),
                 caller, ": ", place(), ", of shape ", parameter.sizes(),
                 ", has a gradient that shares memory with another's, which would be changed"
                 " twice; give it memory of its own, as with clone()");
  if (coalesce || copy) {
    gradient = coalesce ? gradient.coalesce() : gradient.contiguous();
    copies_.emplace_back(parameter, gradient);
  }
  if (is_new) {
    auto values = coalesce || copy ? reachable_values(gradient) : original;
    bucket(values.device(), dtype).push_back(std::move(values));
  }
  gradients_.push_back(std::move(gradient));
}

inline std::vector<at::Tensor>& Gradients::bucket(c10::Device device, at::ScalarType dtype) {
  for (auto& group : groups_) {
    if (group.device == device && group.dtype == dtype) return group.values;
  }
  groups_.push_back({device, dtype, {}});
  return groups_.back().values;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
