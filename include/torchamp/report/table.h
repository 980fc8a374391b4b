// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <locale>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A table of text for a terminal: the first column to the left, the others, numbers, to the right.
///
///     torchamp::Table table({"", "FP32", "AMP"});
///     table.add_row({"step, median", torchamp::format_seconds(0.0871), "12.3 ms"});
///     std::cout << table;
///
/// Cells are UTF-8. Every code point counts as one column wide: right for Latin, Greek, Cyrillic
/// and signs such as µ, too narrow for Chinese, Japanese, Korean and emoji.
class Table {
 public:
  /// Throws: [E14] if there is no column, or a cell has a line break.
  explicit Table(std::vector<std::string> header);

  /// Throws: [E14] if the row has not one cell a column, or a cell has a line break; the table is
  /// as it was.
  void add_row(std::vector<std::string> cells);

  std::size_t columns() const { return lines_.front().size(); }
  /// The rows below the header.
  std::size_t rows() const { return lines_.size() - 1; }

  /// Writes header, rule and rows, each line ended by a line break and without blanks before it.
  friend std::ostream& operator<<(std::ostream& out, const Table& table) {
    return out << table.text();
  }

 private:
  static void check_cells(const std::vector<std::string>& cells);
  std::string text() const;
  std::string line(const std::vector<std::string>& cells,
                   const std::vector<std::size_t>& widths) const;

  std::vector<std::vector<std::string>> lines_;  // the header first
};

/// A time with three digits and the unit that fits: "1.25 s", "12.3 ms", "870 µs", "15.0 ns".
std::string format_seconds(double seconds);

/// A size in decimal units, as disk and memory makers count: "27.3 MB" is 27,300,000 bytes.
std::string format_bytes(std::int64_t bytes);

/// A count with a comma every three digits: "60,000".
std::string format_count(std::int64_t count);

/// How many times as much: "5.32x".
std::string format_ratio(double ratio);

/// A number with so many digits after the point, whatever the locale: "0.4213".
std::string format_fixed(double value, int decimals);

namespace detail {

inline std::size_t display_width(const std::string& text) {
  // A UTF-8 code point has one byte that is not of the form 10xxxxxx.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
  }));
}

inline std::string format_three_digits(double value) {
  const double size = std::fabs(value);
  return format_fixed(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

struct SizedUnit {
  double size;
  const char* name;
};

/// Takes the first unit that leaves a number of at least 1 after rounding; else the last.
inline std::string format_with_unit(double value, std::initializer_list<SizedUnit> largest_first) {
  SizedUnit chosen{1, ""};
  for (const SizedUnit& unit : largest_first) {
    chosen = unit;
    if (std::fabs(value) >= 0.9995 * unit.size) break;
  }
  return format_three_digits(value / chosen.size) + " " + chosen.name;
}

}  // namespace detail

inline Table::Table(std::vector<std::string> header) {
  if (header.empty()) {
    throw std::invalid_argument("[torchamp.E14] Table: no column; name at least one");
  }
  check_cells(header);
  lines_.push_back(std::move(header));
}

inline void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns()) {
    throw std::invalid_argument("[torchamp.E14] Table::add_row(): the row has " +
                                std::to_string(cells.size()) + " cells, the table " +
                                std::to_string(columns()) +
                                " columns; give one cell a column, \"\" for an empty one");
  }
  check_cells(cells);
  lines_.push_back(std::move(cells));
}

inline void Table::check_cells(const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    if (cell.find_first_of("\n\r") != std::string::npos) {
      throw std::invalid_argument("[torchamp.E14] Table: the cell \"" + cell +
                                  "\" has a line break; make it two rows");
    }
  }
}

inline std::string Table::text() const {
  std::vector<std::size_t> widths(columns(), 0);
  for (const auto& cells : lines_) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = (std::max)(widths[i], detail::display_width(cells[i]));
    }
  }

  std::vector<std::string> rule;
  for (const std::size_t width : widths) rule.push_back(std::string(width, '-'));

  std::string text = line(lines_.front(), widths) + line(rule, widths);
  for (std::size_t i = 1; i < lines_.size(); ++i) text += line(lines_[i], widths);
  return text;
}

inline std::string Table::line(const std::vector<std::string>& cells,
                               const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - detail::display_width(cells[i]), ' ');
    text += i == 0 ? cells[i] + padding : "  " + padding + cells[i];
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

inline std::string format_fixed(double value, int decimals) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.setf(std::ios::fixed, std::ios::floatfield);
  out.precision(decimals);
  out << value;
  return out.str();
}

inline std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  return detail::format_with_unit(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}});
}

inline std::string format_bytes(std::int64_t bytes) {
  if (std::int64_t{-1000} < bytes && bytes < 1000) return std::to_string(bytes) + " B";
  return detail::format_with_unit(static_cast<double>(bytes),
                                  {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}});
}

inline std::string format_count(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::size_t first_digit = count < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first_digit + 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

inline std::string format_ratio(double ratio) { return detail::format_three_digits(ratio) + "x"; }

}  // namespace v0
}  // namespace torchamp
