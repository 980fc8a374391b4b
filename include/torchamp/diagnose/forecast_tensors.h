// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/each_tensor.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What is foreseen of a tensor of a float32 step, were the step in an autocast region.
struct TensorForecast {
  bool lower = false;        ///< it would be in the region's dtype
  bool parameter = false;    ///< it is a parameter, or was made of parameters alone
  bool same_values = false;  ///< it has a parameter's own values: a view of it
  bool view = false;         ///< it is a view of another
  bool undecided = false;    ///< made of no tensor: an operator around the one that did may know
  std::string module;        ///< whose parameters it is or was made with last; "" for none
  std::vector<std::string> parameters;  ///< their names, if `parameter`
  int64_t made_by = 0;  ///< the number of the call that made it, 0 for what was there before
};

/// The tensors of a step, each with its forecast. A tensor that is gone keeps its entry and its
/// address, so that no later one is taken for it; its memory is free.
class ForecastTensors {
 public:
  void set(const at::Tensor& tensor, TensorForecast forecast) {
    auto* const impl = tensor.unsafeGetTensorImpl();
    const auto found = known_.find(impl);
    if (found != known_.end()) {
      found->second.forecast = std::move(forecast);
      return;
    }
    known_.emplace(impl, Entry{Weak(tensor.getIntrusivePtr()), std::move(forecast)});
  }

  /// nullptr for a tensor that is not known: as data is, in float32.
  const TensorForecast* find(const at::Tensor& tensor) const {
    const auto found = known_.find(tensor.unsafeGetTensorImpl());
    return found == known_.end() ? nullptr : &found->second.forecast;
  }

 private:
  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Entry {
    Weak keeps_address;
    TensorForecast forecast;
  };
  std::unordered_map<const c10::TensorImpl*, Entry> known_;
};

/// The defined tensors among the arguments or results of an operator, those in lists too.
template <class Values>
std::vector<at::Tensor> tensors_in(const Values& values) {
  std::vector<at::Tensor> tensors;
  const auto add = [&tensors](const at::Tensor& tensor) { tensors.push_back(tensor); };
  for (const c10::IValue& value : values) {
    if (value.isTuple()) {
      for_each_tensor_in(value.toTupleRef().elements().asArrayRef(), add);
    } else {
      for_each_tensor(value, add);
    }
  }
  return tensors;
}

/// What a module without a registered name is called: the one that a dry run is given.
inline constexpr char outermost_module[] = "the outermost module";

/// Where operators stand that have nothing to do with a parameter yet.
inline constexpr char before_any_parameter[] = "before any parameter";

/// The module that a parameter belongs to: "conv2" for "conv2.weight".
inline std::string module_with(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? outermost_module : parameter.substr(0, dot);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
