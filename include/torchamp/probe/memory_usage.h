// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// One block of memory.
struct MemoryAllocation {
  int64_t bytes = 0;

  /// The innermost operator that is about more than memory: "aten::mm" rather than "aten::empty".
  /// Empty if operators were not asked for, or none was running.
  std::optional<std::string> operator_name;

  /// The outermost operator or backward node around that one, if there is one: "aten::linear",
  /// "MmBackward0".
  std::optional<std::string> within;
};

/// What a `MemoryProbe` knows, in bytes. What no source can tell is empty, and not 0.
struct MemoryUsage {
  /// Of tensors made in the scope that are still alive.
  std::optional<int64_t> live_bytes;
  /// The most that `live_bytes` has been.
  std::optional<int64_t> peak_bytes;
  /// How many times memory was asked for.
  std::optional<int64_t> allocations;

  /// What the device's caching allocator holds, for the whole process; empty on a CPU, which has
  /// none. The peaks are the highest values seen from the scope, at its start or at an allocation.
  std::optional<int64_t> allocated_bytes;
  std::optional<int64_t> reserved_bytes;
  std::optional<int64_t> peak_allocated_bytes;
  std::optional<int64_t> peak_reserved_bytes;

  /// The largest blocks of those that were alive at the peak, largest first, as many as asked for.
  std::vector<MemoryAllocation> largest;
};

}  // namespace v0
}  // namespace torchamp
