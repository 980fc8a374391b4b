// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <ATen/record_function.h>

#include <cstring>
#include <memory>

/// Counts the casts (aten::_to_copy) that this thread makes while it lives; one at a time.
class CastCounter {
 public:
  CastCounter() {
    count() = 0;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(
        [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
          if (std::strcmp(call.name(), "aten::_to_copy") == 0) ++count();
          return nullptr;
        }));
  }
  ~CastCounter() { at::removeCallback(handle_); }
  CastCounter(const CastCounter&) = delete;
  CastCounter& operator=(const CastCounter&) = delete;

  /// How many since the last call, or since it lives.
  int more() {
    const int seen = count();
    count() = 0;
    return seen;
  }

 private:
  static int& count() {
    static thread_local int casts = 0;
    return casts;
  }

  at::CallbackHandle handle_;
};
