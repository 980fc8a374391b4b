// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/gradients.h>
#include <torchamp/diagnose/value_range.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// True for tensors whose range can be measured: floating-point or complex, of a layout whose
/// numbers can be reached, not on the meta device, not empty.
inline bool has_range(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.is_floating_point() || tensor.is_complex()) &&
         !tensor.is_nested() && !tensor.is_meta() && has_reachable_values(tensor) &&
         tensor.numel() > 0;
}

/// Ranges of many tensors, measured when they are added, where they are. On a CPU that is one pass
/// over the memory; what is on other devices is read by the host together, at the end.
class RangeReadings {
 public:
  /// With `by_operators` what is on a CPU is measured as on other devices.
  explicit RangeReadings(bool by_operators = false) : by_operators_(by_operators) {}

  /// Measures `tensor` times `factor`, which is positive, and returns its number, counted from 0.
  /// The tensor is floating-point or complex, not nested, and not on the meta device.
  /// Host sync: none, but for a sparse tensor that has to be coalesced.
  std::size_t add(const at::Tensor& tensor, float factor = 1);

  /// What was measured, by those numbers.   Host sync: one read for each device but a CPU.
  std::vector<ValueRange> read() &&;

 private:
  static ValueRange measure_memory(const at::Tensor& numbers, float factor);
  static at::Tensor measure(const at::Tensor& numbers, float factor);
  static void fill(ValueRange& range, const int64_t* measured);

  struct Pending {  // what was measured on one device
    c10::Device device;
    std::vector<std::size_t> which;
    std::vector<at::Tensor> measured;
  };

  bool by_operators_;
  std::vector<ValueRange> ranges_;
  std::vector<Pending> pending_;
};

// Note [Ranges from the bits of a float32]
// A float32 without its sign, read as an integer, grows with its number: 0, then the finite
// magnitudes, then inf at 0x7f800000, then NaN. The 23 lowest bits are the fraction; adding all of
// them rounds up to the next power of two, whose exponent is in the bits above. So integers are all
// that a device must be able to compare, add and count. A float64 is the same, with 52 such bits,
// and holds the product of two float32s exactly.
inline constexpr int32_t float32_magnitude = 0x7fffffff;
inline constexpr int32_t float32_inf_bits = 0x7f800000;
inline constexpr int32_t float32_fraction = 0x007fffff;
inline constexpr int64_t float64_fraction = 0x000fffffffffffff;

inline std::size_t RangeReadings::add(const at::Tensor& tensor, float factor) {
  const at::NoGradGuard no_grad;
  at::Tensor values = tensor.detach();
  if (values.layout() == c10::kSparse) values = values.coalesce();
  if (!has_reachable_values(values)) values = values.to_dense();
  const at::Tensor numbers = reachable_values(values).to(at::kFloat).contiguous();
  const std::size_t which = ranges_.size();
  ranges_.emplace_back().count = numbers.numel();
  if (numbers.numel() == 0) return which;
  if (numbers.is_cpu() && !by_operators_) {
    ranges_.back() = measure_memory(numbers, factor);
    return which;
  }
  auto pending = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& known) {
    return known.device == numbers.device();
  });
  if (pending == pending_.end()) {
    pending = pending_.insert(pending, Pending{numbers.device(), {}, {}});
  }
  pending->which.push_back(which);
  pending->measured.push_back(measure(numbers, factor));
  return which;
}

inline ValueRange RangeReadings::measure_memory(const at::Tensor& numbers, float factor) {
  const auto* const data = static_cast<const char*>(numbers.const_data_ptr());
  ValueRange range;
  range.count = numbers.numel();
  double smallest = (std::numeric_limits<double>::max)();
  for (int64_t i = 0; i < range.count; ++i) {
    int32_t bits = 0;
    std::memcpy(&bits, data + i * static_cast<int64_t>(sizeof bits), sizeof bits);
    bits &= float32_magnitude;
    if (bits == 0) {
      ++range.zeros;
      continue;
    }
    if (bits >= float32_inf_bits) {
      ++(bits == float32_inf_bits ? range.infs : range.nans);
      continue;
    }
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    const double magnitude = static_cast<double>(number) * factor;
    range.largest = (std::max)(range.largest, magnitude);
    smallest = (std::min)(smallest, magnitude);
    if (magnitude >= float16_overflows) ++range.above_float16;
    if (magnitude < float16_smallest_normal) ++range.below_normal;
    int64_t wide = 0;
    std::memcpy(&wide, &magnitude, sizeof wide);
    const auto exponent = static_cast<int>(((wide + float64_fraction) >> 52) - 1023);
    const int bin = (std::min)((std::max)(exponent, ValueRange::lowest_exponent),
                               ValueRange::highest_exponent) -
                    ValueRange::lowest_exponent;
    ++range.by_exponent[static_cast<std::size_t>(bin)];
  }
  if (range.largest > 0) range.smallest = smallest;
  return range;
}

/// The numbers that `fill()` takes, as an int64 tensor.
inline at::Tensor RangeReadings::measure(const at::Tensor& numbers, float factor) {
  constexpr auto bins = static_cast<int64_t>(ValueRange::bins);
  const at::Tensor bits = numbers.view(at::kInt).bitwise_and(float32_magnitude).reshape(-1);
  at::Tensor finite = bits.masked_fill(bits.ge(float32_inf_bits), 0);
  const at::Tensor is_zero = finite.eq(0);
  if (factor != 1) {
    constexpr double largest = (std::numeric_limits<float>::max)();
    finite = finite.view(at::kFloat).mul(factor).clamp_max_(largest).view(at::kInt);
  }
  const auto not_below = [&finite](double limit) {
    const auto narrow = static_cast<float>(limit);
    int32_t limit_bits = 0;
    std::memcpy(&limit_bits, &narrow, sizeof limit_bits);
    return finite.ge(limit_bits);
  };
  const at::Tensor summary =
      at::stack({is_zero.sum(), bits.eq(float32_inf_bits).sum(), bits.gt(float32_inf_bits).sum(),
                 not_below(float16_overflows).sum(),
                 not_below(float16_smallest_normal).logical_or_(is_zero).logical_not_().sum(),
                 finite.amax().to(at::kLong),
                 finite.masked_fill(is_zero, float32_inf_bits).amin().to(at::kLong)});

  const at::Tensor exponents =
      finite.add(float32_fraction).bitwise_right_shift(23).sub_(127 + ValueRange::lowest_exponent);
  // Zeros, and what is not finite, go to a bin of their own behind the others.
  const at::Tensor bin = exponents.clamp_(0, bins - 1).masked_fill_(is_zero, bins);
  const at::Tensor one = at::ones({1}, numbers.options().dtype(at::kLong));
  const at::Tensor counts =
      at::zeros({bins + 1}, one.options()).index_add_(0, bin, one.expand({bin.numel()}));
  return at::cat({summary, counts.narrow(0, 0, bins)});
}

inline void RangeReadings::fill(ValueRange& range, const int64_t* measured) {
  const auto as_number = [](int64_t bits) {
    const auto narrow = static_cast<uint32_t>(bits);
    float number = 0;
    std::memcpy(&number, &narrow, sizeof number);
    return static_cast<double>(number);
  };
  range.infs = measured[1];
  range.nans = measured[2];
  range.zeros = measured[0] - range.infs - range.nans;  // they were made 0
  range.above_float16 = measured[3];
  range.below_normal = measured[4];
  if (range.non_zero() > 0) {
    range.largest = as_number(measured[5]);
    range.smallest = as_number(measured[6]);
  }
  std::copy_n(measured + 7, ValueRange::bins, range.by_exponent.begin());
}

inline std::vector<ValueRange> RangeReadings::read() && {
  for (const Pending& pending : pending_) {
    const at::Tensor all = at::stack(pending.measured).cpu();
    const auto* next = all.const_data_ptr<int64_t>();
    for (const std::size_t which : pending.which) {
      fill(ranges_[which], next);
      next += all.size(1);
    }
  }
  return std::move(ranges_);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
