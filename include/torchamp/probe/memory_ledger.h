// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/libtorch.h>
#include <torchamp/probe/memory_usage.h>
#include <torchamp/probe/operator_watch.h>

#include <c10/core/Device.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Adds up what LibTorch's allocators report about one device.   Threads: any.
class MemoryLedger {
 public:
  /// `largest`: of how many blocks usage() tells. `operators`: whether it tells what made them.
  MemoryLedger(c10::Device device, int64_t largest, bool operators)
      : device_(device),
        largest_(static_cast<std::size_t>(largest)),
        operators_(operators),
        reports_(device.is_cpu()) {}

  /// A block of so many bytes was made at `pointer`, or freed if they are negative; the allocator
  /// now holds so much in all.   Host sync: none.
  void note(void* pointer, int64_t bytes, const AllocatorBytes& total, c10::Device device);

  /// What the allocator holds now.   Host sync: none.
  void note_allocator(const AllocatorBytes& bytes);

  /// Host sync: none.
  MemoryUsage usage() const;

  /// Lets every peak start again from what is held now.   Host sync: none.
  void reset_peak();

  bool wants_operators() const { return operators_; }

 private:
  struct Block {
    int64_t bytes = 0;
    const std::string* operator_name = nullptr;
    const std::string* within = nullptr;
  };

  void note_allocator_locked(const AllocatorBytes& bytes);
  void add(void* pointer, int64_t bytes);
  void remove(std::unordered_map<void*, Block>::iterator block);
  void collect_largest(std::vector<Block>& blocks) const;
  const std::string* kept(std::string_view name);

  const c10::Device device_;
  const std::size_t largest_;
  const bool operators_;

  mutable std::mutex mutex_;
  bool reports_;  // of others than the CPU only some allocators do: their first report tells
  int64_t live_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  int64_t allocations_ = 0;
  std::optional<AllocatorBytes> allocator_;
  std::optional<AllocatorBytes> allocator_peak_;

  std::unordered_map<void*, Block> live_;                        // blocks made in the scope
  std::set<std::pair<int64_t, void*>, std::greater<>> by_size_;  // the same, largest first
  bool at_peak_ = true;      // what is alive now is what was alive at the peak
  std::vector<Block> peak_;  // else the largest of it
  std::unordered_set<std::string> names_;
};

inline void MemoryLedger::note(void* pointer, int64_t bytes, const AllocatorBytes& total,
                               c10::Device device) {
  const bool counted =
      device.type() == device_.type() && (device_.is_cpu() || device.index() == device_.index());
  if (!counted) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  reports_ = true;
  if (!device.is_cpu()) note_allocator_locked(total);
  // A block that is known ends here in any case: freed, or its address given out again after it
  // was freed on a thread that does not report.
  const auto known = live_.find(pointer);
  if (known != live_.end()) remove(known);
  if (bytes > 0) add(pointer, bytes);
}

inline void MemoryLedger::add(void* pointer, int64_t bytes) {
  Block block{bytes, nullptr, nullptr};
  if (operators_) {
    const auto names = OperatorWatch::names();
    block.operator_name = kept(names.innermost);
    block.within = kept(names.outermost);
  }
  live_.emplace(pointer, block);
  if (largest_ > 0) by_size_.emplace(bytes, pointer);
  live_bytes_ += bytes;
  ++allocations_;
  if (live_bytes_ > peak_bytes_) {
    peak_bytes_ = live_bytes_;
    at_peak_ = true;
    peak_.reserve((std::min)(largest_, live_.size()));  // so that freeing needs no memory
  }
}

inline void MemoryLedger::remove(std::unordered_map<void*, Block>::iterator block) {
  if (at_peak_) {
    collect_largest(peak_);
    at_peak_ = false;
  }
  live_bytes_ -= block->second.bytes;
  by_size_.erase({block->second.bytes, block->first});
  live_.erase(block);
}

inline void MemoryLedger::collect_largest(std::vector<Block>& blocks) const {
  blocks.clear();
  for (const auto& [bytes, pointer] : by_size_) {
    if (blocks.size() == largest_) break;
    blocks.push_back(live_.at(pointer));
  }
}

inline const std::string* MemoryLedger::kept(std::string_view name) {
  return name.empty() ? nullptr : &*names_.emplace(name).first;
}

inline void MemoryLedger::note_allocator(const AllocatorBytes& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  note_allocator_locked(bytes);
}

inline void MemoryLedger::note_allocator_locked(const AllocatorBytes& bytes) {
  allocator_ = bytes;
  if (!allocator_peak_) allocator_peak_ = bytes;
  allocator_peak_->allocated = (std::max)(allocator_peak_->allocated, bytes.allocated);
  allocator_peak_->reserved = (std::max)(allocator_peak_->reserved, bytes.reserved);
}

inline MemoryUsage MemoryLedger::usage() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  MemoryUsage usage;
  if (reports_) {
    usage.live_bytes = live_bytes_;
    usage.peak_bytes = peak_bytes_;
    usage.allocations = allocations_;
  }
  if (allocator_) {
    usage.allocated_bytes = allocator_->allocated;
    usage.reserved_bytes = allocator_->reserved;
    usage.peak_allocated_bytes = allocator_peak_->allocated;
    usage.peak_reserved_bytes = allocator_peak_->reserved;
  }
  std::vector<Block> largest = peak_;
  if (at_peak_) collect_largest(largest);
  for (const Block& block : largest) {
    MemoryAllocation allocation;
    allocation.bytes = block.bytes;
    if (block.operator_name != nullptr) allocation.operator_name = *block.operator_name;
    if (block.within != nullptr) allocation.within = *block.within;
    usage.largest.push_back(std::move(allocation));
  }
  return usage;
}

inline void MemoryLedger::reset_peak() {
  const std::lock_guard<std::mutex> lock(mutex_);
  peak_bytes_ = live_bytes_;
  at_peak_ = true;
  allocator_peak_ = allocator_;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
