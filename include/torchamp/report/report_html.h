// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/chart.h>
#include <torchamp/report/chart_table.h>
#include <torchamp/report/check_report.h>
#include <torchamp/report/markup.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/page_style.h>
#include <torchamp/report/report.h>
#include <torchamp/report/report_charts.h>
#include <torchamp/report/report_tables.h>
#include <torchamp/report/svg.h>
#include <torchamp/version.h>

#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Writes a report as one HTML page: the sentences first, then tables and charts, each chart with
/// its numbers behind it. The page is a file of its own: no script, nothing from elsewhere. It is
/// well-formed XML as well, after its first line.
/// Throws: [E29] if `check_report` refuses the report; nothing is written.
void write_html(const Report& report, std::ostream& out);

namespace detail {

/// Keeps a number and its unit on one line: "12.3 ms", "(95 %)".
inline std::string with_units_kept(const std::string& text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool after_digit = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    kept += text[i] == ' ' && after_digit ? "\xC2\xA0" : std::string(1, text[i]);
  }
  return kept;
}

/// Puts a page together, part by part.
class Page {
 public:
  explicit Page(const Report& report) : report_(report) {}

  std::string make();

 private:
  void element(const std::string& tag, const std::string& text, const std::string& style = "") {
    html_ += "<" + tag + (style.empty() ? "" : " class=\"" + style + "\"") + ">" +
             escape_markup(text) + "</" + tag + ">\n";
  }
  void begin_part(const std::string& id, const std::string& heading) {
    html_ += "<section id=\"" + id + "\" aria-labelledby=\"" + id + "-heading\">\n<h2 id=\"" + id +
             "-heading\">" + escape_markup(heading) + "</h2>\n";
  }
  void end_part() { html_ += "</section>\n"; }

  void add_head();
  void add_header();
  void add_list(const std::string& heading, const std::vector<std::string>& sentences);
  void add_answers();
  void add_numbers();
  /// The first cell of each row is its header; `style` "texts" if the others are no numbers.
  void add_table(const std::string& caption, const TextRows& rows, const std::string& style = "");
  void add_charts(const std::vector<Chart>& charts, const std::string& id_prefix);
  void add_figure(const Chart& chart, const std::string& id_prefix);
  void add_section(const Section& section);

  const Report& report_;
  std::string html_;
};

inline std::string Page::make() {
  add_head();
  html_ += "<body>\n<main>\n";
  add_header();
  add_answers();
  add_numbers();
  const std::vector<Chart> charts = charts_of(report_);
  if (!charts.empty()) {
    begin_part("charts", "Charts");
    add_charts(charts, "chart-");
    end_part();
  }
  for (const Section& section : report_.sections) add_section(section);
  if (!report_.environment.empty()) {
    begin_part("environment", "Environment");
    add_table("Where this was measured", text_rows(report_.environment), "texts");
    end_part();
  }
  element("footer", std::string("Written by torchamp ") + version + ".");
  return html_ + "</main>\n</body>\n</html>\n";
}

inline void Page::add_head() {
  html_ +=
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n";
  element("title", report_.title);
  html_ += "<style>\n" + page_style() + chart_style() + "</style>\n</head>\n";
}

inline void Page::add_header() {
  html_ += "<header>\n";
  element("h1", report_.title);
  if (!report_.subtitle.empty()) element("p", report_.subtitle, "subtitle");
  if (!report_.verdict.empty()) {
    html_ += "<div class=\"verdict\">\n";
    for (const std::string& sentence : report_.verdict) element("p", sentence);
    html_ += "</div>\n";
  }
  if (!report_.warnings.empty()) {
    html_ += "<div class=\"warnings\" role=\"note\">\n";
    add_list(report_.warnings.size() == 1 ? "Warning" : "Warnings", report_.warnings);
    html_ += "</div>\n";
  }
  html_ += "</header>\n";
}

inline void Page::add_list(const std::string& heading, const std::vector<std::string>& sentences) {
  element("h2", heading);
  html_ += "<ul>\n";
  for (const std::string& sentence : sentences) element("li", sentence);
  html_ += "</ul>\n";
}

inline void Page::add_answers() {
  if (report_.reasons.empty() && report_.advice.empty()) return;
  html_ += "<div class=\"answers\">\n";
  for (const bool why : {true, false}) {
    const std::vector<std::string>& sentences = why ? report_.reasons : report_.advice;
    if (sentences.empty()) continue;
    html_ += "<div>\n";
    add_list(why ? "Why" : "What to try", sentences);
    html_ += "</div>\n";
  }
  html_ += "</div>\n";
}

inline void Page::add_numbers() {
  const TextRows metrics = metric_rows(report_);
  const bool any = metrics.size() > 1;
  if (!any && report_.comparisons.empty()) return;
  begin_part("numbers", "Numbers");
  if (any) add_table("What was measured", metrics);
  if (!report_.comparisons.empty()) {
    add_table("Ratios of rounds that ran one after the other, and the interval in which each lies",
              comparison_rows(report_));
    for (const Comparison& comparison : report_.comparisons) {
      if (comparison.stable) continue;
      element("p",
              "A ratio that is not stable should not be relied on: measure again, longer, or on a "
              "quieter machine.",
              "note");
      break;
    }
  }
  end_part();
}

inline void Page::add_table(const std::string& caption, const TextRows& rows,
                            const std::string& style) {
  // A table too wide for the screen is scrolled, which must work with the keyboard too.
  html_ += "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" +
           escape_markup(caption) + "\">\n<table" +
           (style.empty() ? "" : " class=\"" + style + "\"") + ">\n";
  element("caption", caption);
  html_ += "<thead>\n<tr>";
  for (const std::string& cell : rows.front()) {
    html_ += cell.empty() ? "<td></td>" : "<th scope=\"col\">" + escape_markup(cell) + "</th>";
  }
  html_ += "</tr>\n</thead>\n<tbody>\n";
  for (std::size_t i = 1; i < rows.size(); ++i) {
    html_ += "<tr><th scope=\"row\">" + escape_markup(rows[i].front()) + "</th>";
    for (std::size_t k = 1; k < rows[i].size(); ++k) {
      html_ += "<td>" + escape_markup(with_units_kept(rows[i][k])) + "</td>";
    }
    html_ += "</tr>\n";
  }
  html_ += "</tbody>\n</table>\n</div>\n";
}

inline void Page::add_charts(const std::vector<Chart>& charts, const std::string& id_prefix) {
  html_ += "<div class=\"charts\">\n";
  for (const Chart& chart : charts) add_figure(chart, id_prefix);
  html_ += "</div>\n";
}

inline void Page::add_figure(const Chart& chart, const std::string& id_prefix) {
  const std::string title = std::visit([](const auto& kind) { return kind.title; }, chart);
  html_ += "<figure>\n";
  element("h3", title);
  SvgOptions options;
  options.alone = false;
  options.id_prefix = id_prefix;
  std::ostringstream svg;
  write_svg(chart, svg, options);
  html_ += svg.str();

  const TextRows rows = text_rows(chart_table(chart));
  const std::size_t points = chart_table_points(chart);
  // With the title, so that one who hears a list of them knows which is which.
  std::string caption = title + ": the numbers";
  if (rows.size() - 1 < points) {
    caption = title + ": " + counted(rows.size() - 1, "row") + " of " +
              format_count(static_cast<std::int64_t>(points)) +
              ", the ends, marked points, and some between";
  }
  html_ += "<details>\n";
  element("summary", "Numbers: " + title);
  add_table(caption, rows);
  html_ += "</details>\n</figure>\n";
}

inline void Page::add_section(const Section& section) {
  const std::string id = "section-" + section.id;
  begin_part(id, section.title);
  for (const std::string& paragraph : section.paragraphs) element("p", paragraph);
  if (!section.metrics.empty()) add_table(section.title + ": in short", text_rows(section.metrics));
  if (section.table) add_table(section.title, text_rows(*section.table));
  // A number as well, since two charts of a section may have one id.
  std::size_t n = 0;
  if (!section.charts.empty()) {
    html_ += "<div class=\"charts\">\n";
    for (const Chart& chart : section.charts) {
      add_figure(chart, id + "-" + std::to_string(n++) + "-");
    }
    html_ += "</div>\n";
  }
  end_part();
}

}  // namespace detail

inline void write_html(const Report& report, std::ostream& out) {
  check_report(report);
  out << detail::Page(report).make();
}

}  // namespace v0
}  // namespace torchamp
