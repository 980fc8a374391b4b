// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/data_table.h>
#include <torchamp/report/json.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/report.h>
#include <torchamp/report/table.h>

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// The calls of one operator with results of one dtype.
struct OpStatsRow {
  std::string op;         ///< "aten::linear"
  c10::ScalarType dtype;  ///< Undefined for calls without a tensor
  int64_t calls = 0;
  int64_t bytes = 0;   ///< of the tensors that they made or changed
  double seconds = 0;  ///< of the host, without the casts that autocast made in them
};

/// Conversions to another dtype.
struct OpStatsCasts {
  int64_t calls = 0;
  int64_t bytes = 0;   ///< of their results
  double seconds = 0;  ///< of the host
};

/// What `OpStats` counted.
struct OpStatsReport {
  std::vector<OpStatsRow> rows;  ///< those with the most bytes first

  OpStatsCasts casts_to_lower;  ///< by autocast, to float16 or bfloat16; not in `rows`
  OpStatsCasts casts_to_wider;  ///< by autocast, to float32 or wider; not in `rows`
  OpStatsCasts casts_back;      ///< of gradients, by the backward pass of those; not in `rows`
  OpStatsCasts other_casts;     ///< by the program, or inside of operators; those are in `rows`

  int64_t cached_casts = 0;        ///< how often a cast from autocast's cache was used again
  int64_t cached_casts_bytes = 0;  ///< of the tensors that did not have to be made

  double seconds = 0;        ///< of the host in operators and casts, those inside of others once
  double lower_seconds = 0;  ///< of which in operators in lower precision, without casts
  /// True if a tensor was on an accelerator, which works while the host goes on: its work took
  /// other times than the host's, so text, JSON and section leave times out.
  bool on_accelerator = false;

  int64_t calls() const;        ///< of the operators in `rows`
  int64_t lower_calls() const;  ///< of which in lower precision: of 16 bits or less

  /// All that autocast made, forward and backward.
  OpStatsCasts casts() const;

  /// Parts of the time, from 0 to 1; none where nothing ran, or something ran on an accelerator.
  std::optional<double> lower_share() const { return share(lower_seconds); }
  std::optional<double> cast_share() const { return share(casts().seconds); }

  /// The numbers in sentences, then a table of the first `shown` rows; lines end with a line break.
  std::string to_text(std::size_t shown = 20) const;
  friend std::ostream& operator<<(std::ostream& out, const OpStatsReport& report) {
    return out << report.to_text();
  }

  /// Every number; "seconds" and the shares are null where they are none.
  Json to_json() const;

  /// For `Report::sections`.
  Section to_section() const;

 private:
  std::optional<double> share(double part) const {
    if (on_accelerator || !(seconds > 0)) return std::nullopt;
    return part / seconds;
  }
  std::vector<std::string> sentences() const;
};

namespace detail {

/// True for what autocast calls lower precision: floating-point numbers of 16 bits or less.
inline bool is_lower_precision(c10::ScalarType dtype) {
  return c10::isFloatingType(dtype) && c10::elementSize(dtype) <= 2;
}

/// "BFloat16", or "none" for calls without a tensor.
inline std::string op_stats_dtype(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Undefined ? "none" : c10::toString(dtype);
}

/// "3 casts (1.50 kB)".
inline std::string count_and_bytes(int64_t count, int64_t bytes, const std::string& one) {
  return format_count(count) + " " + one + (count == 1 ? "" : "s") + " (" + format_bytes(bytes) +
         ")";
}

}  // namespace detail

inline int64_t OpStatsReport::calls() const {
  int64_t sum = 0;
  for (const OpStatsRow& row : rows) sum += row.calls;
  return sum;
}

inline int64_t OpStatsReport::lower_calls() const {
  int64_t sum = 0;
  for (const OpStatsRow& row : rows) sum += detail::is_lower_precision(row.dtype) ? row.calls : 0;
  return sum;
}

inline OpStatsCasts OpStatsReport::casts() const {
  OpStatsCasts sum;
  for (const OpStatsCasts* part : {&casts_to_lower, &casts_to_wider, &casts_back}) {
    sum.calls += part->calls;
    sum.bytes += part->bytes;
    sum.seconds += part->seconds;
  }
  return sum;
}

inline std::vector<std::string> OpStatsReport::sentences() const {
  std::vector<std::string> said;
  said.push_back(format_count(calls()) + (calls() == 1 ? " operator" : " operators") + ", " +
                 format_count(lower_calls()) + " in lower precision.");
  if (const auto lower = lower_share()) {
    said.push_back(format(*lower, Unit::Fraction) +
                   " of the time in operators was in lower precision, " +
                   format(cast_share().value_or(0), Unit::Fraction) + " in autocast's casts.");
  } else if (on_accelerator) {
    said.push_back("No times: an accelerator works while the host goes on.");
  }
  const auto made = detail::count_and_bytes(casts().calls, casts().bytes, "cast");
  said.push_back("Autocast made " + made + ": " + format_count(casts_to_lower.calls) +
                 " to lower precision, " + format_count(casts_to_wider.calls) + " to wider, " +
                 format_count(casts_back.calls) + " in backward.");
  said.push_back("It used " + detail::count_and_bytes(cached_casts, cached_casts_bytes, "cast") +
                 " again, from its cache.");
  if (other_casts.calls > 0) {
    said.push_back("Others made " +
                   detail::count_and_bytes(other_casts.calls, other_casts.bytes, "cast") +
                   ": the program, or operators inside.");
  }
  return said;
}

inline std::string OpStatsReport::to_text(std::size_t shown) const {
  std::ostringstream out;
  for (const std::string& sentence : sentences()) out << sentence << '\n';
  if (rows.empty()) return out.str();
  std::vector<std::string> header{"operator", "dtype", "calls", "bytes"};
  if (!on_accelerator) header.emplace_back("time");
  Table table(header);
  for (std::size_t i = 0; i < rows.size() && i < shown; ++i) {
    const OpStatsRow& row = rows[i];
    std::vector<std::string> cells{row.op, detail::op_stats_dtype(row.dtype),
                                   format_count(row.calls), format_bytes(row.bytes)};
    if (!on_accelerator) cells.push_back(format_seconds(row.seconds));
    table.add_row(std::move(cells));
  }
  out << '\n' << table;
  if (rows.size() > shown) {
    out << "and " << rows.size() - shown << " more with fewer bytes\n";
  }
  return out.str();
}

inline Json OpStatsReport::to_json() const {
  const auto time = [&](double value) { return on_accelerator ? Json(nullptr) : Json(value); };
  const auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const auto casts_json = [&](const OpStatsCasts& casts) {
    return Json::object()
        .set("calls", casts.calls)
        .set("bytes", casts.bytes)
        .set("seconds", time(casts.seconds));
  };
  Json operators = Json::array();
  for (const OpStatsRow& row : rows) {
    operators.push_back(Json::object()
                            .set("operator", row.op)
                            .set("dtype", detail::op_stats_dtype(row.dtype))
                            .set("lower_precision", detail::is_lower_precision(row.dtype))
                            .set("calls", row.calls)
                            .set("bytes", row.bytes)
                            .set("seconds", time(row.seconds)));
  }
  return Json::object()
      .set("seconds", time(seconds))
      .set("lower_precision_share", optional(lower_share()))
      .set("cast_share", optional(cast_share()))
      .set("casts_to_lower", casts_json(casts_to_lower))
      .set("casts_to_wider", casts_json(casts_to_wider))
      .set("casts_back", casts_json(casts_back))
      .set("other_casts", casts_json(other_casts))
      .set("cached_casts",
           Json::object().set("uses", cached_casts).set("bytes", cached_casts_bytes))
      .set("operators", operators);
}

inline Section OpStatsReport::to_section() const {
  Section section;
  section.id = "op_stats";
  section.title = "Operators and casts";
  section.paragraphs = sentences();
  const std::string absent = on_accelerator ? "not known on an accelerator" : "nothing ran";
  const auto number = [&](const char* id, const char* label, Unit unit, int64_t value) {
    section.metrics.push_back({id, label, unit, static_cast<double>(value)});
  };
  section.metrics.push_back(
      {"lower_precision_share", "time in lower precision", Unit::Fraction, lower_share(), absent});
  section.metrics.push_back(
      {"cast_share", "time in autocast's casts", Unit::Fraction, cast_share(), absent});
  number("casts", "casts by autocast", Unit::Count, casts().calls);
  number("casts_bytes", "bytes of these casts", Unit::Bytes, casts().bytes);
  number("cached_casts", "cached casts used again", Unit::Count, cached_casts);
  number("cached_casts_bytes", "bytes not cast again", Unit::Bytes, cached_casts_bytes);
  number("other_casts", "other casts", Unit::Count, other_casts.calls);
  if (rows.empty()) return section;
  std::vector<DataTable::Column> columns{
      {"operator"}, {"dtype"}, {"calls", Unit::Count}, {"bytes", Unit::Bytes}};
  if (!on_accelerator) columns.push_back({"time", Unit::Seconds});
  DataTable table(std::move(columns));
  for (const OpStatsRow& row : rows) {
    std::vector<DataTable::Cell> cells{row.op, detail::op_stats_dtype(row.dtype),
                                       static_cast<double>(row.calls),
                                       static_cast<double>(row.bytes)};
    if (!on_accelerator) cells.emplace_back(row.seconds);
    table.add_row(std::move(cells));
  }
  section.table = std::move(table);
  return section;
}

}  // namespace v0
}  // namespace torchamp
