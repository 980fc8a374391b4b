// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Knows which operators are running on a thread, from those that begin while this is alive.
///
/// LibTorch carries its callback to the backward threads that this thread starts.
/// Costs two calls an operator while alive.   Threads: ends on the thread that began.
class OperatorWatch {
 public:
  /// Names of running operators; empty if there is none. They are valid as long as these run.
  struct Names {
    std::string_view innermost;  // of those about more than memory, else the outermost of all
    std::string_view outermost;  // if it is another
  };

  /// Host sync: none.
  [[nodiscard]] OperatorWatch();
  ~OperatorWatch() { at::removeCallback(handle_); }

  /// On this thread.   Host sync: none.
  static Names names();

  OperatorWatch(const OperatorWatch&) = delete;
  OperatorWatch& operator=(const OperatorWatch&) = delete;
  OperatorWatch(OperatorWatch&&) = delete;
  OperatorWatch& operator=(OperatorWatch&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  static std::vector<const char*>& running() {
    static thread_local std::vector<const char*> names;
    return names;
  }
  static bool is_about_memory(std::string_view name);

  at::CallbackHandle handle_;
};

inline OperatorWatch::OperatorWatch()
    : handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(
              [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
                running().push_back(call.name());
                return nullptr;
              },
              [](const at::RecordFunction& /*call*/, at::ObserverContext* /*context*/) {
                if (!running().empty()) running().pop_back();
              })
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {}

inline OperatorWatch::Names OperatorWatch::names() {
  Names names;
  for (const std::string_view name : running()) {
    if (name.rfind("autograd::engine::", 0) == 0) continue;  // says the name of the node again
    if (names.outermost.empty()) names.outermost = name;
    if (names.innermost.empty() || !is_about_memory(name)) names.innermost = name;
  }
  if (names.outermost == names.innermost) names.outermost = {};
  return names;
}

inline bool OperatorWatch::is_about_memory(std::string_view name) {
  for (const std::string_view prefix : {"aten::empty", "aten::new_empty", "aten::resize_"}) {
    if (name.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
