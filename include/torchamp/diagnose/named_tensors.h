// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/parameters.h>

#include <ATen/core/Tensor.h>

#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// True for modules.
template <class T, class = void>
inline constexpr bool has_named_tensors = false;
template <class T>
inline constexpr bool
    has_named_tensors<T, std::void_t<decltype(std::declval<T&>().named_parameters()),
                                     decltype(std::declval<T&>().named_buffers())>> = true;

/// True for what holds or points to a module: torch::nn::Linear, a shared_ptr, …
template <class T, class = void>
inline constexpr bool points_to_named_tensors = false;
template <class T>
inline constexpr bool
    points_to_named_tensors<T, std::void_t<decltype(std::declval<T&>()->named_parameters())>> =
        true;

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// The name of a parameter, or where it stands: "conv.weight", "parameter 1 of group 0".
inline std::string name_at(const ParameterPlace& place) {
  if (place.name) return *place.name;
  std::ostringstream text;
  text << place;
  return text.str();
}

/// The parameters of a module, of what holds or points to one, or of a range, with their names.
template <class Model>
NamedTensors named_parameters_of(Model& model) {
  if constexpr (points_to_named_tensors<Model>) {
    return named_parameters_of(*model);
  } else if constexpr (has_named_tensors<Model>) {
    const auto parameters = model.named_parameters();
    return named_parameters_of(parameters);
  } else {
    static_assert(is_parameter_range<Model>,
                  "torchamp: this takes a module, or parameters with their names, as"
                  " named_parameters() has them");
    NamedTensors named;
    for_each_parameter(model, [&](const at::Tensor& parameter, const auto& place) {
      named.emplace_back(name_at(place()), parameter);
    });
    return named;
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
