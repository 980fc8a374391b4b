// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/metric.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A table whose numbers are still numbers, so that JSON has them as such and people read them with
/// units. (`Table` has text alone, and is laid out for a terminal.)
///
///     torchamp::DataTable ops({{"operator"}, {"calls", torchamp::Unit::Count}});
///     ops.add_row({"aten::linear", 12.0});
class DataTable {
 public:
  struct Column {
    std::string label;
    Unit unit = Unit::Plain;  ///< of the numbers below it
  };

  /// Text, a number in the unit of its column, or nothing.
  class Cell {
   public:
    Cell() = default;
    Cell(double number) : value_(number) {}                // NOLINT(google-explicit-constructor)
    Cell(std::string text) : value_(std::move(text)) {}    // NOLINT(google-explicit-constructor)
    Cell(const char* text) : value_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
    /// The number, or a null pointer if there is none.
    const double* number() const { return std::get_if<double>(&value_); }
    /// The text, or a null pointer if there is none.
    const std::string* text() const { return std::get_if<std::string>(&value_); }

   private:
    std::variant<std::monostate, double, std::string> value_;
  };

  /// Throws: [E14] if there is no column.
  explicit DataTable(std::vector<Column> columns);

  /// Throws: [E14] if the row has not one cell a column; the table is as it was.
  void add_row(std::vector<Cell> cells);

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  /// A cell as people read it; "" where there is nothing.
  std::string text_at(std::size_t row, std::size_t column) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

inline DataTable::DataTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  if (columns_.empty()) {
    throw std::invalid_argument("[torchamp.E14] DataTable: no column; name at least one");
  }
}

inline void DataTable::add_row(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) {
    throw std::invalid_argument("[torchamp.E14] DataTable::add_row(): the row has " +
                                std::to_string(cells.size()) + " cells, the table " +
                                std::to_string(columns_.size()) +
                                " columns; give one cell a column, {} for an empty one");
  }
  rows_.push_back(std::move(cells));
}

inline std::string DataTable::text_at(std::size_t row, std::size_t column) const {
  const Cell& cell = rows_.at(row).at(column);
  if (const double* number = cell.number()) return format(*number, columns_[column].unit);
  return cell.text() != nullptr ? *cell.text() : "";
}

}  // namespace v0
}  // namespace torchamp
