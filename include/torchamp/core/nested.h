// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>

#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// `value` with `function` applied to each tensor in it. Takes a tensor, an optional, pair or
/// tuple, or any range (of a map, the values), nested to any depth. A container comes back as one
/// of its own type, with its comparator, hash and allocator; a range that only refers to its
/// elements (std::span, at::TensorList, an array of C) comes back as a std::vector, and what it
/// refers to stays as it is. Anything else does not compile, and says so.
template <class T, class Function>
auto transform_tensors(const T& value, const Function& function);

namespace detail {

template <class>
inline constexpr bool never = false;

template <class T, template <class...> class Template>
inline constexpr bool is_a = false;
template <class... Part, template <class...> class Template>
inline constexpr bool is_a<Template<Part...>, Template> = true;

template <class T>
inline constexpr bool is_tensor = std::is_convertible_v<const T&, const at::Tensor&>;

template <class T>
using element_of = decltype(*std::begin(std::declval<T&>()));

template <class T, class = void>
inline constexpr bool is_range = false;
template <class T>
inline constexpr bool is_range<T, std::void_t<element_of<T>>> = true;

template <class T, class = void>
inline constexpr bool is_map = false;
template <class T>
inline constexpr bool is_map<T, std::void_t<typename T::key_type, typename T::mapped_type>> = true;

/// True for references through which an element can be assigned.
template <class Reference>
inline constexpr bool is_writable =
    std::is_lvalue_reference_v<Reference> && !std::is_const_v<std::remove_reference_t<Reference>>;

/// True if a copy of the range has elements of its own: they can be written through the range, but
/// not through a const one. Through a const view one can, or through none.
template <class T>
constexpr bool owns_its_elements() {
  if constexpr (std::is_array_v<T>) {
    return false;
  } else {
    return is_writable<element_of<T>> && !is_writable<element_of<const T>>;
  }
}

template <class T, class Function>
using transformed = std::decay_t<decltype(transform_tensors(std::declval<const T&>(),
                                                            std::declval<const Function&>()))>;

template <class Range, class Function>
auto transform_range(const Range& range, const Function& function) {
  if constexpr (is_map<Range>) {
    using Value = typename Range::mapped_type;
    static_assert(std::is_same_v<transformed<Value, Function>, Value>,
                  "torchamp: a map must hold its tensors itself, not views of them");
    Range results = range;
    for (auto&& entry : results) entry.second = transform_tensors(entry.second, function);
    return results;
  } else {
    using Element = std::decay_t<element_of<const Range>>;
    using Result = transformed<Element, Function>;
    if constexpr (owns_its_elements<Range>() && std::is_same_v<Result, Element>) {
      Range results = range;
      for (auto& element : results) element = transform_tensors(element, function);
      return results;
    } else {
      std::vector<Result> results;
      for (auto&& element : range) results.push_back(transform_tensors(element, function));
      return results;
    }
  }
}

}  // namespace detail

template <class T, class Function>
auto transform_tensors(const T& value, const Function& function) {
  if constexpr (detail::is_tensor<T>) {
    return at::Tensor(function(static_cast<const at::Tensor&>(value)));
  } else if constexpr (detail::is_a<T, std::optional>) {
    using Result = std::optional<detail::transformed<typename T::value_type, Function>>;
    return value ? Result(transform_tensors(*value, function)) : Result();
  } else if constexpr (detail::is_a<T, std::pair>) {
    return std::make_pair(transform_tensors(value.first, function),
                          transform_tensors(value.second, function));
  } else if constexpr (detail::is_a<T, std::tuple>) {
    return std::apply(
        [&](const auto&... each) { return std::make_tuple(transform_tensors(each, function)...); },
        value);
  } else if constexpr (detail::is_range<const T>) {
    return detail::transform_range(value, function);
  } else {
    static_assert(detail::never<T>,
                  "torchamp takes a tensor, or an optional, pair, tuple, map or any range of"
                  " tensors, nested to any depth");
  }
}

}  // namespace v0
}  // namespace torchamp
