// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <ATen/record_function.h>

#include <cstring>
#include <memory>

/// Counts the calls of one operator that this thread makes while it lives; one at a time.
class OperatorCounter {
 public:
  explicit OperatorCounter(const char* name) {
    counted() = {name, 0};
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(
        [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
          if (std::strcmp(call.name(), counted().name) == 0) ++counted().calls;
          return nullptr;
        }));
  }
  ~OperatorCounter() { at::removeCallback(handle_); }
  OperatorCounter(const OperatorCounter&) = delete;
  OperatorCounter& operator=(const OperatorCounter&) = delete;

  /// How many since the last call, or since it lives.
  int more() {
    const int seen = counted().calls;
    counted().calls = 0;
    return seen;
  }

 private:
  struct Counted {
    const char* name = "";
    int calls = 0;
  };
  static Counted& counted() {
    static thread_local Counted counted;
    return counted;
  }

  at::CallbackHandle handle_;
};

struct CastCounter : OperatorCounter {
  CastCounter() : OperatorCounter("aten::_to_copy") {}
};

/// Reads by the host of a number that stands on a device: item() and what is like it.
struct HostReadCounter : OperatorCounter {
  HostReadCounter() : OperatorCounter("aten::_local_scalar_dense") {}
};
