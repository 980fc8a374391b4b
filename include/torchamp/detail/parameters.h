// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// True for types with `param_groups()` like that of torch::optim::Optimizer.
template <class T, class = void>
inline constexpr bool has_param_groups = false;
template <class T>
inline constexpr bool has_param_groups<
    T, std::void_t<decltype(std::begin(std::declval<T&>().param_groups())->params())>> = true;

/// True for types whose `step()` can be called without arguments. LBFGS needs a closure there.
template <class T, class = void>
inline constexpr bool has_step = false;
template <class T>
inline constexpr bool has_step<T, std::void_t<decltype(std::declval<T&>().step())>> = true;

/// A parameter as a range has it: a tensor, or one with its name (an item of `named_parameters()`,
/// or of a map).
inline const at::Tensor& tensor_of(const at::Tensor& parameter) { return parameter; }
template <class Key>
const at::Tensor& tensor_of(const std::pair<Key, at::Tensor>& parameter) {
  return parameter.second;
}
template <class Item>
auto tensor_of(const Item& item)
    -> decltype(item.key(), static_cast<const at::Tensor&>(item.value())) {
  return item.value();
}

/// The name that goes with it, if any.
inline std::optional<std::string> name_of(const at::Tensor& /*parameter*/) { return std::nullopt; }
template <class Key>
std::optional<std::string> name_of(const std::pair<Key, at::Tensor>& parameter) {
  if constexpr (std::is_convertible_v<const Key&, std::string>) return parameter.first;
  return std::nullopt;
}
template <class Item>
auto name_of(const Item& item) -> decltype(item.value(), std::optional<std::string>(item.key())) {
  return item.key();
}

/// True for ranges of parameters: vectors, lists, at::TensorList, `module->named_parameters()`, …
template <class T, class = void>
inline constexpr bool is_parameter_range = false;
template <class T>
inline constexpr bool
    is_parameter_range<T, std::void_t<decltype(tensor_of(*std::begin(std::declval<T&>())))>> = true;

/// Where a parameter stands, in the words of an error message.
struct ParameterPlace {
  std::size_t index;
  std::optional<std::size_t> group;  // of an optimizer
  std::optional<std::string> name;   // in a range that has names
};

inline std::ostream& operator<<(std::ostream& out, const ParameterPlace& place) {
  out << "parameter ";
  if (place.name) return out << '"' << *place.name << '"';
  out << place.index;
  if (place.group) out << " of group " << *place.group;
  return out;
}

/// Calls `visit(parameter, place)` for each parameter of an optimizer or a range; `place()` makes
/// the ParameterPlace, which only a message needs. Undefined tensors, as the bias of a layer
/// without one, are passed over.
template <class Owner, class Visit>
void for_each_parameter(Owner& owner, const Visit& visit) {
  std::size_t index = 0;
  if constexpr (has_param_groups<Owner>) {
    std::size_t group_number = 0;
    for (auto& group : owner.param_groups()) {
      index = 0;
      for (const at::Tensor& parameter : group.params()) {
        const auto place = [&] { return ParameterPlace{index, group_number, std::nullopt}; };
        if (parameter.defined()) visit(parameter, place);
        ++index;
      }
      ++group_number;
    }
  } else {
    for (const auto& element : owner) {
      const auto place = [&] { return ParameterPlace{index, std::nullopt, name_of(element)}; };
      if (tensor_of(element).defined()) visit(tensor_of(element), place);
      ++index;
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
