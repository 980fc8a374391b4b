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
#include <optional>
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
    std::optional<bool> overflowed;  // known once the host has read it
  };

  bool empty() const { return entries_.empty(); }

  /// Null for an optimizer of which nothing is known in this iteration.
  Entry* find(const void* optimizer);

  /// Throws: [E03] unless nothing has been done with `optimizer` in this iteration.
  void check_may_unscale(const void* optimizer);

  /// Throws: [E04] if `optimizer` has been stepped in this iteration.
  void check_may_step(const void* optimizer);

  /// Throws: [E11] if one of `gradients` has been unscaled in this iteration.
  void check_not_unscaled(const std::vector<at::Tensor>& gradients, const char* caller) const;

  /// Remembers that `gradients` are unscaled now. The reference stays valid until `clear()`.
  Entry& add(const void* optimizer, const std::vector<at::Tensor>& gradients, FoundInf found_inf);

  /// Whether any optimizer overflowed: 0-dim float32 on `device`, 0 or 1; undefined if none had
  /// gradients.   Host sync: none between devices of one type.
  at::Tensor found_inf(c10::Device device) const;

  /// Whether any optimizer overflowed, as far as the host knows without asking a device.
  std::optional<bool> overflowed() const;

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

inline void OptimizerStages::check_may_unscale(const void* optimizer) {
  const auto* entry = find(optimizer);
  if (entry == nullptr) return;
  TORCHAMP_CHECK(E03, entry->stage != Stage::Unscaled,
                 "unscale_(): called twice for one optimizer since the last update(); the gradients"
                 " are true already, call it once an iteration, after the last backward()");
  TORCHAMP_CHECK(E03, entry->stage != Stage::Stepped,
                 "unscale_(): called after step() for one optimizer; call it between backward() and"
                 " step(), and update() after step()");
}

inline void OptimizerStages::check_may_step(const void* optimizer) {
  const auto* entry = find(optimizer);
  TORCHAMP_CHECK(E04, entry == nullptr || entry->stage != Stage::Stepped,
                 "step(): called twice for one optimizer since the last update(); call update()"
                 " once an iteration, after every optimizer has stepped");
}

inline void OptimizerStages::check_not_unscaled(const std::vector<at::Tensor>& gradients,
                                                const char* caller) const {
  if (unscaled_.empty()) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto known = unscaled_.find(gradients[i].unsafeGetTensorImpl());
    const bool already_unscaled = known != unscaled_.end() && !known->second.expired();
    TORCHAMP_CHECK(E11, !already_unscaled, caller, ": gradient ", i,
                   " of this optimizer, of shape ", gradients[i].sizes(),
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
  entries_.push_back(
      {optimizer, Stage::Unscaled, !gradients.empty(), std::move(found_inf), std::nullopt});
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

inline std::optional<bool> OptimizerStages::overflowed() const {
  bool any = false;
  for (const auto& entry : entries_) {
    if (!entry.has_gradients) continue;
    if (!entry.overflowed) return std::nullopt;
    any = any || *entry.overflowed;
  }
  return any;
}

inline void OptimizerStages::clear() {
  entries_.clear();
  unscaled_.clear();
}

}  // namespace v0
}  // namespace torchamp
