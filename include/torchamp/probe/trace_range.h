// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/trace_name.h>

#include <ATen/record_function.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// A range of LibTorch's profilers from here until what is returned dies. Null if nobody listens,
/// which is known within a few nanoseconds. `name` is copied.   Host sync: none.
inline std::unique_ptr<at::RecordFunction> begin_range(std::string_view name) {
  auto listeners = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
  if (!listeners) return nullptr;
  auto range = std::make_unique<at::RecordFunction>(std::move(*listeners));
  range->before(trace_name(name).c_str());
  return range;
}

}  // namespace detail

/// A named range in a trace, from here to the end of the scope: what `record_function` is in
/// Python.
///
///     torchamp::TraceRange range("forward");
///     loss = loss_of(model->forward(inputs), targets);
///
/// Whatever profiler of LibTorch runs on this thread sees it; the trace of a TraceGuard shows the
/// name as it is, with quotes and in any script. Without a profiler it costs a few nanoseconds. The
/// phases of a `Timer` are ranges already.
class TraceRange {
 public:
  /// `name` is UTF-8; it is copied if someone listens.
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  [[nodiscard]] explicit TraceRange(std::string_view name) : range_(detail::begin_range(name)) {}

  // A range is a scope of one thread.
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
  TraceRange(TraceRange&&) = delete;
  TraceRange& operator=(TraceRange&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  std::unique_ptr<at::RecordFunction> range_;
};

}  // namespace v0
}  // namespace torchamp
