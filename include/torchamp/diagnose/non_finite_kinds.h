// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/gradients.h>
#include <torchamp/diagnose/value_scan.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Which values that are not finite a tensor holds, whatever their number.
struct NonFiniteKinds {
  bool positive_inf = false;
  bool negative_inf = false;
  bool nan = false;

  bool any() const { return positive_inf || negative_inf || nan; }
};

namespace detail {

/// True for tensors whose values can be looked at: floating-point or complex, with memory behind
/// them or sparse, not nested, not on the meta device, not empty. All others count as finite.
inline bool has_kinds(const at::Tensor& tensor) {
  if (!tensor.defined() || !(tensor.is_floating_point() || tensor.is_complex())) return false;
  if (tensor.is_nested() || tensor.is_meta() || !has_reachable_values(tensor)) return false;
  if (tensor.layout() != c10::kStrided) return true;
  // Tensors of zeros that autograd makes have a storage, and no memory behind it.
  return tensor.has_storage() && tensor.numel() > 0 && tensor.storage().data() != nullptr;
}

/// Calls `visit(first, count, step)` for the rows of a strided tensor: `count` numbers, `step`
/// apart. One row is all of the tensor if it has no gaps, in whatever order its numbers lie. Stops
/// when `visit` returns true.
template <class Number, class Visit>
void for_each_row(const at::Tensor& tensor, const Visit& visit) {
  const auto* const data = static_cast<const Number*>(tensor.const_data_ptr());
  const int64_t parts = tensor.is_complex() ? 2 : 1;  // a complex number is two
  if (tensor.is_non_overlapping_and_dense()) {
    visit(data, tensor.numel() * parts, 1);
    return;
  }
  // What expand() repeats needs to be looked at once.
  std::vector<int64_t> sizes;
  std::vector<int64_t> steps;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.size(d) == 1 || tensor.stride(d) == 0) continue;
    sizes.push_back(tensor.size(d));
    steps.push_back(tensor.stride(d) * parts);
  }
  if (parts == 2) {
    sizes.push_back(2);
    steps.push_back(1);
  }
  if (sizes.empty()) {
    visit(data, 1, 1);
    return;
  }
  const std::size_t outer = sizes.size() - 1;
  std::vector<int64_t> place(outer, 0);
  const Number* row = data;
  while (!visit(row, sizes[outer], steps[outer])) {
    std::size_t d = outer;
    for (; d > 0; --d) {
      row += steps[d - 1];
      if (++place[d - 1] < sizes[d - 1]) break;
      row -= steps[d - 1] * sizes[d - 1];
      place[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

/// See Note [Magnitudes as integers] in diagnose/value_scan.h.
template <class Bits>
NonFiniteKinds kinds_in_memory(const at::Tensor& tensor, const FloatLayout& layout) {
  const auto magnitude = static_cast<Bits>(layout.magnitude);
  const auto inf = static_cast<Bits>(layout.inf);
  bool any = false;
  for_each_row<Bits>(tensor, [&](const Bits* numbers, int64_t count, int64_t step) {
    constexpr int64_t block = 8192;  // so that a bad value near the front ends it
    for (int64_t begin = 0; begin < count && !any; begin += block) {
      const int64_t end = (std::min)(count, begin + block);
      Bits largest = 0;
      if (step == 1) {
        for (int64_t i = begin; i < end; ++i) {
          largest = (std::max)(largest, static_cast<Bits>(numbers[i] & magnitude));
        }
      } else {
        for (int64_t i = begin; i < end; ++i) {
          largest = (std::max)(largest, static_cast<Bits>(numbers[i * step] & magnitude));
        }
      }
      any = largest >= inf;
    }
    return any;
  });
  NonFiniteKinds kinds;
  if (!any) return kinds;
  for_each_row<Bits>(tensor, [&](const Bits* numbers, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      const Bits bits = numbers[i * step];
      const auto unsigned_bits = static_cast<Bits>(bits & magnitude);
      if (unsigned_bits < inf) continue;
      bool& kind = unsigned_bits > inf ? kinds.nan
                   : bits == inf       ? kinds.positive_inf
                                       : kinds.negative_inf;
      kind = true;
    }
    return kinds.nan && kinds.positive_inf && kinds.negative_inf;
  });
  return kinds;
}

/// For any device, with stock operators; `values` are what `scannable()` returns.
inline NonFiniteKinds kinds_by_operators(const at::Tensor& values) {
  NonFiniteKinds kinds;
  if (values.numel() == 0 || values.isfinite().all().item<bool>()) return kinds;
  constexpr double inf = std::numeric_limits<double>::infinity();
  const at::Tensor any =
      at::stack({values.eq(inf).any(), values.eq(-inf).any(), values.isnan().any()}).cpu();
  const auto* const flags = any.const_data_ptr<bool>();
  kinds.positive_inf = flags[0];
  kinds.negative_inf = flags[1];
  kinds.nan = flags[2];
  return kinds;
}

/// Which values that are not finite `tensor`, for which `has_kinds()` holds, has. One pass over it,
/// and another if there are any.
/// Host sync: none on a CPU, where strided tensors are read where they are and no operator is
/// called; elsewhere one read, and another if something is not finite.
inline NonFiniteKinds kinds_of(const at::Tensor& tensor) {
  if (tensor.is_cpu() && tensor.layout() == c10::kStrided) {
    const auto layout = layout_of(c10::toRealValueType(tensor.scalar_type()));
    switch (c10::toRealValueType(tensor.scalar_type())) {
      case at::kHalf:
      case at::kBFloat16:
        return kinds_in_memory<uint16_t>(tensor, layout);
      case at::kFloat:
        return kinds_in_memory<uint32_t>(tensor, layout);
      case at::kDouble:
        return kinds_in_memory<uint64_t>(tensor, layout);
      default:
        break;  // float8, which operators widen
    }
  }
  const c10::AutoGradMode no_grad(false);
  const at::Tensor values = scannable(tensor.detach());
  if (values.is_cpu()) return kinds_of(values);
  return kinds_by_operators(values);
}

/// The largest finite magnitude in `tensor`, for which `has_kinds()` holds; 0 if there is none.
/// Host sync: one read, if it is not on a CPU.
inline double largest_finite(const at::Tensor& tensor) {
  const c10::AutoGradMode no_grad(false);
  const at::Tensor values = scannable(tensor.detach());
  if (values.numel() == 0) return 0;
  const int64_t parts = tensor.is_complex() ? 2 : 1;
  const int64_t bits = values.is_cpu() ? scan_on_cpu(values, parts).largest_bits
                                       : scan_on_device(values, parts)[2].item<int64_t>();
  return number_of(bits, values.scalar_type());
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
