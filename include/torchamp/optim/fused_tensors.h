// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/parallel.h>
#include <torchamp/optim/step_count.h>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Tensors as one call of a fused operator takes them: the n-th of each list belongs to the n-th
/// parameter. A list that the operator does not need is empty.
struct FusedLists {
  at::TensorList params;
  at::TensorList grads;
  std::array<at::TensorList, 3> moments;  // what the optimizer remembers, by parameter
  at::TensorList steps;
  bool is_first_step_possible;  // the host cannot tell that these parameters have taken a step

  std::optional<at::Tensor> grad_scale;  // 0-dim float32: gradients are to be divided by it
  std::optional<at::Tensor> found_inf;   // 0-dim float32: if 1, nothing is to be done
};

/// The parameters of one group, device and dtype that a fused optimizer steps together.
class FusedTensors {
 public:
  /// LibTorch's CPU operators divide each tensor among the threads, whatever its size. For tensors
  /// below this number of elements that costs more than it saves, up to 40 times: they are divided
  /// among the threads as whole tensors instead.
  static constexpr int64_t small_numel = 1 << 16;

  /// What parameters must have in common to be in one call.
  struct Key {
    c10::Device device;
    at::ScalarType dtype;
    bool is_small;           // and on a CPU
    const StepCount* count;  // null if parameters of different counts may be together

    bool operator==(const Key& other) const {
      return device == other.device && dtype == other.dtype && is_small == other.is_small &&
             count == other.count;
    }
  };

  explicit FusedTensors(const Key& key) : key_(key) {}

  static bool is_small(const at::Tensor& parameter) {
    return parameter.device().is_cpu() && parameter.numel() < small_numel;
  }

  const Key& key() const { return key_; }

  void add(const at::Tensor& parameter, at::Tensor gradient,
           const std::array<at::Tensor*, 3>& moments, const StepCount* count) {
    params_.push_back(parameter);
    grads_.push_back(std::move(gradient));
    for (std::size_t i = 0; i < moments.size(); ++i) {
      if (moments[i] != nullptr) moments_[i].push_back(*moments[i]);
    }
    if (count == nullptr) return;
    steps_.push_back(count->steps);
    is_first_step_possible_ |= !count->is_above_zero;
  }

  /// Calls `kernel(lists)`, on several threads with a part of the tensors each if they are small.
  template <class Kernel>
  void run(const at::Tensor& grad_scale, const at::Tensor& found_inf, const Kernel& kernel) const {
    const auto threads = static_cast<std::size_t>(at::get_num_threads());
    const auto run_part = [&](std::size_t begin, std::size_t end) {
      const c10::AutoGradMode no_grad(false);  // the thread may be another one
      if (begin != end) kernel(part(begin, end, grad_scale, found_inf));
    };
    if (!key_.is_small || params_.size() == 1 || threads == 1) return run_part(0, params_.size());
    for_each_part(params_.size(), (std::min)(threads, params_.size()), run_part);
  }

 private:
  static at::TensorList part(const std::vector<at::Tensor>& list, std::size_t begin,
                             std::size_t end) {
    if (list.empty()) return {};
    return at::TensorList(list.data() + begin, end - begin);
  }
  FusedLists part(std::size_t begin, std::size_t end, const at::Tensor& grad_scale,
                  const at::Tensor& found_inf) const {
    return {part(params_, begin, end),
            part(grads_, begin, end),
            {part(moments_[0], begin, end), part(moments_[1], begin, end),
             part(moments_[2], begin, end)},
            part(steps_, begin, end),
            is_first_step_possible_,
            grad_scale.defined() ? std::optional(grad_scale) : std::nullopt,
            found_inf.defined() ? std::optional(found_inf) : std::nullopt};
  }

  Key key_;
  std::vector<at::Tensor> params_;
  std::vector<at::Tensor> grads_;
  std::array<std::vector<at::Tensor>, 3> moments_;
  std::vector<at::Tensor> steps_;
  bool is_first_step_possible_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
