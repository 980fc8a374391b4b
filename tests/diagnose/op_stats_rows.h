// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/op_stats_report.h>

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// What OpStats counted, without the times, to be compared.

struct Casts {
  std::int64_t calls;
  std::int64_t bytes;

  friend bool operator==(const Casts& a, const Casts& b) {
    return a.calls == b.calls && a.bytes == b.bytes;
  }
  friend std::ostream& operator<<(std::ostream& out, const Casts& casts) {
    return out << casts.calls << " casts, " << casts.bytes << " bytes";
  }
};

struct Row {
  std::string name;  // "aten::linear BFloat16"
  std::int64_t calls;
  std::int64_t bytes;

  friend bool operator==(const Row& a, const Row& b) {
    return a.name == b.name && a.calls == b.calls && a.bytes == b.bytes;
  }
  friend std::ostream& operator<<(std::ostream& out, const Row& row) {
    return out << row.name << ": " << row.calls << " calls, " << row.bytes << " bytes\n";
  }
};
using Rows = std::vector<Row>;

inline Rows rows_of(const torchamp::OpStatsReport& report) {
  Rows rows;
  for (const auto& row : report.rows) {
    rows.push_back({row.op + " " + c10::toString(row.dtype), row.calls, row.bytes});
  }
  return rows;
}

inline Casts casts_of(const torchamp::OpStatsCasts& casts) { return {casts.calls, casts.bytes}; }

/// The rows of an operator, added up, of one dtype if one is named.
inline torchamp::OpStatsRow row_of(const torchamp::OpStatsReport& report, const std::string& op,
                                   std::optional<c10::ScalarType> dtype = std::nullopt) {
  torchamp::OpStatsRow sum{op, dtype.value_or(c10::ScalarType::Undefined)};
  for (const auto& row : report.rows) {
    if (row.op != op || (dtype && row.dtype != *dtype)) continue;
    sum.calls += row.calls;
    sum.bytes += row.bytes;
    sum.seconds += row.seconds;
  }
  return sum;
}
