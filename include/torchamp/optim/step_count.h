// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/copy_to.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logical_not.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// How many steps some parameters have taken, always together, counted on their device: a skipped
/// step leaves it as it is without the host having to know. Exact up to 2^24 steps, where it stays.
struct StepCount {
  at::Tensor steps;          // 0-dim float32, as LibTorch's fused operators take it
  bool is_above_zero;        // false if the host cannot tell
  std::size_t owners = 0;    // parameters that share it
  std::size_t stepping = 0;  // used by count_step()
  std::shared_ptr<StepCount> successor;
};

using SharedStepCount = std::shared_ptr<StepCount>;

/// Makes counts for the parameters that are met for the first time in one step; those that have
/// taken equally many share one.   Host sync: none.
class NewStepCounts {
 public:
  SharedStepCount share(c10::Device device, int64_t steps) {
    for (const auto& [known_steps, count] : made_) {
      if (known_steps == steps && count->steps.device() == device) {
        ++count->owners;
        return count;
      }
    }
    const auto options = at::TensorOptions().device(device).dtype(at::kFloat);
    made_.emplace_back(steps, std::make_shared<StepCount>(StepCount{at::full({}, steps, options),
                                                                    steps > 0, 1, 0, nullptr}));
    return made_.back().second;
  }

 private:
  std::vector<std::pair<int64_t, SharedStepCount>> made_;
};

/// Counts one step of the parameters that own `counts`, unless `found_inf`, if it is defined, is 1.
/// Parameters that have always stepped together share one count; those that leave others behind
/// get a new one.   Host sync: none.
inline void count_step(const std::vector<SharedStepCount*>& counts, const at::Tensor& found_inf) {
  std::vector<SharedStepCount> distinct;
  for (const auto* count : counts) {
    if ((*count)->stepping++ == 0) distinct.push_back(*count);
  }
  for (auto& count : distinct) {
    const auto stepping = std::exchange(count->stepping, 0);
    if (stepping == count->owners) continue;
    count->successor = std::make_shared<StepCount>(
        StepCount{count->steps.clone(), count->is_above_zero, stepping, 0, nullptr});
    count->owners -= stepping;
  }
  for (auto* count : counts) {
    if ((*count)->successor) *count = (*count)->successor;
  }
  std::vector<std::pair<c10::Device, std::vector<at::Tensor>>> per_device;
  for (auto& count : distinct) {
    if (count->successor) count = std::exchange(count->successor, nullptr);
    const auto device = count->steps.device();
    if (per_device.empty() || per_device.back().first != device) per_device.push_back({device, {}});
    per_device.back().second.push_back(count->steps);
  }
  for (const auto& [device, steps] : per_device) {
    if (found_inf.defined()) {
      at::_foreach_add_(steps, at::logical_not(copy_to(found_inf, device)));
    } else {
      at::_foreach_add_(steps, 1);
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
