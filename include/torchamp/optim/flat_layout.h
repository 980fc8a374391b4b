// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/optim/flat_buffer.h>
#include <torchamp/optim/flat_state.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Which parameters go into which buffer: one for each group, device and dtype, in the order in
/// which they come.
class FlatLayout {
 public:
  struct Buffer {
    std::size_t group;
    c10::Device device;
    at::ScalarType dtype;
    std::vector<PlacedParameter> parameters;
  };

  /// Of a range of parameters, or of anything with `param_groups()`. Parameters that do not require
  /// gradients, or have no elements, are left out.
  /// Throws: [E22] for parameters that cannot be made views of one buffer.
  template <class Owner>
  static FlatLayout of(Owner& owner);

  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  void add(const at::Tensor& parameter, ParameterPlace place);
  void check_apart() const;

  std::vector<Buffer> buffers_;
  std::unordered_map<const c10::TensorImpl*, std::size_t> groups_;  // by parameter
};

template <class Owner>
FlatLayout FlatLayout::of(Owner& owner) {
  FlatLayout layout;
  for_each_parameter(owner, [&](const at::Tensor& parameter, const auto& place) {
    if (parameter.requires_grad() && parameter.numel() > 0) layout.add(parameter, place());
  });
  TORCHAMP_CHECK(E22, !layout.buffers_.empty(),
                 "FlatParameters: there is no parameter that requires gradients; pass"
                 " model->parameters()");
  layout.check_apart();
  return layout;
}

inline void FlatLayout::add(const at::Tensor& parameter, ParameterPlace place) {
  const std::size_t group = place.group.value_or(0);
  const auto [known, is_new] = groups_.emplace(parameter.unsafeGetTensorImpl(), group);
  TORCHAMP_CHECK(E22, known->second == group, "FlatParameters: ", place, " is in group ",
                 known->second, " too; leave it in one of them");
  if (!is_new) return;  // tied
  TORCHAMP_CHECK(E22, parameter.is_leaf(), "FlatParameters: ", place,
                 " is computed from other tensors; pass the parameters of a module, or leaves");
  TORCHAMP_CHECK(E22, parameter.layout() == c10::kStrided, "FlatParameters: ", place,
                 " has layout ", parameter.layout(), "; only strided ones can be made flat");
  TORCHAMP_CHECK(E22, !parameter.device().is_mps() && !parameter.device().is_meta(),
                 "FlatParameters: ", place, " is on ", parameter.device(),
                 ", where memory cannot be parted; use the parameters as they are");
  const auto* const hook = FlatHook::of(parameter);
  TORCHAMP_CHECK(E22, hook == nullptr || !hook->is_active(parameter), "FlatParameters: ", place,
                 " is in a FlatParameters already; destroy that one, and its optimizer, first");
  const auto same = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
    return buffer.group == group && buffer.device == parameter.device() &&
           buffer.dtype == parameter.scalar_type();
  });
  auto& buffer =
      same != buffers_.end()
          ? *same
          : buffers_.emplace_back(Buffer{group, parameter.device(), parameter.scalar_type(), {}});
  buffer.parameters.push_back({parameter, std::move(place)});
}

/// Parameters that share memory are one to the optimizer that steps them; in a buffer they would be
/// two.
inline void FlatLayout::check_apart() const {
  struct Extent {
    const char* begin;
    const char* end;
    const PlacedParameter* parameter;
  };
  std::vector<Extent> extents;
  for (const auto& buffer : buffers_) {
    for (const auto& placed : buffer.parameters) {
      const at::Tensor& tensor = placed.tensor;
      int64_t last = 0;  // element
      for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
      const auto* const begin = static_cast<const char*>(tensor.const_data_ptr());
      const auto bytes = (last + 1) * static_cast<int64_t>(tensor.element_size());
      extents.push_back({begin, begin + bytes, &placed});
      TORCHAMP_CHECK(E22, last + 1 >= tensor.numel(), "FlatParameters: ", placed.place,
                     " has one number for several elements, as expand() makes; pass what it is"
                     " expanded from");
    }
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return std::less<>()(a.begin, b.begin); });
  for (std::size_t i = 1; i < extents.size(); ++i) {
    TORCHAMP_CHECK(E22, !std::less<>()(extents[i].begin, extents[i - 1].end),
                   "FlatParameters: ", extents[i - 1].parameter->place, " and ",
                   extents[i].parameter->place,
                   " share memory; to tie them, make them the same tensor in both modules");
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
