// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/device.h>
#include <torchamp/detail/libtorch.h>
#include <torchamp/report/table.h>

#include <c10/core/Device.h>

#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <ostream>
#include <string>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// Prints one line at the end of its scope: how long that took.
///
///     torchamp::ScopedTimer timer{"FP32 training"};
///     train();  // "FP32 training: 12.3 s"
///
/// The time has all of the device's work in it and none of what was queued before; before LibTorch
/// 2.7, of the current stream. For numbers rather than a line: `Timer`.   Threads: one. `Clock` can
/// be replaced, for tests.
template <class Clock = std::chrono::steady_clock>
class BasicScopedTimer {
 public:
  static_assert(Clock::is_steady, "a clock that can be set would measure times that never were");

  /// `out` must outlive the scope.   Host sync: waits for the device.
  [[nodiscard]] explicit BasicScopedTimer(std::string name, std::ostream& out = std::cout,
                                          c10::Device device = default_device())
      : name_(std::move(name)),
        out_(out),
        device_(detail::device_with_index(device)),
        exceptions_(std::uncaught_exceptions()) {
    detail::synchronize(device_);
    start_ = Clock::now();
  }

  /// Prints the line; if that fails, there is none. It says so if an exception ends the scope.
  /// Host sync: waits for the device.
  ~BasicScopedTimer() {
    try {
      detail::synchronize(device_);
      const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      const bool thrown = std::uncaught_exceptions() > exceptions_;
      // In one piece, so that lines of other threads stay apart.
      out_ << name_ + ": " + format_seconds(seconds) +
                  (thrown ? ", ended by an exception\n" : "\n");
    } catch (...) {  // NOLINT(bugprone-empty-catch): a line is not worth a program
    }
  }

  BasicScopedTimer(const BasicScopedTimer&) = delete;
  BasicScopedTimer& operator=(const BasicScopedTimer&) = delete;
  BasicScopedTimer(BasicScopedTimer&&) = delete;
  BasicScopedTimer& operator=(BasicScopedTimer&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  std::string name_;
  std::ostream& out_;
  c10::Device device_;
  int exceptions_;  // that were under way at the start
  typename Clock::time_point start_;
};

using ScopedTimer = BasicScopedTimer<>;

}  // namespace v0
}  // namespace torchamp
