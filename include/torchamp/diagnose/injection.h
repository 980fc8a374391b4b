// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <c10/core/GradMode.h>
#include <c10/core/Layout.h>
#include <torch/arg.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// What to put in, where, and when. The default is inf, in the first element, at the first call.
struct Injection {
  /// Rounded to the dtype of what it is put into: 1e6 becomes inf in float16.
  TORCH_ARG(double, value) = std::numeric_limits<double>::infinity();
  /// Which element, counted row by row from 0; of a sparse tensor among the values that it has.
  TORCH_ARG(int64_t, element) = 0;
  /// At which call first, counted from 1.
  TORCH_ARG(int64_t, call) = 1;
  /// In how many calls in a row; 0 for all that follow.
  TORCH_ARG(int64_t, times) = 1;
  /// Only in this step, counted from 1, and calls are counted from its beginning. Where a step
  /// begins only the program knows, which says so by `next_step()`. Without one, calls are counted
  /// through all steps.
  TORCH_ARG(std::optional<int64_t>, step);
  /// Of an operator with several outputs, which one, counted from 0; lists count by their elements.
  TORCH_ARG(int64_t, output) = 0;
};

namespace detail {

/// Throws: [E31] if there is no such element among `count`.
inline void check_element(const Injection& injection, int64_t count, const std::string& what) {
  TORCHAMP_CHECK(E31, injection.element() < count, what, " has ", count,
                 " elements, none with the number ", injection.element(),
                 "; they are counted from 0");
}

/// Knows when a value is due, and puts it in. May be asked from several threads.
class InjectionPlan {
 public:
  /// Throws: [E31] for numbers that make no sense.
  InjectionPlan(Injection injection, const char* caller) : injection_(std::move(injection)) {
    TORCHAMP_CHECK(E31, injection_.element() >= 0 && injection_.output() >= 0, caller,
                   ": the element is ", injection_.element(), ", the output ", injection_.output(),
                   "; both are counted from 0");
    TORCHAMP_CHECK(E31, injection_.call() >= 1 && injection_.step().value_or(1) >= 1, caller,
                   ": the call is ", injection_.call(), ", the step ",
                   injection_.step().value_or(1), "; both are counted from 1");
    TORCHAMP_CHECK(E31, injection_.times() >= 0, caller, ": times is ", injection_.times(),
                   "; choose 1 or more, or 0 for all calls that follow");
  }

  const Injection& injection() const { return injection_; }

  int64_t injected() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return injected_;
  }

  void next_step() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++step_;
    if (injection_.step()) calls_ = 0;
  }

  /// From now on nothing is due.
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }

  /// Counts a call, and says whether it is one for the value.
  bool is_due() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (ended_ || injection_.step().value_or(step_) != step_) return false;
    const int64_t after_first = ++calls_ - injection_.call();
    return after_first >= 0 && (injection_.times() == 0 || after_first < injection_.times());
  }

  /// Puts the value into the memory of `tensor`, past autograd.   Host sync: none.
  /// Throws: [E31] if that cannot hold it.
  void put_into(const at::Tensor& tensor, const std::string& what);

 private:
  const Injection injection_;
  mutable std::mutex mutex_;
  int64_t step_ = 1;
  int64_t calls_ = 0;
  int64_t injected_ = 0;
  bool ended_ = false;
};

inline void InjectionPlan::put_into(const at::Tensor& tensor, const std::string& what) {
  const bool fits = tensor.defined() && (tensor.is_floating_point() || tensor.is_complex()) &&
                    (tensor.layout() == c10::kStrided || tensor.layout() == c10::kSparse) &&
                    !tensor.is_nested();
  TORCHAMP_CHECK(E31, fits, what,
                 " is no tensor of floating-point or complex numbers, strided or sparse");
  const c10::AutoGradMode no_grad(false);
  // data() shares the memory and not the version: backward takes what is saved as it finds it.
  at::Tensor place = tensor.data();
  if (place.layout() == c10::kSparse) place = place._values();
  check_element(injection_, place.numel(), what);
  int64_t rest = injection_.element();
  int64_t below = place.numel();
  while (place.dim() > 0) {
    below /= place.size(0);
    place = place.select(0, rest / below);
    rest %= below;
  }
  const auto wide = has_float64(place.device()) ? at::kDouble : at::kFloat;
  place.copy_(at::scalar_tensor(injection_.value(), place.options().dtype(wide)));
  const std::lock_guard<std::mutex> lock(mutex_);
  ++injected_;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
