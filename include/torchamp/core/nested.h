// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// `value` with `function` applied to each tensor in it. Takes tensors and what C++ programs nest
/// them in: vector, array, optional, pair, tuple, map and unordered_map (their values), to any
/// depth. The result has the type of `value`; anything else does not compile, and says so.
template <class Function>
at::Tensor transform_tensors(const at::Tensor& tensor, const Function& function);
template <class T, class Function>
std::vector<T> transform_tensors(const std::vector<T>& values, const Function& function);
template <class T, std::size_t n, class Function>
std::array<T, n> transform_tensors(const std::array<T, n>& values, const Function& function);
template <class T, class Function>
std::optional<T> transform_tensors(const std::optional<T>& value, const Function& function);
template <class A, class B, class Function>
std::pair<A, B> transform_tensors(const std::pair<A, B>& values, const Function& function);
template <class... T, class Function>
std::tuple<T...> transform_tensors(const std::tuple<T...>& values, const Function& function);
template <class K, class T, class C, class Function>
std::map<K, T, C> transform_tensors(const std::map<K, T, C>& values, const Function& function);
template <class K, class T, class H, class E, class Function>
std::unordered_map<K, T, H, E> transform_tensors(const std::unordered_map<K, T, H, E>& values,
                                                 const Function& function);

namespace detail {
template <class>
inline constexpr bool never = false;
}  // namespace detail

template <class T, class Function>
std::enable_if_t<!std::is_convertible_v<const T&, const at::Tensor&>, T> transform_tensors(
    const T& /*value*/, const Function& /*function*/) {
  static_assert(detail::never<T>,
                "torchamp takes a tensor, or vector, array, optional, pair, tuple, map or"
                " unordered_map of tensors, nested to any depth");
}

template <class Function>
at::Tensor transform_tensors(const at::Tensor& tensor, const Function& function) {
  return function(tensor);
}

template <class T, class Function>
std::vector<T> transform_tensors(const std::vector<T>& values, const Function& function) {
  std::vector<T> results;
  results.reserve(values.size());
  for (const auto& value : values) results.push_back(transform_tensors(value, function));
  return results;
}

template <class T, std::size_t n, class Function>
std::array<T, n> transform_tensors(const std::array<T, n>& values, const Function& function) {
  std::array<T, n> results = values;
  for (auto& result : results) result = transform_tensors(result, function);
  return results;
}

template <class T, class Function>
std::optional<T> transform_tensors(const std::optional<T>& value, const Function& function) {
  if (!value) return std::nullopt;
  return transform_tensors(*value, function);
}

template <class A, class B, class Function>
std::pair<A, B> transform_tensors(const std::pair<A, B>& values, const Function& function) {
  return {transform_tensors(values.first, function), transform_tensors(values.second, function)};
}

template <class... T, class Function>
std::tuple<T...> transform_tensors(const std::tuple<T...>& values, const Function& function) {
  return std::apply(
      [&](const T&... each) { return std::tuple<T...>{transform_tensors(each, function)...}; },
      values);
}

template <class K, class T, class C, class Function>
std::map<K, T, C> transform_tensors(const std::map<K, T, C>& values, const Function& function) {
  std::map<K, T, C> results(values.key_comp());
  for (const auto& [key, value] : values) results.emplace(key, transform_tensors(value, function));
  return results;
}

template <class K, class T, class H, class E, class Function>
std::unordered_map<K, T, H, E> transform_tensors(const std::unordered_map<K, T, H, E>& values,
                                                 const Function& function) {
  std::unordered_map<K, T, H, E> results(values.size(), values.hash_function(), values.key_eq());
  for (const auto& [key, value] : values) results.emplace(key, transform_tensors(value, function));
  return results;
}

}  // namespace v0
}  // namespace torchamp
