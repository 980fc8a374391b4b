// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/unscale.h>
#include <torchamp/core/unscaled_gradients.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/maximum.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// How far each optimizer has come since the last `update()`: nothing done, unscaled, or stepped;
/// and which gradients are unscaled, through an optimizer or as a range of parameters.
///
/// An optimizer is known by its address and its parameters, so that one which is built where
/// another was, over other parameters, is a new one; one that was given more, without gradients, is
/// the old one.
class OptimizerStages {
 public:
  enum class Stage { Unscaled, Stepped };

  struct Entry {
    const void* optimizer;  // null for a range of parameters
    std::vector<WeakTensor> parameters;
    Stage stage;
    bool has_gradients;
    FoundInf found_inf;
    std::optional<bool> overflowed;  // known once the host has read it
    std::vector<Entry*> ranges;      // through which the gradients were unscaled before
    at::Tensor grad_scale{};  // by which the step is to divide them; undefined if it need not
  };

  bool empty() const { return entries_.empty(); }

  /// Null for an optimizer of which nothing is known in this iteration.
  template <class Optimizer>
  Entry* find(Optimizer& optimizer);

  /// Throws: [E03] unless nothing has been done with the optimizer that `entry` is about.
  static void check_may_unscale(const Entry* entry);

  /// The gradients of `owner`, an optimizer or a range, of which none is unscaled yet.
  /// Throws: as `check_may_unscale()`, `check_not_unscaled()` and `Gradients::of()`.
  template <class Owner>
  detail::Gradients gradients_to_unscale(Owner& owner, const char* caller);

  /// Throws: [E04] if the optimizer that `entry` is about has been stepped.
  static void check_may_step(const Entry* entry);

  /// Throws: if one of `gradients` has been unscaled in this iteration: [E03] as one of a range,
  /// [E11] through an optimizer.
  /// `owner` is the address of the optimizer that they are of; null for a range.
  void check_not_unscaled(const std::vector<at::Tensor>& gradients, const void* owner,
                          const char* caller) const;

  /// The ranges through which all of `gradients` have been unscaled; none if none of them has been.
  /// Throws: [E11] if some have been and some not, or one through another optimizer.
  std::vector<Entry*> ranges_of(const std::vector<at::Tensor>& gradients, const void* owner,
                                const char* caller) const;

  /// Remembers that `gradients` of an optimizer are unscaled now. The reference stays valid until
  /// `clear()`.
  template <class Optimizer>
  Entry& add(Optimizer& optimizer, const std::vector<at::Tensor>& gradients, FoundInf found_inf);

  /// The same of a range of parameters.
  Entry& add_range(const std::vector<at::Tensor>& gradients, FoundInf found_inf);

  /// The same of an optimizer whose gradients were unscaled as `ranges` before.
  template <class Optimizer>
  Entry& add_unscaled(Optimizer& optimizer, std::vector<Entry*> ranges);

  /// The host has read whether `entry` overflowed.
  static void note_read(Entry& entry, bool overflowed);

  /// True if `gradient`, of the optimizer that `entry` is about, is divided by the scale already.
  bool is_divided(const Entry& entry, const at::Tensor& gradient) const {
    return !entry.grad_scale.defined() && unscaled_.find(gradient) != nullptr;
  }

  /// Whether anything overflowed: 0-dim float32 on `device`, 0 or 1; undefined if there were no
  /// gradients.   Host sync: none between devices of one type.
  at::Tensor found_inf(c10::Device device) const;

  /// Whether anything overflowed, as far as the host knows without asking a device.
  std::optional<bool> overflowed() const;

  /// Starts the next iteration.
  void clear();

 private:
  template <class Optimizer>
  static std::vector<WeakTensor> parameters_of(Optimizer& optimizer);
  Entry& remember(Entry entry, const std::vector<at::Tensor>& gradients);

  std::list<Entry> entries_;  // a list: entries keep their addresses
  UnscaledGradients<Entry> unscaled_;
};

template <class Optimizer>
OptimizerStages::Entry* OptimizerStages::find(Optimizer& optimizer) {
  const void* const address = detail::address_of(optimizer);
  for (auto& entry : entries_) {
    if (entry.optimizer != address) continue;
    std::size_t same = 0, all = 0, scaled = 0;
    detail::for_each_parameter(optimizer, [&](const at::Tensor& parameter, const auto& /*place*/) {
      const bool known =
          all < entry.parameters.size() &&
          entry.parameters[all]._unsafe_get_target() == parameter.unsafeGetTensorImpl();
      same += known ? 1 : 0;
      scaled += !known && parameter.grad().defined() ? 1 : 0;
      ++all;
    });
    // Parameters that were added since do no harm as long as they have no gradients.
    if (same == entry.parameters.size() && scaled == 0) return &entry;
  }
  return nullptr;
}

inline void OptimizerStages::check_may_unscale(const Entry* entry) {
  if (entry == nullptr) return;
  TORCHAMP_CHECK(E03, entry->stage != Stage::Unscaled,
                 "unscale_(): called twice for one optimizer since the last update(); the gradients"
                 " are true already, call it once an iteration, after the last backward()");
  TORCHAMP_CHECK(E03, entry->stage != Stage::Stepped,
                 "unscale_(): called after step() for one optimizer; call it between backward() and"
                 " step(), and update() after step()");
}

template <class Owner>
detail::Gradients OptimizerStages::gradients_to_unscale(Owner& owner, const char* caller) {
  if constexpr (detail::has_param_groups<Owner>) check_may_unscale(find(owner));
  auto gradients = detail::gradients_to_unscale(owner, caller);
  check_not_unscaled(gradients.tensors(), detail::optimizer_address_of(owner), caller);
  return gradients;
}

inline void OptimizerStages::check_may_step(const Entry* entry) {
  TORCHAMP_CHECK(E04, entry == nullptr || entry->stage != Stage::Stepped,
                 "step(): called twice for one optimizer since the last update(); call update()"
                 " once an iteration, after every optimizer has stepped");
}

inline void OptimizerStages::check_not_unscaled(const std::vector<at::Tensor>& gradients,
                                                const void* owner, const char* caller) const {
  if (unscaled_.empty()) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Entry* const by = unscaled_.find(gradients[i]);
    if (by == nullptr) continue;
    TORCHAMP_CHECK(E03, by->optimizer != nullptr, caller, ": gradient ", i, ", of shape ",
                   gradients[i].sizes(),
                   ", was unscaled in a range of parameters since the last update(); the gradients"
                   " are true already, call unscale_() once an iteration, then step()");
    TORCHAMP_CHECK(E11, owner != nullptr, caller, ": gradient ", i, ", of shape ",
                   gradients[i].sizes(),
                   ", was unscaled through an optimizer since the last update(); the gradients are"
                   " true already, leave out this call or the optimizer's unscale_()");
    TORCHAMP_CHECK(E11, by->optimizer != owner, caller,
                   ": the parameters of this optimizer have changed since it was unscaled, and"
                   " those that were added have scaled gradients; call add_param_group() between"
                   " iterations, after update()");
    TORCHAMP_CHECK(E11, false, caller, ": gradient ", i, ", of shape ", gradients[i].sizes(),
                   ", was unscaled through another optimizer since the last update(), and would be"
                   " divided by the scale twice; give each parameter to one optimizer, or call"
                   " update() and backward() between their steps");
  }
  // Optimizers among themselves are not asked: that would cost every step something.
  const bool by_range =
      owner == nullptr || std::any_of(entries_.begin(), entries_.end(),
                                      [](auto& entry) { return entry.optimizer == nullptr; });
  const at::Tensor* const part = by_range ? unscaled_.overlapping(gradients) : nullptr;
  TORCHAMP_CHECK(E11, part == nullptr, caller, ": the gradient of shape ", part->sizes(),
                 " shares memory with others that were unscaled since the last update(), and would"
                 " be divided by the scale twice; of FlatParameters, unscale the optimizer or"
                 " flat.parameters(), not the model's parameters");
}

inline std::vector<OptimizerStages::Entry*> OptimizerStages::ranges_of(
    const std::vector<at::Tensor>& gradients, const void* owner, const char* caller) const {
  std::vector<Entry*> ranges;
  if (unscaled_.empty()) return ranges;
  std::size_t in_ranges = 0;
  for (const auto& gradient : gradients) {
    Entry* const by = unscaled_.find(gradient);
    if (by == nullptr || by->optimizer != nullptr) continue;
    ++in_ranges;
    if (std::find(ranges.begin(), ranges.end(), by) == ranges.end()) ranges.push_back(by);
  }
  if (in_ranges == 0) check_not_unscaled(gradients, owner, caller);
  TORCHAMP_CHECK(E11, in_ranges == 0 || in_ranges == gradients.size(), caller, ": ", in_ranges,
                 " of the ", gradients.size(),
                 " gradients of this optimizer were unscaled in a range of parameters since the"
                 " last update(), the others were not; call unscale_() with all of them, after the"
                 " last backward()");
  return ranges;
}

template <class Optimizer>
std::vector<WeakTensor> OptimizerStages::parameters_of(Optimizer& optimizer) {
  std::vector<WeakTensor> parameters;
  detail::for_each_parameter(optimizer, [&](const at::Tensor& parameter, const auto& /*place*/) {
    parameters.emplace_back(parameter.getIntrusivePtr());
  });
  return parameters;
}

inline OptimizerStages::Entry& OptimizerStages::remember(Entry entry,
                                                         const std::vector<at::Tensor>& gradients) {
  entries_.push_back(std::move(entry));
  unscaled_.add(gradients, &entries_.back());
  return entries_.back();
}

template <class Optimizer>
OptimizerStages::Entry& OptimizerStages::add(Optimizer& optimizer,
                                             const std::vector<at::Tensor>& gradients,
                                             FoundInf found_inf) {
  return remember({detail::address_of(optimizer),
                   parameters_of(optimizer),
                   Stage::Unscaled,
                   !gradients.empty(),
                   std::move(found_inf),
                   std::nullopt,
                   {}},
                  gradients);
}

inline OptimizerStages::Entry& OptimizerStages::add_range(const std::vector<at::Tensor>& gradients,
                                                          FoundInf found_inf) {
  return remember(
      {nullptr, {}, Stage::Unscaled, !gradients.empty(), std::move(found_inf), std::nullopt, {}},
      gradients);
}

template <class Optimizer>
OptimizerStages::Entry& OptimizerStages::add_unscaled(Optimizer& optimizer,
                                                      std::vector<Entry*> ranges) {
  FoundInf found_inf;
  for (const Entry* range : ranges) found_inf.merge(range->found_inf);
  Entry& entry = add(optimizer, {}, std::move(found_inf));
  entry.has_gradients = true;
  entry.ranges = std::move(ranges);
  return entry;
}

inline void OptimizerStages::note_read(Entry& entry, bool overflowed) {
  entry.overflowed = overflowed;
  if (overflowed) return;  // in which of the ranges, the host does not know
  for (Entry* range : entry.ranges) range->overflowed = false;
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
  bool all_known = true;
  for (const auto& entry : entries_) {
    if (!entry.has_gradients) continue;
    if (entry.overflowed == true) return true;
    all_known = all_known && entry.overflowed.has_value();
  }
  if (!all_known) return std::nullopt;
  return false;
}

inline void OptimizerStages::clear() {
  entries_.clear();
  unscaled_.clear();
}

}  // namespace v0
}  // namespace torchamp
