// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/optimizer_stages.h>
#include <torchamp/detail/parameters.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A step that a GradScaler skipped because a gradient was inf or NaN.
struct Overflow {
  int64_t step = 0;  ///< which `step()` of the scaler, of all optimizers together, from 1
  double scale = 0;  ///< that the loss was multiplied by
  /// True if finite gradients have been divided by the scale; inf and NaN stay what they are. False
  /// if that is left to the optimizer's step, or done in master copies.
  bool gradients_are_divided = true;
  /// The optimizer's, each with its place: "parameter 1 of group 0".
  std::vector<std::pair<std::string, at::Tensor>> parameters;
};

/// The part of a GradScaler that tells somebody of an overflow, while the gradients are still
/// there.
class OverflowTeller {
 public:
  using Listener = std::function<void(const Overflow&)>;

  /// From now on, `listener` is called by each `step()` that was skipped, when all else in it is
  /// done: what the listener throws comes out of `step()`, and leaves the scaler in order. It takes
  /// the place of the one before; an empty one ends that, and then nothing costs anything.
  /// Host sync: at an overflow the scale is read. As long as there is a listener, the steps of
  /// optimizers that decide on an accelerator are read too, once a step: one cannot tell without
  /// knowing. report_overflows() in diagnose/overflow_report.h makes a listener that names the
  /// parameters.
  void on_overflow(Listener listener) {
    listener_ = listener ? std::make_shared<const Listener>(std::move(listener)) : nullptr;
  }

 protected:
  bool has_listener() const { return listener_ != nullptr; }

  /// Tells of a skipped step of `optimizer`, of which `stages` knows as `entry`.
  template <class Optimizer>
  void tell(Optimizer& optimizer, int64_t step, const at::Tensor& scale,
            const OptimizerStages& stages, const OptimizerStages::Entry& entry) const {
    if (!has_listener()) return;
    Overflow overflow;
    overflow.step = step;
    overflow.scale = scale.is_cpu() ? *scale.const_data_ptr<float>() : scale.item<float>();
    detail::for_each_parameter(optimizer, [&](const at::Tensor& parameter, const auto& place) {
      std::ostringstream name;
      name << place();
      overflow.parameters.emplace_back(name.str(), parameter);
      const at::Tensor& gradient = parameter.grad();
      if (gradient.defined() && !stages.is_divided(entry, gradient)) {
        overflow.gradients_are_divided = false;
      }
    });
    const auto listener = listener_;  // it may put another in its place
    (*listener)(overflow);
  }

  OverflowTeller() = default;
  OverflowTeller(const OverflowTeller&) = default;
  OverflowTeller& operator=(const OverflowTeller&) = default;
  OverflowTeller(OverflowTeller&&) = default;
  OverflowTeller& operator=(OverflowTeller&&) = default;
  ~OverflowTeller() = default;

 private:
  std::shared_ptr<const Listener> listener_;  // its state is one, whoever calls it
};

}  // namespace v0
}  // namespace torchamp
