// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/diagnose/named_tensors.h>
#include <torchamp/diagnose/range_readings.h>
#include <torchamp/diagnose/underflow_report.h>

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// What float16 loses of the present gradients at the present scale, and the scale that loses
/// least.
///
///     scaler.scale(loss).backward();
///     std::cout << torchamp::find_underflow(*model, scaler, torchamp::GradientsAre::Scaled);
///
/// `owner` is a module, an optimizer, or a range of parameters, with names or without. `scale` is a
/// scaler or a number, which is rounded to float32, as a scaler has it. Whether the gradients hold
/// that scale now is for the caller to say: after `unscale_()` or `step()` they are `Unscaled`.
/// `headroom` is how many times larger the largest gradient may get before the best scale
/// overflows.
///
/// It tells of the gradients as they are: what backward has flushed on its way is 0 now, and is
/// counted as zero. A gradient that several parameters share is counted once; of a sparse one, what
/// it holds.
/// Host sync: one read for each device but a CPU, the scaler's `get_scale()`, and what `coalesce()`
/// does for sparse gradients. On a CPU the gradients are read once, where they are.
/// Throws: [E08] for a scale that is not positive and finite in float32, or a headroom that is not
/// from 1 to 65504; [E31] for a gradient without values to look at: on the meta device, or nested.
template <class Owner, class Scale>
UnderflowReport find_underflow(Owner&& owner, const Scale& scale, GradientsAre gradients_are,
                               double headroom = 2);

namespace detail {

/// Looks at gradients one after the other; what is on a device is read at the end, at once.
class UnderflowSearch {
 public:
  /// With `by_operators` what is on a CPU is looked at as on other devices.   Throws: [E08].
  UnderflowSearch(double scale, GradientsAre gradients_are, double headroom,
                  bool by_operators = false);

  /// An optimizer or a range of parameters.   Throws: [E31].
  template <class Owner>
  void look_at(Owner& owner) {
    for_each_parameter(owner, [&](const at::Tensor& parameter, const auto& place) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) {
        ++report_.without_gradient;
      } else if (seen_.insert(gradient.unsafeGetTensorImpl()).second) {
        look(gradient, name_at(place()));
      }
    });
  }

  /// Host sync: one read a device.
  UnderflowReport finish() &&;

 private:
  void look(const at::Tensor& gradient, std::string name);

  float times_ = 1;  // from gradients to what float16 sees
  UnderflowReport report_;
  RangeReadings readings_;
  std::unordered_set<const c10::TensorImpl*> seen_;
};

inline UnderflowSearch::UnderflowSearch(double scale, GradientsAre gradients_are, double headroom,
                                        bool by_operators)
    : readings_(by_operators) {
  constexpr double largest = (std::numeric_limits<float>::max)();
  constexpr double smallest = (std::numeric_limits<float>::min)();
  TORCHAMP_CHECK(E08, scale >= smallest && scale <= largest, "find_underflow(): the scale is ",
                 scale, "; give a scaler, or a number from 2^-126 to below 2^128");
  TORCHAMP_CHECK(E08, headroom >= 1 && headroom <= float16_largest,
                 "find_underflow(): the headroom is ", headroom,
                 "; it is from 1 to 65504, as 2 for twice the largest gradient");
  const auto rounded = static_cast<float>(scale);
  if (gradients_are == GradientsAre::Unscaled) times_ = rounded;
  report_.scale = rounded;
  report_.headroom = headroom;
}

inline void UnderflowSearch::look(const at::Tensor& gradient, std::string name) {
  TORCHAMP_CHECK(E31, !gradient.is_meta(), "find_underflow(): the gradient of ", name,
                 " is on the meta device, and has no values; give parameters of another device");
  TORCHAMP_CHECK(E31, !gradient.is_nested(), "find_underflow(): the gradient of ", name,
                 " is a nested tensor; give the tensors in it");
  report_.tensors.push_back({std::move(name), gradient.scalar_type(), {}});
  readings_.add(gradient, times_);
}

inline UnderflowReport UnderflowSearch::finish() && {
  const auto ranges = std::move(readings_).read();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    report_.tensors[i].range = ranges[i];
    report_.gradients += ranges[i];
  }
  return std::move(report_);
}

}  // namespace detail

template <class Owner, class Scale>
UnderflowReport find_underflow(Owner&& owner, const Scale& scale, GradientsAre gradients_are,
                               double headroom) {
  using Bare = std::remove_reference_t<Owner>;
  if constexpr (!std::is_arithmetic_v<Scale>) {
    return find_underflow(owner, scale.get_scale(), gradients_are, headroom);
  } else if constexpr (detail::points_to_named_tensors<Bare>) {
    return find_underflow(*owner, scale, gradients_are, headroom);
  } else if constexpr (detail::has_named_tensors<Bare>) {
    const auto parameters = owner.named_parameters();
    return find_underflow(parameters, scale, gradients_are, headroom);
  } else {
    static_assert(detail::has_param_groups<Bare> || detail::is_parameter_range<Bare>,
                  "torchamp: find_underflow() takes a module, an optimizer, or a range of"
                  " parameters: model->named_parameters()");
    detail::UnderflowSearch search(static_cast<double>(scale), gradients_are, headroom);
    search.look_at(owner);
    return std::move(search).finish();
  }
}

}  // namespace v0
}  // namespace torchamp
