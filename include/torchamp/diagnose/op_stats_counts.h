// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/op_stats_call.h>
#include <torchamp/diagnose/op_stats_report.h>
#include <torchamp/diagnose/operator_facts.h>

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What `OpStats` adds up, so that a call costs one look into a hash table of pointers.
/// Threads: one at a time.
class OpStatsCounts {
 public:
  using Duration = OpStatsCall::Clock::duration;

  struct Count {
    int64_t calls = 0;
    int64_t bytes = 0;
    Duration time{};

    void add(int64_t more_bytes, Duration more_time) {
      ++calls;
      bytes += more_bytes;
      time += more_time;
    }
    OpStatsCasts casts() const { return {calls, bytes, seconds(time)}; }
  };

  /// Of calls of `op`, which must stay where it is, with results of that dtype.
  Count& row(const OperatorFacts& op, c10::ScalarType dtype) { return rows_[{&op, dtype}]; }

  Count casts_to_lower;
  Count casts_to_wider;
  Count casts_back;
  Count other_casts;
  int64_t cached_casts = 0;
  int64_t cached_casts_bytes = 0;
  Duration time{};
  Duration lower_time{};
  bool on_accelerator = false;

  OpStatsReport report() const;

 private:
  using Key = std::pair<const OperatorFacts*, c10::ScalarType>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.first) + static_cast<std::size_t>(key.second);
    }
  };
  static double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

  std::unordered_map<Key, Count, KeyHash> rows_;
};

inline OpStatsReport OpStatsCounts::report() const {
  // Overloads, and the same operator on several devices, make one row.
  std::map<std::pair<std::string, c10::ScalarType>, Count> merged;
  for (const auto& [key, count] : rows_) {
    Count& row = merged[{key.first->name, key.second}];
    row.calls += count.calls;
    row.bytes += count.bytes;
    row.time += count.time;
  }
  OpStatsReport report;
  for (const auto& [key, count] : merged) {
    report.rows.push_back({key.first, key.second, count.calls, count.bytes, seconds(count.time)});
  }
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [](const OpStatsRow& a, const OpStatsRow& b) { return a.bytes > b.bytes; });
  report.casts_to_lower = casts_to_lower.casts();
  report.casts_to_wider = casts_to_wider.casts();
  report.casts_back = casts_back.casts();
  report.other_casts = other_casts.casts();
  report.cached_casts = cached_casts;
  report.cached_casts_bytes = cached_casts_bytes;
  report.seconds = seconds(time);
  report.lower_seconds = seconds(lower_time);
  report.on_accelerator = on_accelerator;
  return report;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
