// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/gradients.h>

#include <ATen/core/Tensor.h>

#include <memory>
#include <type_traits>

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

  /// True if `step_unless()` is to be called in place of `step()`, which saves the host from
  /// reading whether a gradient overflowed.
  virtual bool decides_on_device() const { return false; }

  /// A step, with gradients that are unscaled, unless `found_inf` is 1: then nothing changes,
  /// counters of steps included. `found_inf` is a 0-dim float32 tensor, exactly 0 or 1, on the
  /// device of the scale.   Host sync: to be none.
  /// Throws: [E20] unless overridden.
  virtual void step_unless(const at::Tensor& found_inf) {
    static_cast<void>(found_inf);
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

/// Whether half-precision gradients of `owner`, an optimizer or anything else, may be unscaled.
template <class Owner>
HalfGradients half_gradients_of(Owner& owner) {
  const auto* const optimizer = as_amp_optimizer(owner);
  const bool allowed = optimizer != nullptr && optimizer->has_master_weights();
  return allowed ? HalfGradients::Allowed : HalfGradients::Refused;
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

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
