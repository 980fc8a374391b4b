// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>

#include <memory>
#include <string>
#include <vector>

/// Writes down the beginning ("+name") and the end ("-name") of the user's ranges on its thread, as
/// a profiler hears them. One at a time.
class RangeListener {
 public:
  RangeListener() {
    heard().clear();
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction& range) -> std::unique_ptr<at::ObserverContext> {
              heard().push_back(std::string("+") + range.name());
              return nullptr;
            },
            [](const at::RecordFunction& range, at::ObserverContext* /*context*/) {
              heard().push_back(std::string("-") + range.name());
            })
            .scopes({at::RecordScope::USER_SCOPE}));
  }
  ~RangeListener() { at::removeCallback(handle_); }
  RangeListener(const RangeListener&) = delete;
  RangeListener& operator=(const RangeListener&) = delete;

  static std::vector<std::string>& heard() {
    static std::vector<std::string> heard;
    return heard;
  }

 private:
  at::CallbackHandle handle_;
};
