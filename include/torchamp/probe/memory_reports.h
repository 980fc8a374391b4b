// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/probe/memory_link.h>
#include <torchamp/probe/operator_watch.h>

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// While it is alive, the ledgers of a chain hear of what this thread allocates, beside those that
/// hear of it already.   Threads: ends on the thread that began, innermost first.
class MemoryReports {
 public:
  /// Host sync: none.   Throws: [E13] while a profiler of this thread runs.
  [[nodiscard]] explicit MemoryReports(const MemoryLink::Pointer& chain)
      : MemoryReports(chain, MemoryLink::current()) {}

  /// The chain that hears now.
  const MemoryLink::Pointer& chain() const { return chain_; }

  MemoryReports(const MemoryReports&) = delete;
  MemoryReports& operator=(const MemoryReports&) = delete;
  MemoryReports(MemoryReports&&) = delete;
  MemoryReports& operator=(MemoryReports&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  MemoryReports(const MemoryLink::Pointer& chain, const MemoryLink::Pointer& outer)
      : chain_(MemoryLink::join(chain, outer)), guard_(c10::DebugInfoKind::PROFILER_STATE, chain_) {
    const bool watched = outer != nullptr && outer->wants_operators();
    if (chain_->wants_operators() && !watched) operators_.emplace();
  }

  MemoryLink::Pointer chain_;
  c10::DebugInfoGuard guard_;
  std::optional<OperatorWatch> operators_;
};

/// What `MemoryProbe::wrap` returns.
template <class Function>
class InMemoryReports {
 public:
  template <class F>
  InMemoryReports(MemoryLink::Pointer chain, F&& function)
      : chain_(std::move(chain)), function_(std::forward<F>(function)) {}

  template <class... Arguments>
  std::invoke_result_t<Function&, Arguments...> operator()(Arguments&&... arguments) & {
    const MemoryReports reports(chain_);
    return std::invoke(function_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  std::invoke_result_t<const Function&, Arguments...> operator()(Arguments&&... arguments) const& {
    const MemoryReports reports(chain_);
    return std::invoke(function_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
  std::invoke_result_t<Function, Arguments...> operator()(Arguments&&... arguments) && {
    const MemoryReports reports(chain_);
    return std::invoke(std::move(function_), std::forward<Arguments>(arguments)...);
  }

 private:
  MemoryLink::Pointer chain_;
  Function function_;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
