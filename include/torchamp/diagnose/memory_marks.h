// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/tensor_names.h>

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Why a memory holds what is not finite, as far as a tracer has seen.
struct MemoryMark {
  enum class Reason {
    Found,          ///< `finding` says it: it began there, or came from there
    OnPurpose,      ///< a mask of infinities, or what an allowed operator made
    Uninitialised,  ///< no operator has written to all of it yet
  };
  Reason reason = Reason::Found;
  int64_t finding = -1;  ///< number of the finding, if `Found`
  int64_t made_at = 0;   ///< number of the call that marked it
};

/// The marks of memories that are in use. A memory that is freed has none, also if its address is
/// used again.   Threads: one at a time.
class MemoryMarks {
 public:
  /// The mark of the memory behind `tensor`, null if it has none.
  const MemoryMark* find(const at::Tensor& tensor) const {
    const auto found = marks_.find(memory_of(tensor));
    return found == marks_.end() ? nullptr : &found->second.mark;
  }

  void set(const at::Tensor& tensor, const MemoryMark& mark) {
    if (memory_of(tensor) == nullptr) return;
    if (marks_.size() >= sweep_at_) sweep();
    marks_.insert_or_assign(memory_of(tensor), Marked{weak_memory_of(tensor), mark});
  }

  /// An operator has written to `tensor`. If that was all of its memory, it has values now, and if
  /// these are finite, there is nothing to mark.
  void written(const at::Tensor& tensor, bool finite) {
    if (marks_.empty()) return;
    const auto found = marks_.find(memory_of(tensor));
    if (found == marks_.end()) return;
    if (!finite && found->second.mark.reason != MemoryMark::Reason::Uninitialised) return;
    const at::Tensor holder = holder_of(tensor);
    const auto bytes = static_cast<std::size_t>(holder.numel()) * holder.element_size();
    if (bytes >= holder.storage().nbytes()) marks_.erase(found);
  }

  bool empty() const { return marks_.empty(); }

  /// True if a memory that is in use was marked with this finding.
  bool any_with(int64_t finding) const {
    for (const auto& item : marks_) {
      const auto& marked = item.second;
      if (marked.mark.reason == MemoryMark::Reason::Found && marked.mark.finding == finding &&
          !marked.memory.expired()) {
        return true;
      }
    }
    return false;
  }

 private:
  struct Marked {
    c10::weak_intrusive_ptr<c10::StorageImpl> memory;  // so that its address is not used again
    MemoryMark mark;
  };

  void sweep() {
    for (auto it = marks_.begin(); it != marks_.end();) {
      it = it->second.memory.expired() ? marks_.erase(it) : std::next(it);
    }
    sweep_at_ = 2 * marks_.size() + 64;
  }

  std::unordered_map<const c10::StorageImpl*, Marked> marks_;
  std::size_t sweep_at_ = 64;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
