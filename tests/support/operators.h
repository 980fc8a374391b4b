// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <ATen/record_function.h>

#include <cstring>
#include <memory>
#include <utility>

/// Counts the calls of one operator that this thread makes while it lives; one at a time. Without a
/// name, those of all operators, nested ones too.
class OperatorCounter {
 public:
  explicit OperatorCounter(const char* name = nullptr) {
    counted() = {name, 0};
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction& call)
                                       -> std::unique_ptr<at::ObserverContext> {
          const char* const wanted = counted().name;
          if (wanted == nullptr || std::strcmp(call.name(), wanted) == 0) ++counted().calls;
          return nullptr;
        }).scopes({at::RecordScope::FUNCTION}));
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
    const char* name = nullptr;
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

/// Reads by the host of a number that stands on a device, item() and what is like it, that this
/// thread makes while it lives; one at a time. What LibTorch's fused optimizer operators read of
/// their own step numbers is not counted: they do so on a CPU, where nothing has to be waited for.
class HostReadCounter {
 public:
  HostReadCounter() {
    counted() = {};
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(
        [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
          if (is_fused(call)) ++counted().fused_depth;
          if (counted().fused_depth == 0 &&
              std::strcmp(call.name(), "aten::_local_scalar_dense") == 0) {
            ++counted().reads;
          }
          return nullptr;
        },
        [](const at::RecordFunction& call, at::ObserverContext* /*context*/) {
          if (is_fused(call)) --counted().fused_depth;
        }));
  }
  ~HostReadCounter() { at::removeCallback(handle_); }
  HostReadCounter(const HostReadCounter&) = delete;
  HostReadCounter& operator=(const HostReadCounter&) = delete;

  /// How many since the last call, or since it lives.
  int more() { return std::exchange(counted().reads, 0); }

 private:
  struct Counted {
    int reads = 0;
    int fused_depth = 0;
  };
  static Counted& counted() {
    static thread_local Counted counted;
    return counted;
  }
  static bool is_fused(const at::RecordFunction& call) {
    return std::strncmp(call.name(), "aten::_fused_ad", 15) == 0 ||
           std::strncmp(call.name(), "aten::_fused_sgd", 16) == 0;
  }

  at::CallbackHandle handle_;
};
