// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart_words.h>
#include <torchamp/report/check_report.h>
#include <torchamp/report/report.h>
#include <torchamp/report/report_tables.h>
#include <torchamp/report/table.h>

#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Writes a report for a terminal: the sentences, the table, the ratios; then the sections, with
/// their charts in words, and the environment. Lines of sentences have at most 88 columns.
/// Throws: [E29] if `check_report` refuses the report; nothing is written.
void write_text(const Report& report, std::ostream& out);

namespace detail {

/// Blanks in the place of line breaks, tabs, escape sequences' beginnings and the like.
inline std::string without_control_characters(std::string text) {
  for (char& sign : text) {
    const auto byte = static_cast<unsigned char>(sign);
    if (byte < 0x20 || byte == 0x7F) sign = ' ';
  }
  return text;
}

}  // namespace detail

/// `text` with line breaks in place of the blanks before which a line would become too long, each
/// line after the first indented; ended by a line break. A word alone may be longer. Control
/// characters, which a terminal would obey, become blanks.
inline std::string wrap_text(const std::string& text, std::size_t width = 88,
                             std::size_t indent = 0) {
  std::string wrapped;
  std::size_t column = 0;
  std::istringstream words(detail::without_control_characters(text));
  for (std::string word; words >> word;) {
    const std::size_t length = detail::display_width(word);
    if (!wrapped.empty() && column + 1 + length > width) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!wrapped.empty()) {
      wrapped += ' ';
      ++column;
    }
    wrapped += word;
    column += length;
  }
  return wrapped + "\n";
}

namespace detail {

/// Labels come from anywhere; a table has one line a row.
inline Table text_table(TextRows rows) {
  for (auto& cells : rows) {
    for (std::string& cell : cells) cell = without_control_characters(std::move(cell));
  }
  Table table(std::move(rows.front()));
  for (std::size_t i = 1; i < rows.size(); ++i) table.add_row(std::move(rows[i]));
  return table;
}

/// A list under a heading; nothing if there are no sentences.
inline void write_list(const std::string& heading, const std::vector<std::string>& sentences,
                       std::ostream& out) {
  if (sentences.empty()) return;
  out << '\n' << heading << '\n';
  for (const std::string& sentence : sentences) out << wrap_text("- " + sentence, 88, 2);
}

inline void write_section_text(const Section& section, std::ostream& out) {
  out << '\n' << wrap_text(section.title);
  for (const std::string& paragraph : section.paragraphs) out << wrap_text(paragraph);
  if (!section.metrics.empty()) out << '\n' << text_table(text_rows(section.metrics));
  if (section.table) out << '\n' << text_table(text_rows(*section.table));
  for (const Chart& chart : section.charts) out << '\n' << wrap_text(describe(chart));
}

}  // namespace detail

inline void write_text(const Report& report, std::ostream& out) {
  check_report(report);
  out << wrap_text(report.title);
  if (!report.subtitle.empty()) out << wrap_text(report.subtitle);
  if (!report.verdict.empty()) out << '\n';
  for (const std::string& sentence : report.verdict) out << wrap_text(sentence);
  detail::write_list("Warnings", report.warnings, out);
  if (!report.variants.empty()) {
    out << '\n' << detail::text_table(detail::metric_rows(report));
  }
  if (!report.comparisons.empty()) {
    out << '\n' << detail::text_table(detail::comparison_rows(report));
  }
  detail::write_list("Why", report.reasons, out);
  detail::write_list("What to try", report.advice, out);
  for (const Section& section : report.sections) detail::write_section_text(section, out);
  if (report.environment.empty()) return;
  out << "\nEnvironment\n";
  for (const Fact& fact : report.environment) {
    out << wrap_text("- " + fact.label + ": " + fact.value, 88, 2);
  }
}

}  // namespace v0
}  // namespace torchamp
