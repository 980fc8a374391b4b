// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/op_stats.h>
#include <torchamp/diagnose/op_stats_report.h>
#include <torchamp/diagnose/operator_scope.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Which operators one step ran: why AMP was slow or fast.
struct StepProfile {
  int64_t operators = 0;       ///< that the step asked for, those inside of others not counted
  int64_t half_operators = 0;  ///< of which in half precision
  bool float16 = false;        ///< some of them in float16
  int64_t casts = 0;           ///< conversions to another dtype, by autocast or not
  double seconds = 0;          ///< in operators, on the host: on a CPU that is their work
  double cast_seconds = 0;     ///< of which in casts
  /// Half-precision products and convolutions with a size that is no multiple of 8, each once:
  /// "aten::addmm 64 x 4096 by 4096 x 10".
  std::vector<std::string> odd_sizes;

  double cast_share() const { return seconds > 0 ? cast_seconds / seconds : 0; }
};

namespace detail {

inline bool is_half(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

inline bool tensor_at(c10::ArrayRef<const c10::IValue> inputs, std::size_t place,
                      at::Tensor& tensor) {
  if (place >= inputs.size() || !inputs[place].isTensor()) return false;
  tensor = inputs[place].toTensor();
  return tensor.defined();
}

inline std::string sizes_text(const at::Tensor& tensor) {
  std::string text;
  for (const auto size : tensor.sizes()) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

/// The sizes of a product or a convolution that a tensor core sees, if it is one in half precision
/// and has one that is no multiple of 8; else "".
inline std::string odd_sizes(const char* name, c10::ArrayRef<const c10::IValue> inputs) {
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  const bool product = is("aten::mm") || is("aten::bmm");
  const bool sum = is("aten::addmm") || is("aten::baddbmm");
  const bool convolution = is("aten::convolution");
  at::Tensor left;
  at::Tensor right;
  const std::size_t first = sum ? 1 : 0;
  if (!product && !sum && !convolution) return "";
  if (!tensor_at(inputs, first, left) || !tensor_at(inputs, first + 1, right)) return "";
  if (!is_half(left) || !is_half(right) || right.dim() < 2) return "";

  // Of a convolution the channels: the first two sizes of its weight. Of a product, rows and
  // columns: the last two of each factor.
  bool odd = false;
  const auto look = [&odd](const at::Tensor& tensor, int64_t place) {
    odd = odd || tensor.size(place) % 8 != 0;
  };
  for (const int64_t place : {0, 1}) look(right, convolution ? place : -1 - place);
  if (!convolution) look(left, -2);
  if (!odd) return "";
  const std::string weight = sizes_text(right);
  return std::string(name) +
         (convolution ? ", weight " + weight : " " + sizes_text(left) + " by " + weight);
}

/// Gathers odd sizes, each once.   Threads: any number, those of backward report as well.
class OddSizes : public OperatorObserver {
 public:
  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                               c10::ArrayRef<const c10::IValue> inputs) override {
    const std::string odd = odd_sizes(call.name(), inputs);
    if (odd.empty()) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::find(known_.begin(), known_.end(), odd) == known_.end()) known_.push_back(odd);
    return nullptr;
  }
  void finished(const at::RecordFunction& /*call*/, const std::vector<c10::IValue>& /*outputs*/,
                at::ObserverContext* /*context*/) override {}

  bool calls_operators() const override { return false; }

  std::vector<std::string> known() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return known_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> known_;
};

}  // namespace detail

/// Calls `step` and tells which operators it ran, in this thread and in those of its backward.
/// Host sync: none.
template <class Step>
StepProfile profile_step(Step&& step) {
  const auto odd_sizes = std::make_shared<detail::OddSizes>();
  const OperatorScope scope(odd_sizes);
  const OpStats stats;
  std::forward<Step>(step)();
  const OpStatsReport counted = stats.report();
  const OpStatsCasts casts = counted.casts();

  StepProfile profile;
  profile.operators = counted.calls() + counted.casts_back.calls;  // backward asks for those
  profile.half_operators = counted.lower_calls();
  profile.float16 = std::any_of(counted.rows.begin(), counted.rows.end(),
                                [](const OpStatsRow& row) { return row.dtype == at::kHalf; });
  profile.casts = casts.calls + counted.other_casts.calls;
  profile.seconds = counted.seconds;
  profile.cast_seconds = casts.seconds + counted.other_casts.seconds;
  profile.odd_sizes = odd_sizes->known();
  return profile;
}

}  // namespace v0
}  // namespace torchamp
