// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/gradients.h>

#include <ATen/core/Tensor.h>
#include <c10/core/Layout.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What has the memory of the tensor: itself, of a sparse tensor its values; undefined if nothing.
inline at::Tensor holder_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (tensor.layout() == c10::kSparse) return tensor._values();
  if (tensor.layout() != c10::kStrided && has_reachable_values(tensor)) return tensor.values();
  return tensor.has_storage() ? tensor : at::Tensor();
}

/// What stands for the memory behind the tensor, null if that is unknown.
inline const c10::StorageImpl* memory_of(const at::Tensor& tensor) {
  const at::Tensor holder = holder_of(tensor);
  return holder.defined() ? holder.storage().unsafeGetStorageImpl() : nullptr;
}

/// Keeps that from being given to another memory, without keeping the memory.
inline c10::weak_intrusive_ptr<c10::StorageImpl> weak_memory_of(const at::Tensor& tensor) {
  return holder_of(tensor).storage().getWeakStorageImpl();
}

/// The names that tensors are registered by, of views of them, and of casts of them that were
/// followed.   Threads: one at a time.
class TensorNames {
 public:
  /// `tensor` is kept.
  void add(std::string name, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    if (const auto* const memory = memory_of(tensor)) {
      parts_[memory].push_back({registered_.size(), bytes_of(tensor)});
    }
    by_tensor_.emplace(tensor.unsafeGetTensorImpl(), registered_.size());
    registered_.emplace_back(std::move(name), tensor);
  }

  bool empty() const { return registered_.empty(); }

  /// `cast` has the values of `tensor`: it has its name from now on.
  void follow(const at::Tensor& tensor, const at::Tensor& cast) {
    if (empty() || memory_of(cast) == nullptr || memory_of(cast) == memory_of(tensor)) return;
    const auto place = place_of(tensor);
    if (place == none) return;
    if (casts_.size() >= sweep_at_) sweep();
    casts_.insert_or_assign(memory_of(cast), Cast{weak_memory_of(cast), place});
  }

  /// "conv2.weight"; of a gradient "gradient of conv2.weight"; "" for others.
  std::string name_of(const at::Tensor& tensor) const {
    const auto place = place_of(tensor);
    if (place != none) return registered_[place].first;
    for (const auto& [name, parameter] : registered_) {
      const at::Tensor& gradient = parameter.grad();
      if (gradient.defined() && gradient.is_same(tensor)) return "gradient of " + name;
    }
    return "";
  }

  /// "conv2.weight", null for tensors that are not registered, nor views or casts of such.
  const std::string* registered_name_of(const at::Tensor& tensor) const {
    const auto place = place_of(tensor);
    return place == none ? nullptr : &registered_[place].first;
  }

 private:
  struct Bytes {
    const char* begin;
    const char* end;
  };
  struct Part {
    std::size_t place;
    Bytes bytes;
  };
  struct Cast {
    c10::weak_intrusive_ptr<c10::StorageImpl> memory;  // so that its address is not used again
    std::size_t place;
  };
  static constexpr auto none = static_cast<std::size_t>(-1);

  /// From the first element in memory to the end of the last.
  static Bytes bytes_of(const at::Tensor& owner) {
    const at::Tensor tensor = holder_of(owner);
    const auto* const data = static_cast<const char*>(tensor.storage().data());
    const auto element = static_cast<int64_t>(tensor.element_size());
    const char* const begin = data + tensor.storage_offset() * element;
    if (tensor.numel() == 0) return {begin, begin};
    int64_t last = 0;
    for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    return {begin, begin + (last + 1) * element};
  }

  std::size_t place_of(const at::Tensor& tensor) const {
    if (empty() || !tensor.defined()) return none;
    const auto same = by_tensor_.find(tensor.unsafeGetTensorImpl());
    if (same != by_tensor_.end()) return same->second;
    const auto* const memory = memory_of(tensor);
    if (memory == nullptr) return none;
    const auto cast = casts_.find(memory);
    if (cast != casts_.end()) return cast->second.place;
    const auto parts = parts_.find(memory);
    if (parts == parts_.end()) return none;
    // Several parameters may be parts of one memory.
    const Bytes bytes = bytes_of(tensor);
    for (const Part& part : parts->second) {
      if (part.bytes.begin <= bytes.begin && bytes.end <= part.bytes.end) return part.place;
    }
    return none;
  }

  void sweep() {
    for (auto it = casts_.begin(); it != casts_.end();) {
      it = it->second.memory.expired() ? casts_.erase(it) : std::next(it);
    }
    sweep_at_ = 2 * casts_.size() + 64;
  }

  std::vector<std::pair<std::string, at::Tensor>> registered_;
  std::unordered_map<const c10::TensorImpl*, std::size_t> by_tensor_;  // which are kept
  std::unordered_map<const c10::StorageImpl*, std::vector<Part>> parts_;
  std::unordered_map<const c10::StorageImpl*, Cast> casts_;
  std::size_t sweep_at_ = 64;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
