// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/overflow_listener.h>
#include <torchamp/diagnose/named_tensors.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/diagnose/non_finite_report.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/TensorImpl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <locale>
#include <ostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What was wrong when a GradScaler skipped a step.
struct OverflowReport {
  int64_t step = 0;  ///< which `step()` of the scaler, of all optimizers together, from 1
  double scale = 0;  ///< that the loss was multiplied by
  /// Whether finite gradients, and so `largest_finite`, have been divided by the scale.
  bool gradients_are_divided = true;
  NonFiniteReport gradients;  ///< those of the optimizer

  std::string to_text() const;
  friend std::ostream& operator<<(std::ostream& out, const OverflowReport& report) {
    return out << report.to_text();
  }
};

/// A listener for `GradScaler::on_overflow()`, which names the gradients that were inf or NaN.
///
///     scaler.on_overflow(torchamp::report_overflows(*model, [](const auto& report) {
///       std::cerr << report;
///     }));
///
/// `model` is a module, what holds or points to one, or parameters with their names; they are kept
/// alive. Parameters of an optimizer that are none of them are named by their place in it, and of
/// those in a FlatParameters the single ones are named.
/// Host sync: at an overflow, one read for each device and one of the scale; else as
/// `on_overflow()` says.
template <class Model>
OverflowTeller::Listener report_overflows(Model&& model,
                                          std::function<void(const OverflowReport&)> handle);

namespace detail {

/// True if the memory of `part` begins in that of `whole`.
inline bool begins_in(const at::Tensor& part, const at::Tensor& whole) {
  if (!part.defined() || !whole.defined()) return false;
  if (part.layout() != c10::kStrided || whole.layout() != c10::kStrided) return false;
  if (part.device() != whole.device()) return false;
  const auto* const begin = static_cast<const char*>(whole.const_data_ptr());
  const auto* const end = begin + whole.numel() * static_cast<int64_t>(whole.element_size());
  const auto* const part_begin = static_cast<const char*>(part.const_data_ptr());
  return std::less_equal<>()(begin, part_begin) && std::less<>()(part_begin, end);
}

/// The parameters of an optimizer, under the names that some of them have.
inline NamedTensors with_names(const NamedTensors& parameters, const NamedTensors& named) {
  std::unordered_map<const c10::TensorImpl*, const std::string*> name_of_parameter;
  for (const auto& [name, parameter] : named) {
    name_of_parameter.emplace(parameter.unsafeGetTensorImpl(), &name);
  }
  NamedTensors result;
  for (const auto& [place, parameter] : parameters) {
    const auto known = name_of_parameter.find(parameter.unsafeGetTensorImpl());
    if (known != name_of_parameter.end()) {
      result.emplace_back(*known->second, parameter);
      continue;
    }
    const std::size_t before = result.size();
    for (const auto& part : named) {
      if (begins_in(part.second.grad(), parameter.grad())) result.push_back(part);
    }
    if (result.size() == before) result.emplace_back(place, parameter);
  }
  return result;
}

}  // namespace detail

inline std::string OverflowReport::to_text() const {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << "step " << step << " was skipped, the scale was " << scale << ", finite gradients are "
       << (gradients_are_divided ? "divided by it\n" : "not yet divided by it\n")
       << gradients.to_text();
  if (gradients.empty()) {
    text << "  so it was their norm that overflowed, or they have changed since\n";
  }
  return text.str();
}

template <class Model>
OverflowTeller::Listener report_overflows(Model&& model,
                                          std::function<void(const OverflowReport&)> handle) {
  return [named = detail::named_parameters_of(model),
          handle = std::move(handle)](const Overflow& overflow) {
    OverflowReport report;
    report.step = overflow.step;
    report.scale = overflow.scale;
    report.gradients_are_divided = overflow.gradients_are_divided;
    report.gradients =
        find_non_finite(detail::with_names(overflow.parameters, named), NonFiniteIn::Gradients);
    handle(report);
  };
}

}  // namespace v0
}  // namespace torchamp
