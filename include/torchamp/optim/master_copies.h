// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/unscaled_gradients.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/optim/copy_lists.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/Device.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Float32 masters of the half-precision parameters in some groups, and the copies to and fro. Any
/// other parameter is its own master, the very tensor.
///
/// Knows whether a parameter was changed by anyone else since the last copy, and whether gradients
/// came since those of the masters were made, as far as LibTorch's version counters tell: a change
/// through `data()` goes unseen. Nothing here makes the host wait for a device.
class MasterCopies {
 public:
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  /// What has become of the parameters' gradients since `make_gradients()`. Replaced: none of them
  /// is there any more, as after `zero_grad()` and `backward()`. Accumulated: some are, and there
  /// is more, as after another `backward()`.
  enum class Change { Same, Replaced, Accumulated };

  /// Makes masters for the parameters that have none yet, and forgets those of parameters that are
  /// gone.   Throws: [E24] if a parameter no longer fits its master; nothing has changed.
  void follow(const Groups& groups, const char* caller);

  /// One for each parameter, in their order.
  const std::vector<at::Tensor>& masters() const { return masters_; }
  /// Those of one group.
  std::vector<at::Tensor> masters(std::size_t group) const;
  std::size_t groups() const { return sizes_.size(); }
  std::size_t size_of(std::size_t group) const { return sizes_[group]; }
  /// True if the master of the i-th parameter is another tensor than the parameter.
  bool is_copy(std::size_t i) const { return pairs_[order_[i]].is_copy; }

  /// Masters to parameters, rounded to nearest.
  void write_parameters();
  /// Parameters to masters.
  void read_parameters();
  /// Gives the i-th master the i-th value, of the same shape, unless that is undefined.
  void set_masters(const std::vector<at::Tensor>& values);
  /// Throws: [E24] if a parameter that has a master was changed since the last copy.
  void check_parameters(const char* caller) const;

  /// Gives the masters float32 copies of the parameters' gradients, and none where there is none.
  void make_gradients();
  Change gradient_change() const;
  /// Frees the gradients of the masters.
  void drop_gradients();

 private:
  /// A parameter and its master, and what it looked like when they were copied last.
  struct Pair {
    explicit Pair(const at::Tensor& parameter_);
    void note_parameter();

    at::Tensor parameter, master;
    std::size_t group = 0, index = 0;  // where it stands first
    bool is_copy;
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // weak: kept from being given out again
    int64_t version = 0;
    WeakTensor gradient{at::Tensor().getIntrusivePtr()};
    int64_t gradient_version = 0;
  };

  static bool wants_copy(const at::Tensor& parameter) {
    return parameter.defined() &&
           (parameter.scalar_type() == at::kHalf || parameter.scalar_type() == at::kBFloat16);
  }
  static int64_t version_of(const at::Tensor& tensor) {
    return tensor.defined() && !tensor.is_inference() ? tensor._version() : 0;
  }
  static c10::intrusive_ptr<c10::StorageImpl> no_storage() { return {}; }
  static void check_fits(const Pair& pair, const char* caller);
  bool follows(const Groups& groups) const;

  std::vector<Pair> pairs_;         // one for each tensor
  std::vector<std::size_t> order_;  // pairs, as the groups have them; one may stand there twice
  std::vector<std::size_t> sizes_;  // of the groups
  std::vector<at::Tensor> masters_;
};

inline MasterCopies::Pair::Pair(const at::Tensor& parameter_)
    : parameter(parameter_),
      master(parameter_),
      is_copy(wants_copy(parameter_)),
      storage(no_storage()) {
  if (!is_copy) return;
  master = parameter.detach().to(at::kFloat);
  note_parameter();
}

inline void MasterCopies::Pair::note_parameter() {
  storage = parameter.storage().getWeakStorageImpl();
  version = version_of(parameter);
}

inline void MasterCopies::check_fits(const Pair& pair, const char* caller) {
  const at::Tensor& parameter = pair.parameter;
  if (!parameter.defined()) return;
  TORCHAMP_CHECK(
      E24,
      wants_copy(parameter) == pair.is_copy && parameter.device() == pair.master.device() &&
          parameter.sizes() == pair.master.sizes(),
      caller, ": ", detail::ParameterPlace{pair.index, pair.group, std::nullopt}, " is ",
      parameter.scalar_type(), " of shape ", parameter.sizes(), " on ", parameter.device(),
      " now, which it was not when its master was made; call model->to() first, then"
      " make the optimizer");
}

inline bool MasterCopies::follows(const Groups& groups) const {
  if (groups.size() != sizes_.size()) return false;
  std::size_t i = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& parameters = groups[group].params();
    if (parameters.size() != sizes_[group]) return false;
    for (const auto& parameter : parameters) {
      if (!pairs_[order_[i++]].parameter.is_same(parameter)) return false;
    }
  }
  return true;
}

inline void MasterCopies::follow(const Groups& groups, const char* caller) {
  for (const auto& pair : pairs_) check_fits(pair, caller);
  if (follows(groups)) return;
  std::unordered_map<const c10::TensorImpl*, Pair*> old;
  for (auto& pair : pairs_) old.emplace(pair.parameter.unsafeGetTensorImpl(), &pair);
  MasterCopies next;
  std::unordered_map<const c10::TensorImpl*, std::size_t> seen;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto& parameters = groups[group].params();
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      const auto* const key = parameters[index].unsafeGetTensorImpl();
      const auto [place, is_new] = seen.emplace(key, next.pairs_.size());
      if (is_new) {
        const auto known = old.find(key);
        next.pairs_.push_back(known != old.end() ? *known->second : Pair(parameters[index]));
        next.pairs_.back().group = group;
        next.pairs_.back().index = index;
      }
      next.order_.push_back(place->second);
      next.masters_.push_back(next.pairs_[place->second].master);
    }
    next.sizes_.push_back(parameters.size());
  }
  *this = std::move(next);
}

inline std::vector<at::Tensor> MasterCopies::masters(std::size_t group) const {
  auto begin = masters_.begin();
  for (std::size_t before = 0; before < group; ++before) {
    begin += static_cast<std::ptrdiff_t>(sizes_[before]);
  }
  return {begin, begin + static_cast<std::ptrdiff_t>(sizes_[group])};
}

inline void MasterCopies::write_parameters() {
  CopyLists lists;
  for (const auto& pair : pairs_) {
    if (pair.is_copy) lists.add(pair.parameter, pair.master);
  }
  lists.copy();
  for (auto& pair : pairs_) {
    if (pair.is_copy) pair.note_parameter();
  }
}

inline void MasterCopies::read_parameters() {
  CopyLists lists;
  for (auto& pair : pairs_) {
    if (!pair.is_copy) continue;
    lists.add(pair.master, pair.parameter);
    pair.note_parameter();
  }
  lists.copy();
}

inline void MasterCopies::set_masters(const std::vector<at::Tensor>& values) {
  const c10::AutoGradMode no_grad(false);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].defined()) masters_[i].copy_(values[i]);
  }
}

inline void MasterCopies::check_parameters(const char* caller) const {
  for (const auto& pair : pairs_) {
    if (!pair.is_copy) continue;
    TORCHAMP_CHECK(
        E24,
        pair.version == version_of(pair.parameter) &&
            pair.storage._unsafe_get_target() == pair.parameter.storage().unsafeGetStorageImpl(),
        caller, ": ", detail::ParameterPlace{pair.index, pair.group, std::nullopt}, ", of shape ",
        pair.parameter.sizes(),
        ", was changed or loaded by hand, and its float32 master was not; call"
        " refresh_masters() if the parameters count, as after torch::load(model, ...),"
        " or refresh_parameters() if the masters do");
  }
}

inline void MasterCopies::make_gradients() {
  const c10::AutoGradMode no_grad(false);
  CopyLists lists;
  for (auto& pair : pairs_) {
    if (!pair.is_copy) continue;
    const at::Tensor& gradient = pair.parameter.grad();
    pair.gradient = WeakTensor(gradient.getIntrusivePtr());
    pair.gradient_version = version_of(gradient);
    if (!gradient.defined()) {
      pair.master.mutable_grad().reset();
    } else if (gradient.layout() != c10::kStrided) {
      pair.master.mutable_grad() = gradient.to(at::kFloat);  // values that are yet to be summed too
    } else {
      pair.master.mutable_grad() = at::empty_like(pair.master);
      lists.add(pair.master.grad(), gradient);
    }
  }
  lists.copy();
}

inline MasterCopies::Change MasterCopies::gradient_change() const {
  std::size_t kept = 0, different = 0;
  for (const auto& pair : pairs_) {
    if (!pair.is_copy) continue;
    const at::Tensor& gradient = pair.parameter.grad();
    const bool same = pair.gradient._unsafe_get_target() == gradient.unsafeGetTensorImpl();
    kept += same && gradient.defined() ? 1 : 0;
    different += same && pair.gradient_version == version_of(gradient) ? 0 : 1;
  }
  if (different == 0) return Change::Same;
  return kept == 0 ? Change::Replaced : Change::Accumulated;
}

inline void MasterCopies::drop_gradients() {
  for (auto& pair : pairs_) {
    if (pair.is_copy) pair.master.mutable_grad().reset();
  }
}

}  // namespace v0
}  // namespace torchamp
