// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/_foreach_copy.h>
#include <c10/core/GradMode.h>

#include <cstddef>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Copies to be made between tensors of one shape and device, sorted by device and dtypes: one
/// operator copies all of a kind, rounding to nearest.
class CopyLists {
 public:
  void add(const at::Tensor& to, const at::Tensor& from);

  /// Host sync: none.
  void copy() const {
    const c10::AutoGradMode no_grad(false);
    for (const auto& list : lists_) at::_foreach_copy_(list.to, list.from);
  }

  /// How many operators `copy()` calls.
  std::size_t size() const { return lists_.size(); }

 private:
  struct List {
    std::vector<at::Tensor> to, from;
  };

  std::vector<List> lists_;
};

inline void CopyLists::add(const at::Tensor& to, const at::Tensor& from) {
  for (auto& list : lists_) {
    if (list.to[0].device() != to.device() || list.to[0].scalar_type() != to.scalar_type() ||
        list.from[0].scalar_type() != from.scalar_type()) {
      continue;
    }
    list.to.push_back(to);
    list.from.push_back(from);
    return;
  }
  lists_.push_back({{to}, {from}});
}

}  // namespace v0
}  // namespace torchamp
