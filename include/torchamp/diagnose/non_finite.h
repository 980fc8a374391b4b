// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/diagnose/named_tensors.h>
#include <torchamp/diagnose/non_finite_report.h>
#include <torchamp/diagnose/value_scan.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/core/Device.h>
#include <c10/core/GradMode.h>
#include <c10/core/Layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Which gradients, or which values, are inf or NaN, how many, and where the first is.
///
///     if (scaler.step(optimizer).skipped()) std::cout << torchamp::find_non_finite(*model);
///
/// `owner` is a module or an optimizer, and then the gradients are looked at unless said otherwise,
/// and among the values of a module its buffers too; or tensors, and then their values: a vector, a
/// map, `named_parameters()`, with names or without. What a module has under two names, as tied
/// weights, is listed under both; find_underflow() counts it once.
/// Backward goes from the loss to the input: of the gradients in a report, those nearest to the
/// loss, mostly the last ones, were the first to be inf or NaN.
/// Host sync: one read for each device but a CPU, whatever the number of tensors, and what
/// `coalesce()` does for sparse tensors. On a CPU the values are read once, where they are.
/// Throws: [E31] for a tensor without values to look at: on the meta device, or nested.
template <class Owner>
NonFiniteReport find_non_finite(Owner&& owner);
template <class Owner>
NonFiniteReport find_non_finite(Owner&& owner, NonFiniteIn looked_in);

/// The same of tensors in braces: `find_non_finite({{"scores", scores}, {"loss", loss}})`.
NonFiniteReport find_non_finite(const std::vector<std::pair<std::string, at::Tensor>>& tensors,
                                NonFiniteIn looked_in = NonFiniteIn::Values);

namespace detail {

/// Looks at tensors one after the other; what is on a device is read at the end, at once.
class NonFiniteSearch {
 public:
  /// With `by_operators` what is on a CPU is looked at as on other devices.
  explicit NonFiniteSearch(NonFiniteIn looked_in, bool by_operators = false)
      : by_operators_(by_operators) {
    report_.looked_in = looked_in;
  }

  /// An optimizer or a range of tensors.
  template <class Owner>
  void look_at(Owner& owner);

  /// Host sync: one read a device.
  NonFiniteReport finish() &&;

 private:
  struct Looked {
    NonFiniteTensor tensor;
    at::ScalarType scanned_as;
    ValueScan scan;
    std::vector<int64_t> sparse_coordinates;  // of the first; none for a dense tensor
  };
  struct Pending {  // numbers of one device
    c10::Device device;
    std::vector<std::size_t> looked;  // whose they are, as places in `looked_`
    std::vector<at::Tensor> numbers;
  };

  template <class Place>
  void look(const at::Tensor& tensor, const Place& place);
  static void scan_cpu(Looked& looked, const at::Tensor& values, const at::Tensor& indices,
                       int64_t parts);
  void scan_device(const at::Tensor& values, const at::Tensor& indices, int64_t parts);
  void read(const Pending& pending);
  static void locate(Looked& looked);

  bool by_operators_;
  NonFiniteReport report_;
  std::vector<Looked> looked_;
  std::vector<Pending> pending_;
};

/// A sparse tensor with one value for each index, or a dense one.
inline at::Tensor coalesced_or_dense(const at::Tensor& tensor) {
  switch (tensor.layout()) {
    case c10::kStrided:
      return tensor;
    case c10::kSparse:
      return tensor.coalesce();
    case c10::kSparseCsr:
    case c10::kSparseCsc:
    case c10::kSparseBsr:
    case c10::kSparseBsc:
      return tensor.to_sparse().coalesce();
    default:
      return tensor.to_dense();
  }
}

template <class Owner>
void NonFiniteSearch::look_at(Owner& owner) {
  for_each_parameter(owner, [&](const at::Tensor& tensor, const auto& place) {
    if (report_.looked_in == NonFiniteIn::Values) return look(tensor, place);
    if (tensor.grad().defined()) return look(tensor.grad(), place);
    ++report_.without_gradient;
  });
}

template <class Place>
void NonFiniteSearch::look(const at::Tensor& tensor, const Place& place) {
  TORCHAMP_CHECK(E31, !tensor.is_meta(), "find_non_finite(): ", place(),
                 " is on the meta device, and has no values; give tensors of another device");
  TORCHAMP_CHECK(E31, !tensor.is_nested(), "find_non_finite(): ", place(),
                 " is a nested tensor; give the tensors in it");
  if (!tensor.is_floating_point() && !tensor.is_complex()) {
    ++report_.finite;
    return;
  }
  const c10::AutoGradMode no_grad(false);
  const at::Tensor plain = coalesced_or_dense(tensor.detach());
  const bool is_sparse = plain.layout() == c10::kSparse;
  const at::Tensor indices = is_sparse ? plain._indices() : at::Tensor();
  const at::Tensor values = scannable(is_sparse ? plain._values() : plain);
  const int64_t parts = tensor.is_complex() ? 2 : 1;
  if (values.numel() == 0) {
    ++report_.finite;
    return;
  }
  looked_.push_back({{name_at(place()),
                      tensor.scalar_type(),
                      tensor.sizes().vec(),
                      values.numel() / parts,
                      0,
                      0,
                      0,
                      0,
                      {}},
                     values.scalar_type(),
                     {},
                     {}});
  if (values.is_cpu() && !by_operators_) return scan_cpu(looked_.back(), values, indices, parts);
  scan_device(values, indices, parts);
}

inline void NonFiniteSearch::scan_cpu(Looked& looked, const at::Tensor& values,
                                      const at::Tensor& indices, int64_t parts) {
  looked.scan = scan_on_cpu(values, parts);
  if (looked.scan.finite() || !indices.defined()) return;
  const int64_t per_index = looked.tensor.looked_at / indices.size(1);
  const at::Tensor column = indices.select(1, looked.scan.first / per_index).contiguous();
  const auto* const numbers = column.const_data_ptr<int64_t>();
  looked.sparse_coordinates.assign(numbers, numbers + column.numel());
}

inline void NonFiniteSearch::scan_device(const at::Tensor& values, const at::Tensor& indices,
                                         int64_t parts) {
  auto pending = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& known) {
    return known.device == values.device();
  });
  if (pending == pending_.end()) {
    pending = pending_.insert(pending, Pending{values.device(), {}, {}});
  }
  pending->looked.push_back(looked_.size() - 1);
  const at::Tensor scan = scan_on_device(values, parts);
  pending->numbers.push_back(scan);
  if (!indices.defined()) return;
  const int64_t per_index = looked_.back().tensor.looked_at / indices.size(1);
  const at::Tensor column = scan[3].floor_divide(per_index).reshape({1});
  looked_.back().sparse_coordinates.resize(static_cast<std::size_t>(indices.size(0)));
  pending->numbers.push_back(indices.index_select(1, column).reshape({-1}));
}

inline void NonFiniteSearch::read(const Pending& pending) {
  const at::Tensor all = at::cat(pending.numbers).cpu();
  const auto* next = all.const_data_ptr<int64_t>();
  for (const std::size_t place : pending.looked) {
    Looked& looked = looked_[place];
    looked.scan = {next[0], next[1], next[2], next[3]};
    next += 4;
    for (int64_t& coordinate : looked.sparse_coordinates) coordinate = *next++;
  }
}

/// From the place of a value in a dense tensor, or among the values of a sparse one, to that in the
/// whole tensor.
inline void NonFiniteSearch::locate(Looked& looked) {
  const auto& sizes = looked.tensor.sizes;
  std::vector<int64_t> coordinates(sizes.size());
  int64_t rest = looked.scan.first;
  for (std::size_t i = sizes.size(); i-- > looked.sparse_coordinates.size();) {
    coordinates[i] = rest % sizes[i];
    rest /= sizes[i];
  }
  std::copy(looked.sparse_coordinates.begin(), looked.sparse_coordinates.end(),
            coordinates.begin());
  int64_t index = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) index = index * sizes[i] + coordinates[i];
  looked.tensor.first_index = index;
  looked.tensor.first_coordinates = std::move(coordinates);
}

inline NonFiniteReport NonFiniteSearch::finish() && {
  for (const auto& pending : pending_) read(pending);
  for (auto& looked : looked_) {
    if (looked.scan.finite()) {
      ++report_.finite;
      continue;
    }
    looked.tensor.inf_count = looked.scan.inf_count;
    looked.tensor.nan_count = looked.scan.nan_count;
    looked.tensor.largest_finite = number_of(looked.scan.largest_bits, looked.scanned_as);
    locate(looked);
    report_.tensors.push_back(std::move(looked.tensor));
  }
  return std::move(report_);
}

}  // namespace detail

template <class Owner>
NonFiniteReport find_non_finite(Owner&& owner) {
  using Bare = std::remove_reference_t<Owner>;
  constexpr bool is_module =
      detail::has_named_tensors<Bare> || detail::points_to_named_tensors<Bare>;
  constexpr bool has_gradients = is_module || detail::has_param_groups<Bare>;
  return find_non_finite(owner, has_gradients ? NonFiniteIn::Gradients : NonFiniteIn::Values);
}

template <class Owner>
NonFiniteReport find_non_finite(Owner&& owner, NonFiniteIn looked_in) {
  using Bare = std::remove_reference_t<Owner>;
  if constexpr (detail::points_to_named_tensors<Bare>) {
    return find_non_finite(*owner, looked_in);
  } else if constexpr (detail::has_named_tensors<Bare>) {
    const auto parameters = owner.named_parameters();
    const auto buffers = owner.named_buffers();
    detail::NonFiniteSearch search(looked_in);
    search.look_at(parameters);
    if (looked_in == NonFiniteIn::Values) search.look_at(buffers);
    return std::move(search).finish();
  } else {
    static_assert(detail::has_param_groups<Bare> || detail::is_parameter_range<Bare>,
                  "torchamp: find_non_finite() takes a module, an optimizer, or a range of"
                  " tensors; of one tensor, {{\"name\", tensor}}");
    detail::NonFiniteSearch search(looked_in);
    search.look_at(owner);
    return std::move(search).finish();
  }
}

inline NonFiniteReport find_non_finite(
    const std::vector<std::pair<std::string, at::Tensor>>& tensors, NonFiniteIn looked_in) {
  detail::NonFiniteSearch search(looked_in);
  search.look_at(tensors);
  return std::move(search).finish();
}

}  // namespace v0
}  // namespace torchamp
