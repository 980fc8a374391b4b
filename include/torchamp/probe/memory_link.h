// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>
#include <torchamp/probe/memory_ledger.h>

#include <c10/core/Device.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Stands where LibTorch reports allocations to, and hands them to a ledger and to the link that
/// stood there before: the chain of the probes that are alive on a thread.
///
/// Note [The one place for reports]
/// A thread has one place for whoever hears of its allocations, `PROFILER_STATE`, and the callbacks
/// of a profiler look for their own state there, whatever stands in it. So there can't be a link
/// above a profiler's state: each operator would take the link for that state, and the process
/// crashes or hangs. A profiler of all threads keeps its state elsewhere and is no hindrance. In
/// the other order LibTorch refuses to start a profiler on a thread where anything stands in that
/// place. A range that outlives the profiler it began in must not end while a link stands there,
/// for the same reason. A link is a `ProfilerStateBase` since LibTorch asks what stands there
/// whether it profiles: it answers no.
class MemoryLink : public torch::profiler::impl::ProfilerStateBase,
                   public std::enable_shared_from_this<MemoryLink> {
 public:
  using Pointer = std::shared_ptr<MemoryLink>;

  MemoryLink(std::shared_ptr<MemoryLedger> ledger, Pointer outer)
      : ProfilerStateBase(
            torch::profiler::impl::ProfilerConfig(torch::profiler::impl::ProfilerState::Disabled)),
        ledger_(std::move(ledger)),
        outer_(std::move(outer)) {}

  /// The innermost link of this thread; null if there is none.
  /// Throws: [E13] while a profiler of this thread runs.
  static Pointer current();

  /// `inner` put onto `outer`, without the ledgers that `outer` has.
  static Pointer join(const Pointer& inner, const Pointer& outer);

  bool has(const MemoryLedger& ledger) const;
  /// Whether one of the ledgers wants to know the operators.
  bool wants_operators() const;

  void reportMemoryUsage(void* pointer, int64_t bytes, std::size_t total_allocated,
                         std::size_t total_reserved, c10::Device device) override;
  bool memoryProfilingEnabled() const override { return true; }
  torch::profiler::impl::ActiveProfilerType profilerType() override {
    return torch::profiler::impl::ActiveProfilerType::NONE;
  }

 private:
  const std::shared_ptr<MemoryLedger> ledger_;
  const Pointer outer_;
};

inline MemoryLink::Pointer MemoryLink::current() {
  auto* const info = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (info == nullptr) return nullptr;
  auto* const link = dynamic_cast<MemoryLink*>(info);
  TORCHAMP_CHECK(E13, link != nullptr,
                 "MemoryProbe: a profiler of this thread runs and takes the reports that a probe"
                 " needs; stop it first, or profile all threads (ExperimentalConfig), which leaves"
                 " them alone");
  return link->shared_from_this();
}

inline MemoryLink::Pointer MemoryLink::join(const Pointer& inner, const Pointer& outer) {
  if (inner == nullptr) return outer;
  auto joined = join(inner->outer_, outer);
  if (joined != nullptr && joined->has(*inner->ledger_)) return joined;
  return std::make_shared<MemoryLink>(inner->ledger_, std::move(joined));
}

inline bool MemoryLink::has(const MemoryLedger& ledger) const {
  return ledger_.get() == &ledger || (outer_ != nullptr && outer_->has(ledger));
}

inline bool MemoryLink::wants_operators() const {
  return ledger_->wants_operators() || (outer_ != nullptr && outer_->wants_operators());
}

inline void MemoryLink::reportMemoryUsage(void* pointer, int64_t bytes, std::size_t total_allocated,
                                          std::size_t total_reserved, c10::Device device) {
  if (outer_) {
    outer_->reportMemoryUsage(pointer, bytes, total_allocated, total_reserved, device);
  }
  ledger_->note(pointer, bytes,
                {static_cast<int64_t>(total_allocated), static_cast<int64_t>(total_reserved)},
                device);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
