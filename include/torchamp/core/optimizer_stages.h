// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/unscale.h>
#include <torchamp/detail/check.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/maximum.h>
#include <c10/core/Device.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// How far each optimizer has come since the last `update()`: nothing done, unscaled, or stepped.
/// Entries live for one iteration, so an optimizer that takes a destroyed one's address between two
/// iterations is a new one.
class OptimizerStages {
 public:
  enum class Stage { Unscaled, Stepped };

  struct Entry {
    const void* optimizer;
    Stage stage;
    bool has_gradients;
    FoundInf found_inf;
  };

  bool empty() const { return entries_.empty(); }

  /// Null for an optimizer of which nothing is known in this iteration.
  Entry* find(const void* optimizer);

  /// Throws: [E11] if one of `gradients` has been unscaled in this iteration.
  void check_not_unscaled(const std::vector<at::Tensor>& gradients, const char* caller) const;

  /// Remembers that `gradients` are unscaled now. The reference stays valid until `clear()`.
  Entry& add(const void* optimizer, const std::vector<at::Tensor>& gradients, FoundInf found_inf);

  /// Whether any optimizer overflowed: 0-dim float32 on `device`, 0 or 1; undefined if none had
  /// gradients.   Host sync: none between devices of one type.
  at::Tensor found_inf(c10::Device device) const;

  /// Starts the next iteration.
  void clear();

 private:
  // Weak, so that a new gradient at the address of a freed one is not taken for it.
  using WeakGradient = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

  std::list<Entry> entries_;  // a list: entries keep their addresses
  std::unordered_map<const c10::TensorImpl*, WeakGradient> unscaled_;
};

inline OptimizerStages::Entry* OptimizerStages::find(const void* optimizer) {
  for (auto& entry : entries_) {
    if (entry.optimizer == optimizer) return &entry;
  }
  return nullptr;
}

inline void OptimizerStages::check_not_unscaled(const std::vector<at::Tensor>& gradients,
                                                const char* caller) const {
  if (unscaled_.empty()) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto known = unscaled_.find(gradients[i].unsafeGetTensorImpl());
    const bool already_unscaled = known != unscaled_.end() && !known->second.expired();
    TORCHAMP_CHECK(E11, !already_unscaled, caller, ": gradient ", i, " of this optimizer, of shape ",
                   gradients[i].sizes(),
                   ", was unscaled through another optimizer since the last update(), and would be"
                   " divided by the scale twice; give each parameter to one optimizer, or call"
                   " update() and backward() between their steps");
  }
}

inline OptimizerStages::Entry& OptimizerStages::add(const void* optimizer,
                                                    const std::vector<at::Tensor>& gradients,
                                                    FoundInf found_inf) {
  for (const auto& gradient : gradients) {
    unscaled_.insert_or_assign(gradient.unsafeGetTensorImpl(),
                               WeakGradient(gradient.getIntrusivePtr()));
  }
  entries_.push_back({optimizer, Stage::Unscaled, !gradients.empty(), std::move(found_inf)});
  return entries_.back();
}

inline at::Tensor OptimizerStages::found_inf(c10::Device device) const {
  at::Tensor any;
  for (const auto& entry : entries_) {
    if (!entry.has_gradients) continue;
    const at::Tensor found = entry.found_inf.combined(device);
    any = any.defined() ? at::maximum(any, found) : found;
  }
  return any;
}

inline void OptimizerStages::clear() {
  entries_.clear();
  unscaled_.clear();
}

}  // namespace v0
}  // namespace torchamp
