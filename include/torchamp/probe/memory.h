// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>
#include <torchamp/probe/memory_ledger.h>
#include <torchamp/probe/memory_link.h>
#include <torchamp/probe/memory_reports.h>
#include <torchamp/probe/memory_usage.h>

#include <c10/core/Device.h>
#include <torch/arg.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace torchamp {
inline namespace v0 {

struct MemoryProbeOptions {
  /// Of how many blocks, the largest at the peak, `MemoryUsage::largest` tells.
  TORCH_ARG(int64_t, largest) = 10;

  /// Whether it tells which operator made each; that costs two calls an operator, some 100 ns.
  TORCH_ARG(bool, operators) = false;
};

/// Counts the memory of tensors that a scope makes on one device, on the CPU too.
///
///     torchamp::MemoryProbe probe(device, torchamp::MemoryProbeOptions().operators(true));
///     train_step();
///     const auto usage = probe.usage();
///     std::cout << *usage.peak_bytes << ' ' << *usage.largest.front().operator_name;
///
/// Exact, to the byte on a CPU and to the allocator's rounding on others, for what this thread and
/// the backward threads it starts allocate. LibTorch's reports belong to a thread, so other threads
/// are seen only in what `wrap()` runs. Probes nest, each for itself; one for each device.
///
/// Costs a lock and two table entries an allocation while alive, nothing otherwise.
/// Caveats: a profiler of one thread and a probe on it exclude each other, since LibTorch has one
/// place for what hears of allocations (see Note [The one place for reports]). The second is
/// refused: a probe with [E13], a profiler by LibTorch, as "already enabled on this thread"; the
/// first goes on. A profiler of all threads (`ExperimentalConfig::profile_all_threads`, newer
/// LibTorch), which has no memory events, and one of another thread do not mind a probe, in either
/// order; but LibTorch 2.11 refuses to begin one of all threads while a probe is alive. What a
/// thread without reports frees is held to be alive until its address is used again. LibTorch may
/// log that a block "was allocated before the profiling started": a tensor from before the scope
/// was freed in it, which is fine and counts for nothing.
class MemoryProbe {
 public:
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  /// Throws: [E08] if `largest` is negative; [E13] while a profiler of this thread runs.
  [[nodiscard]] explicit MemoryProbe(c10::Device device, const MemoryProbeOptions& options = {});

  /// Host sync: none.   Threads: any.
  MemoryUsage usage() const;

  /// Lets every peak start again from what is held now.   Host sync: none.   Threads: any.
  void reset_peak();

  /// A callable that runs `function` with this probe, and those around it, counting, on whatever
  /// thread calls it. It takes the arguments of `function` and returns what it returns; it may
  /// outlive the probe. Calling it throws [E13] while a profiler of that thread runs.
  /// Host sync: none.
  ///
  ///     std::thread worker(probe.wrap([&] { output = model->forward(input); }));
  template <class Function>
  detail::InMemoryReports<std::decay_t<Function>> wrap(Function&& function) const {
    return {reports_.chain(), std::forward<Function>(function)};
  }

  // A probe is a scope of one thread.
  MemoryProbe(const MemoryProbe&) = delete;
  MemoryProbe& operator=(const MemoryProbe&) = delete;
  MemoryProbe(MemoryProbe&&) = delete;
  MemoryProbe& operator=(MemoryProbe&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  static std::shared_ptr<detail::MemoryLedger> make_ledger(c10::Device device,
                                                           const MemoryProbeOptions& options);
  void ask_allocator() const;

  c10::Device device_;
  std::shared_ptr<detail::MemoryLedger> ledger_;
  detail::MemoryReports reports_;
};

inline MemoryProbe::MemoryProbe(c10::Device device, const MemoryProbeOptions& options)
    : device_(detail::device_with_index(device)),
      ledger_(make_ledger(device_, options)),
      reports_(std::make_shared<detail::MemoryLink>(ledger_, nullptr)) {
  ask_allocator();
}

inline std::shared_ptr<detail::MemoryLedger> MemoryProbe::make_ledger(
    c10::Device device, const MemoryProbeOptions& options) {
  TORCHAMP_CHECK(E08, options.largest() >= 0, "MemoryProbe: largest is ", options.largest(),
                 " blocks; choose 0 or more");
  return std::make_shared<detail::MemoryLedger>(device, options.largest(), options.operators());
}

inline MemoryUsage MemoryProbe::usage() const {
  ask_allocator();
  return ledger_->usage();
}

inline void MemoryProbe::reset_peak() {
  ask_allocator();
  ledger_->reset_peak();
}

inline void MemoryProbe::ask_allocator() const {
  if (const auto bytes = detail::allocator_bytes(device_)) ledger_->note_allocator(*bytes);
}

}  // namespace v0
}  // namespace torchamp
