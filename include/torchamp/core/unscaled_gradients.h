// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/flat_hash_map.h>
#include <c10/util/intrusive_ptr.h>

#include <iterator>
#include <map>
#include <utility>
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

  /// A gradient of which part of the memory, but not the tensor itself, has been unscaled, as the
  /// flat gradient of parameters that were unscaled one by one; null if there is none.
  const at::Tensor* overlapping(const std::vector<at::Tensor>& gradients) const;

  void clear() { known_.clear(); }

 private:
  using Span = std::pair<const char*, const char*>;  // first byte, and behind the last one
  static Span span_of(const at::Tensor& gradient) {
    const auto* const begin = static_cast<const char*>(gradient.const_data_ptr());
    return {begin, begin + gradient.numel() * gradient.element_size()};
  }

  struct Unscaled {
    WeakTensor gradient;
    By* by;
  };

  ska::flat_hash_map<const c10::TensorImpl*, Unscaled> known_;
};

template <class By>
const at::Tensor* UnscaledGradients<By>::overlapping(
    const std::vector<at::Tensor>& gradients) const {
  std::map<const char*, const char*> spans;
  for (const auto& [impl, unscaled] : known_) {
    auto alive = unscaled.gradient.lock();
    if (!alive) continue;
    const auto gradient = at::Tensor(std::move(alive));
    if (gradient.layout() == c10::kStrided) spans.insert(span_of(gradient));
  }
  for (const auto& gradient : gradients) {
    if (gradient.layout() != c10::kStrided || find(gradient) != nullptr) continue;
    const auto [begin, end] = span_of(gradient);
    const auto next = spans.lower_bound(end);  // the last one that begins before the end
    if (next != spans.begin() && std::prev(next)->second > begin) return &gradient;
  }
  return nullptr;
}

}  // namespace v0
}  // namespace torchamp
