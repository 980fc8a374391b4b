// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <unordered_map>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Knows a tensor again without keeping it alive. A freed tensor's address is not given out while a
/// reference like this exists, so a new tensor is never taken for it.
using WeakTensor = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

/// Which gradients have been unscaled in this iteration, and by whom.
template <class By>
class UnscaledGradients {
 public:
  bool empty() const { return known_.empty(); }

  void add(const std::vector<at::Tensor>& gradients, By* by) {
    known_.reserve(known_.size() + gradients.size());
    for (const auto& gradient : gradients) {
      known_.insert_or_assign(gradient.unsafeGetTensorImpl(),
                              Unscaled{WeakTensor(gradient.getIntrusivePtr()), by});
    }
  }

  /// Null for a gradient that has not been unscaled.
  By* find(const at::Tensor& gradient) const {
    const auto known = known_.find(gradient.unsafeGetTensorImpl());
    return known == known_.end() ? nullptr : known->second.by;
  }

  void clear() { known_.clear(); }

 private:
  struct Unscaled {
    WeakTensor gradient;
    By* by;
  };

  std::unordered_map<const c10::TensorImpl*, Unscaled> known_;
};

}  // namespace v0
}  // namespace torchamp
