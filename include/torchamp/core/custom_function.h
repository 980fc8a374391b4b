// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/autocast.h>
#include <torchamp/core/autocast_state.h>
#include <torchamp/core/nested.h>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// A custom autograd function that knows about autocast: Python's custom_fwd and custom_bwd. Write
/// it as a torch::autograd::Function, with this base:
///
///     struct Distance : torchamp::AutocastFunction<Distance> {
///       static constexpr auto cast_inputs = at::kFloat;  // optional
///       static at::Tensor forward(AutogradContext* ctx, at::Tensor a, at::Tensor b);
///       static variable_list backward(AutogradContext* ctx, variable_list gradients);
///     };
///     auto distance = Distance::apply(a, b);
///
/// (Not inside a function if it has `cast_inputs`: local classes have no static members in C++.)
///
/// - Without `cast_inputs`, forward runs as it is, in the state of its caller.
/// - With it, in a region, forward is given its tensors in that dtype and runs with autocast off.
///   Cast are floating-point tensors, but not float64, on devices that the region is about:
///   arguments of their own, in std::optional and TensorList, and in nested containers
///   (core/nested.h; as with any torch::autograd::Function, autograd does not look into those).
///   Outside regions nothing is cast.
/// - backward runs in the state that forward ran in, also when it runs elsewhere: on one of
///   autograd's threads, outside the region, inside another. With `cast_inputs` that is: off.
template <class Derived>
class AutocastFunction {
 public:
  /// Runs forward, and remembers how to run backward.   Host sync: none of its own.
  template <class... Arguments>
  static auto apply(Arguments&&... arguments);
};

namespace detail {

template <class Derived, class = void>
inline constexpr bool has_cast_inputs = false;
template <class Derived>
inline constexpr bool has_cast_inputs<Derived, std::void_t<decltype(Derived::cast_inputs)>> = true;

/// Of the values in a nest, whether there are tensors and whether there are others.
struct Leaves {
  bool tensors;
  bool others;
};
template <class T>
constexpr Leaves leaves_of();
template <class... T>
constexpr Leaves leaves_of_all(const std::tuple<T...>* /*type*/) {
  return {(false || ... || leaves_of<T>().tensors), (false || ... || leaves_of<T>().others)};
}
template <class T>
constexpr Leaves leaves_of() {
  if constexpr (is_tensor<T>) {
    return {true, false};
  } else if constexpr (is_a<T, std::optional>) {
    return leaves_of<typename T::value_type>();
  } else if constexpr (is_a<T, std::pair>) {
    return leaves_of_all(static_cast<std::tuple<std::decay_t<typename T::first_type>,
                                                std::decay_t<typename T::second_type>>*>(nullptr));
  } else if constexpr (is_a<T, std::tuple>) {
    return leaves_of_all(static_cast<T*>(nullptr));
  } else if constexpr (is_map<T>) {
    return leaves_of<typename T::mapped_type>();
  } else if constexpr (is_range<const T>) {
    using Element = std::decay_t<element_of<const T>>;
    if constexpr (!std::is_same_v<Element, T>) return leaves_of<Element>();  // a path has paths
  }
  return {false, true};
}

inline at::Tensor cast_input(const at::Tensor& tensor, at::ScalarType dtype) {
  const bool casts = tensor.defined() && tensor.is_floating_point() &&
                     tensor.scalar_type() != at::kDouble && is_autocasting(tensor.device().type());
  return casts ? tensor.to(dtype) : tensor;
}

/// An argument as forward gets it: its tensors cast, all else handed through.
template <class Argument>
decltype(auto) cast_argument(Argument&& argument, at::ScalarType dtype) {
  using T = std::remove_cv_t<std::remove_reference_t<Argument>>;
  const auto cast = [dtype](const at::Tensor& tensor) { return cast_input(tensor, dtype); };
  static_assert(
      !(leaves_of<T>().tensors && leaves_of<T>().others),
      "torchamp::AutocastFunction: a container with tensors and other things in it can't be"
      " cast; give forward() the tensors and the other things in arguments of their own");
  if constexpr (leaves_of<T>().tensors) {
    return transform_tensors(argument, cast);  // of a TensorList: a vector, for forward to view
  } else {
    return std::forward<Argument>(argument);
  }
}

template <class Derived, class Argument>
decltype(auto) forward_argument(Argument&& argument) {
  if constexpr (has_cast_inputs<Derived>) {
    return cast_argument(std::forward<Argument>(argument), Derived::cast_inputs);
  } else {
    return std::forward<Argument>(argument);
  }
}

/// What Derived::forward returns for these arguments; void if it does not take them.
template <class Derived, class List, class = void>
struct ForwardResult {
  using type = void;
};
template <class Derived, class... Arguments>
struct ForwardResult<Derived, std::tuple<Arguments...>,
                     std::void_t<decltype(Derived::forward(
                         std::declval<torch::autograd::AutogradContext*>(),
                         forward_argument<Derived>(std::declval<Arguments>())...))>> {
  using type = decltype(Derived::forward(std::declval<torch::autograd::AutogradContext*>(),
                                         forward_argument<Derived>(std::declval<Arguments>())...));
};

template <class Derived, class = void>
inline constexpr bool has_backward = false;
template <class Derived>
inline constexpr bool has_backward<
    Derived, std::enable_if_t<std::is_convertible_v<
                 decltype(Derived::backward(std::declval<torch::autograd::AutogradContext*>(),
                                            std::declval<torch::autograd::variable_list>())),
                 torch::autograd::variable_list>>> = true;

/// The node that autograd sees: Derived's forward and backward, each in its state.
template <class Derived>
struct AutocastNode : torch::autograd::Function<AutocastNode<Derived>> {
  // A state goes through ctx->saved_data as its bytes, since an IValue is no place for structs.
  static_assert(std::is_trivially_copyable_v<AutocastState>);
  static constexpr char key[] = "torchamp.autocast_state";

  template <class... Arguments>
  static typename ForwardResult<Derived, std::tuple<Arguments&&...>>::type forward(
      torch::autograd::AutogradContext* ctx, Arguments&&... arguments) {
    const auto outer = AutocastState::current();
    const auto state = has_cast_inputs<Derived> ? outer.disabled() : outer;
    ctx->saved_data[key] = std::string(reinterpret_cast<const char*>(&state), sizeof state);
    return run(state, ctx, forward_argument<Derived>(std::forward<Arguments>(arguments))...);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list gradients) {
    auto state = AutocastState::current();
    const std::string& bytes = ctx->saved_data.at(key).toStringRef();
    std::memcpy(static_cast<void*>(&state), bytes.data(), sizeof state);
    const AutocastStateGuard guard(state);
    return Derived::backward(ctx, std::move(gradients));
  }

 private:
  // The arguments are cast before, in the state of the caller: it says what is to be cast.
  template <class... Arguments>
  static auto run(const AutocastState& state, torch::autograd::AutogradContext* ctx,
                  Arguments&&... arguments) {
    const AutocastStateGuard guard(state);
    return Derived::forward(ctx, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace detail

template <class Derived>
template <class... Arguments>
auto AutocastFunction<Derived>::apply(Arguments&&... arguments) {
  using Result = typename detail::ForwardResult<Derived, std::tuple<Arguments&&...>>::type;
  if constexpr (detail::has_cast_inputs<Derived>) {
    static_assert(std::is_same_v<std::decay_t<decltype(Derived::cast_inputs)>, at::ScalarType>,
                  "torchamp::AutocastFunction: cast_inputs is a dtype:"
                  " static constexpr auto cast_inputs = at::kFloat;");
  }
  if constexpr (!detail::has_backward<Derived>) {
    static_assert(sizeof(Derived) == 0,
                  "torchamp::AutocastFunction: write static variable_list"
                  " backward(AutogradContext*, variable_list)");
  } else if constexpr (std::is_void_v<Result>) {
    static_assert(sizeof(Derived) == 0,
                  "torchamp::AutocastFunction: forward(AutogradContext*, ...) does not take the"
                  " arguments given to apply(); with cast_inputs it takes tensors by value or const"
                  " reference");
  } else {
    static_assert(std::is_same_v<Result, at::Tensor> ||
                      std::is_same_v<Result, torch::autograd::variable_list>,
                  "torchamp::AutocastFunction: forward() returns a Tensor or a variable_list");
    return detail::AutocastNode<Derived>::apply(std::forward<Arguments>(arguments)...);
  }
}

}  // namespace v0
}  // namespace torchamp
