// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// Memory of tensors, in bytes.
struct MemoryUsage {
  int64_t live_bytes = 0;   ///< of tensors made in the scope that are still alive
  int64_t peak_bytes = 0;   ///< the most that `live_bytes` has been
  int64_t allocations = 0;  ///< how many times memory was asked for

  /// What the device's caching allocator holds, for the whole process; empty on a CPU, which has
  /// none. The peaks are the highest values seen from the scope, at its start or at an allocation.
  std::optional<int64_t> allocated_bytes;
  std::optional<int64_t> reserved_bytes;
  std::optional<int64_t> peak_allocated_bytes;
  std::optional<int64_t> peak_reserved_bytes;
};

namespace detail {

/// Adds up what LibTorch's allocators report. Backward threads report too, hence the lock.
class MemoryLedger : public c10::MemoryReportingInfoBase,
                     public std::enable_shared_from_this<MemoryLedger> {
 public:
  /// `outer` hears every report as well, so that probes nest.
  MemoryLedger(c10::Device device, std::shared_ptr<MemoryLedger> outer)
      : device_(device), outer_(std::move(outer)) {}

  void reportMemoryUsage(void* pointer, int64_t bytes, std::size_t total_allocated,
                         std::size_t total_reserved, c10::Device device) override;
  bool memoryProfilingEnabled() const override { return true; }

  void note_allocator(const AllocatorBytes& bytes);
  MemoryUsage usage() const;
  void reset_peak();

 private:
  void note_allocator_locked(const AllocatorBytes& bytes);

  const c10::Device device_;
  const std::shared_ptr<MemoryLedger> outer_;
  mutable std::mutex mutex_;
  MemoryUsage usage_;
  std::unordered_map<void*, int64_t> live_;  // bytes of each block made in the scope
};

}  // namespace detail

/// Counts the memory of tensors that a scope makes on one device, on the CPU too.
///
///     torchamp::MemoryProbe probe(device);
///     train_step();
///     std::cout << probe.usage().peak_bytes;
///
/// Exact for what this thread and the backward threads it starts allocate; other threads are not
/// seen. Costs a lock and a table entry an allocation while alive, nothing otherwise. Probes nest.
/// Caveats: LibTorch has one place per thread for such reports, so a probe cannot start while the
/// autograd profiler runs, and does not hear of allocations while a profiler started inside it
/// runs. LibTorch may log that a block "was allocated before the profiling started": a tensor from
/// before the scope was freed in it, which is fine and counts for nothing.
class MemoryProbe {
 public:
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  /// Throws: [E13] while the autograd profiler runs.
  [[nodiscard]] explicit MemoryProbe(c10::Device device);

  /// Host sync: none.
  MemoryUsage usage() const;

  /// Lets every peak start again from what is held now.   Host sync: none.
  void reset_peak();

  // A probe is a scope of one thread.
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;
  MemoryProbe(MemoryProbe&&) = delete;
  MemoryProbe& operator=(MemoryProbe&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  static c10::Device with_index(c10::Device device);
  static std::shared_ptr<detail::MemoryLedger> outer_ledger();
  void ask_allocator() const;

  c10::Device device_;
  std::shared_ptr<detail::MemoryLedger> ledger_;
  c10::DebugInfoGuard reports_;
};

namespace detail {

inline void MemoryLedger::reportMemoryUsage(void* pointer, int64_t bytes,
                                            std::size_t total_allocated, std::size_t total_reserved,
                                            c10::Device device) {
  if (outer_) {
    outer_->reportMemoryUsage(pointer, bytes, total_allocated, total_reserved, device);
  }
  const bool counted =
      device.type() == device_.type() && (device_.is_cpu() || device.index() == device_.index());
  if (!counted) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!device.is_cpu()) {
    note_allocator_locked(
        {static_cast<int64_t>(total_allocated), static_cast<int64_t>(total_reserved)});
  }
  // A block that is known ends here in any case: freed, or its address given out again after it
  // was freed on a thread that does not report.
  const auto known = live_.find(pointer);
  if (known != live_.end()) {
    usage_.live_bytes -= known->second;
    live_.erase(known);
  }
  if (bytes > 0) {
    live_.emplace(pointer, bytes);
    usage_.live_bytes += bytes;
    usage_.peak_bytes = (std::max)(usage_.peak_bytes, usage_.live_bytes);
    ++usage_.allocations;
  }
}

inline void MemoryLedger::note_allocator(const AllocatorBytes& bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  note_allocator_locked(bytes);
}

inline void MemoryLedger::note_allocator_locked(const AllocatorBytes& bytes) {
  usage_.allocated_bytes = bytes.allocated;
  usage_.reserved_bytes = bytes.reserved;
  usage_.peak_allocated_bytes =
      (std::max)(usage_.peak_allocated_bytes.value_or(0), bytes.allocated);
  usage_.peak_reserved_bytes = (std::max)(usage_.peak_reserved_bytes.value_or(0), bytes.reserved);
}

inline MemoryUsage MemoryLedger::usage() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return usage_;
}

inline void MemoryLedger::reset_peak() {
  const std::lock_guard<std::mutex> lock(mutex_);
  usage_.peak_bytes = usage_.live_bytes;
  usage_.peak_allocated_bytes = usage_.allocated_bytes;
  usage_.peak_reserved_bytes = usage_.reserved_bytes;
}

}  // namespace detail

inline MemoryProbe::MemoryProbe(c10::Device device)
    : device_(with_index(device)),
      ledger_(std::make_shared<detail::MemoryLedger>(device_, outer_ledger())),
      reports_(c10::DebugInfoKind::PROFILER_STATE, ledger_) {
  ask_allocator();
}

inline MemoryUsage MemoryProbe::usage() const {
  ask_allocator();
  return ledger_->usage();
}

inline void MemoryProbe::reset_peak() {
  ask_allocator();
  ledger_->reset_peak();
}

inline c10::Device MemoryProbe::with_index(c10::Device device) {
  if (device.is_cpu() || device.has_index()) return device;
  return c10::impl::VirtualGuardImpl(device.type()).getDevice();
}

inline std::shared_ptr<detail::MemoryLedger> MemoryProbe::outer_ledger() {
  auto* const current = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (current == nullptr) return nullptr;
  auto* const ledger = dynamic_cast<detail::MemoryLedger*>(current);
  TORCHAMP_CHECK(E13, ledger != nullptr,
                 "MemoryProbe: the autograd profiler runs on this thread and takes the reports that"
                 " a probe needs; stop it first, or ask it for memory");
  return ledger->shared_from_this();
}

inline void MemoryProbe::ask_allocator() const {
  if (const auto bytes = detail::allocator_bytes(device_)) ledger_->note_allocator(*bytes);
}

}  // namespace v0
}  // namespace torchamp
