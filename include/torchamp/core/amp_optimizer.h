// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/gradients.h>

#include <ATen/core/Tensor.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What an optimizer can tell a GradScaler about itself. Derive from it beside
/// torch::optim::Optimizer; the scaler finds it through a reference to either.
///
///     class MyAdam : public torch::optim::Adam, public torchamp::AmpOptimizer { … };
class AmpOptimizer {
 public:
  virtual ~AmpOptimizer() = default;

  /// True if float32 master weights stand behind half-precision parameters. Their gradients may
  /// then be unscaled in half precision, which is refused otherwise [E09].
  virtual bool has_master_weights() const { return false; }

  /// The parameters whose gradients a scaler is to check and unscale in place of those of
  /// `param_groups()`: float32 masters, whose gradients this call makes from theirs. Called once an
  /// iteration, before anything else is done with the gradients. Empty: `param_groups()` itself.
  virtual std::vector<at::Tensor> parameters_to_unscale() { return {}; }

  /// True if `step_unless()` is to be called in place of `step()`, which saves the host from
  /// reading whether a gradient overflowed.
  virtual bool decides_on_device() const { return false; }

  /// A step, unless `found_inf` is 1: then nothing changes, counters of steps included.
  /// `grad_scale` is what the gradients are yet to be divided by; undefined if they are true
  /// already, as after `unscale_()`. Both are 0-dim float32 tensors on the device of the scale,
  /// `found_inf` exactly 0 or 1.   Host sync: to be none.   Throws: [E20] unless overridden.
  virtual void step_unless(const at::Tensor& found_inf, const at::Tensor& grad_scale) {
    static_cast<void>(found_inf);
    static_cast<void>(grad_scale);
    TORCHAMP_CHECK(E20, false,
                   "AmpOptimizer: decides_on_device() is true, and step_unless() is not overridden;"
                   " override both or neither");
  }

 protected:
  AmpOptimizer() = default;
  AmpOptimizer(const AmpOptimizer&) = default;
  AmpOptimizer& operator=(const AmpOptimizer&) = default;
};

namespace detail {

/// The AmpOptimizer that `optimizer` is; null if it is none.
template <class Optimizer>
AmpOptimizer* as_amp_optimizer([[maybe_unused]] Optimizer& optimizer) {
  if constexpr (std::is_base_of_v<AmpOptimizer, Optimizer>) {
    return std::addressof(optimizer);
  } else if constexpr (std::is_polymorphic_v<Optimizer>) {
    return dynamic_cast<AmpOptimizer*>(std::addressof(optimizer));
  } else {
    return nullptr;
  }
}

/// The gradients of `owner`, an optimizer or a range of parameters, that a scaler has to unscale.
/// Throws: as `Gradients::of()`.
template <class Owner>
Gradients gradients_to_unscale(Owner& owner, const char* caller) {
  auto* const optimizer = as_amp_optimizer(owner);
  if (optimizer == nullptr) return Gradients::of(owner, HalfGradients::Refused, caller);
  const auto half =
      optimizer->has_master_weights() ? HalfGradients::Allowed : HalfGradients::Refused;
  const auto masters = optimizer->parameters_to_unscale();
  return masters.empty() ? Gradients::of(owner, half, caller)
                         : Gradients::of(masters, half, caller);
}

/// One address for an object, through whichever of its bases it is seen.
template <class Optimizer>
const void* address_of(Optimizer& optimizer) {
  if constexpr (std::is_polymorphic_v<Optimizer>) {
    return dynamic_cast<const void*>(std::addressof(optimizer));
  } else {
    return std::addressof(optimizer);
  }
}

/// The same of an optimizer; null for a range of parameters.
template <class Owner>
const void* optimizer_address_of(Owner& owner) {
  return has_param_groups<Owner> ? address_of(owner) : nullptr;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
