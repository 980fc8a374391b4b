// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/gradients.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_real.h>
#include <c10/core/ScalarType.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What is known of a tensor's values after they were looked at once.
struct ValueScan {
  int64_t inf_count = 0;
  int64_t nan_count = 0;
  int64_t largest_bits = 0;  // of the largest finite magnitude, as a number of the tensor's dtype
  int64_t first = 0;         // place of the first inf or NaN, if there is one

  bool finite() const { return inf_count == 0 && nan_count == 0; }
};

// Note [Magnitudes as integers]
// Without its sign bit, a floating-point number's bits are an integer that grows with the number:
// finite ones first, then inf, whose exponent bits are all 1 and whose fraction is 0, then NaNs.
// So one comparison of integers tells the three apart, for every width, and whatever the compiler
// was told about NaN (-ffast-math).

/// The integer dtype as wide as the real dtype `dtype`, and what stands for inf in it.
struct FloatLayout {
  at::ScalarType integer;
  int64_t magnitude;  // all bits but the sign
  int64_t inf;
};

inline FloatLayout layout_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return {at::kShort, 0x7fff, 0x7c00};
    case at::kBFloat16:
      return {at::kShort, 0x7fff, 0x7f80};
    case at::kFloat:
      return {at::kInt, 0x7fffffff, 0x7f800000};
    default:  // float64; scannable() lets no other through
      return {at::kLong, 0x7fffffffffffffff, 0x7ff0000000000000};
  }
}

/// Floating-point values as real numbers of 16, 32 or 64 bits; complex ones have a last dimension
/// of two.
inline at::Tensor scannable(const at::Tensor& values) {
  if (values.layout() == c10::kStrided && can_be_unscaled(values.scalar_type())) {
    return reachable_values(values);
  }
  // The smaller dtypes, and complex half, are exact in float32.
  const at::Tensor wider = values.to(values.is_complex() ? at::kComplexFloat : at::kFloat);
  return reachable_values(wider);
}

/// The number that `bits`, a magnitude, is in `dtype`.
inline double number_of(int64_t bits, at::ScalarType dtype) {
  if (dtype == at::kDouble) {
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  if (dtype == at::kFloat) {
    const auto narrow = static_cast<uint32_t>(bits);
    float number = 0;
    std::memcpy(&number, &narrow, sizeof number);
    return number;
  }
  const auto narrow = static_cast<uint16_t>(bits);
  if (dtype == at::kHalf) return static_cast<float>(c10::Half(narrow, c10::Half::from_bits()));
  return static_cast<float>(c10::BFloat16(narrow, c10::BFloat16::from_bits()));
}

/// One pass over `count` elements of `parts` numbers each.
template <class Integer>
ValueScan scan_memory(const Integer* numbers, int64_t count, int64_t parts,
                      const FloatLayout& layout) {
  const auto magnitude = static_cast<Integer>(layout.magnitude);
  const auto inf = static_cast<Integer>(layout.inf);
  ValueScan scan;
  Integer largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    Integer bits = numbers[i * parts] & magnitude;
    if (parts == 2) {
      const Integer other = numbers[2 * i + 1] & magnitude;
      bits = (std::max)(bits, other);
    }
    if (bits < inf) {
      largest = (std::max)(largest, bits);
      continue;
    }
    if (scan.finite()) scan.first = i;
    ++(bits == inf ? scan.inf_count : scan.nan_count);
  }
  scan.largest_bits = static_cast<int64_t>(largest);
  return scan;
}

/// Of `values`, which `scannable()` made and which stand on a CPU; `parts` is 2 if they were
/// complex, else 1.   Host sync: none.
inline ValueScan scan_on_cpu(const at::Tensor& values, int64_t parts) {
  const at::Tensor dense = values.contiguous();
  const int64_t count = dense.numel() / parts;
  const auto layout = layout_of(dense.scalar_type());
  const void* const data = dense.const_data_ptr();
  switch (layout.integer) {
    case at::kShort:
      return scan_memory(static_cast<const uint16_t*>(data), count, parts, layout);
    case at::kInt:
      return scan_memory(static_cast<const uint32_t*>(data), count, parts, layout);
    default:
      return scan_memory(static_cast<const uint64_t*>(data), count, parts, layout);
  }
}

/// The same for any device, with stock operators: the four numbers of a ValueScan, in its order, as
/// an int64 tensor. At least one value.   Host sync: none.
inline at::Tensor scan_on_device(const at::Tensor& values, int64_t parts) {
  const auto layout = layout_of(values.scalar_type());
  at::Tensor bits = values.view(layout.integer).bitwise_and(layout.magnitude);
  if (parts == 2) bits = bits.amax(-1);
  bits = bits.reshape({-1});
  const at::Tensor bad = bits.ge(layout.inf);
  return at::stack({bits.eq(layout.inf).sum(), bits.gt(layout.inf).sum(),
                    bits.masked_fill(bad, 0).amax().to(at::kLong),
                    bad.to(at::kByte).argmax()});  // of several largest, the first
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
