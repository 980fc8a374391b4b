// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/report_html.h>

#include "report/charts.h"
#include "report/sample_report.h"
#include "support/comma_locale.h"
#include "support/doctest.h"
#include "support/golden.h"
#include "support/xml.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using torchamp::Report;

namespace {

std::string html_of(const Report& report) {
  std::ostringstream out;
  torchamp::write_html(report, out);
  return out.str();
}

/// The page without its first line, the document type.
Xml page_of(const Report& report) {
  const std::string html = html_of(report);
  REQUIRE(html.compare(0, 16, "<!DOCTYPE html>\n") == 0);
  return Xml(html.substr(16));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("The page looks as it did, in every locale") {
  check_golden("report.html", html_of(sample_report()));
  const CommaLocale commas;
  check_golden("report.html", html_of(sample_report()));
}

TEST_CASE("The page is well-formed, whatever is in it") {
  CHECK(page_of(sample_report()).error() == "");
  CHECK(page_of(hostile_report()).error() == "");
  CHECK(page_of(Report{}).error() == "");
}

TEST_CASE("The page needs no script and nothing from elsewhere") {
  for (const Report& report : {sample_report(), hostile_report()}) {
    std::string html = html_of(report);
    const std::string name_space = "xmlns=\"http://www.w3.org/2000/svg\"";
    CHECK(count(html, "http") == count(html, name_space));
    for (const char* part : {"<script", "@import", "<link", "<img", "<iframe", "src=", "href=",
                             "javascript:", " onload", " onclick", "<foreignObject"}) {
      CAPTURE(part);
      CHECK(count(html, part) == 0);
    }
  }
}

TEST_CASE("Names and sentences are text, never markup") {
  const std::string html = html_of(hostile_report());
  const std::string escaped = "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;";

  CHECK(html.find(hostile) == std::string::npos);
  CHECK(html.find("alert(1)</script>") == std::string::npos);
  CHECK(count(html, escaped) > 50);
}

TEST_CASE("The page says its language, fits phones, and has a title") {
  const Xml page = page_of(sample_report());

  CHECK(page.elements().at(0).attribute("lang") == "en");
  CHECK(page.with_tag("title").at(0).text == "FP32 against AMP");
  bool viewport = false;
  for (const XmlElement& meta : page.with_tag("meta")) {
    viewport = viewport || meta.attribute("content") == "width=device-width, initial-scale=1";
  }
  CHECK(viewport);
  CHECK(page.with_tag("h1").size() == 1);
  CHECK(page.with_tag("main").size() == 1);
}

TEST_CASE("The verdict comes first, then warnings, reasons, advice and numbers") {
  const std::string html = html_of(sample_report());

  const std::vector<std::size_t> places{html.find("AMP fp16 was faster here"),
                                        html.find("TF32 was measured in 3 rounds only"),
                                        html.find("The device multiplies"),
                                        html.find("Try larger batches"),
                                        html.find("<table"),
                                        html.find("<svg"),
                                        html.find("Gradients that underflow"),
                                        html.find("Where this was measured")};

  CHECK(std::is_sorted(places.begin(), places.end()));
  CHECK(places.back() != std::string::npos);
}

TEST_CASE("Each header of a table says what it is the header of") {
  const Xml page = page_of(sample_report());

  CHECK(page.with_tag("table").size() ==
        10);  // four, two of them of the section's, and five charts
  CHECK(page.with_tag("caption").size() == page.with_tag("table").size());
  std::size_t columns = 0;
  for (const XmlElement& header : page.with_tag("th")) {
    const std::string scope = header.attribute("scope");
    CHECK((scope == "col" || scope == "row"));
    columns += scope == "col" ? 1u : 0u;
  }
  CHECK(columns > 0);
}

TEST_CASE("No line break comes between a number and its unit") {
  const std::string html = html_of(sample_report());

  CHECK(html.find("<td>8.00\xC2\xA0"
                  "ms</td>") != std::string::npos);
  CHECK(html.find("<td>0.48x to 0.53x (95\xC2\xA0%)</td>") != std::string::npos);
  CHECK(html.find("<td>no scaling</td>") != std::string::npos);
}

TEST_CASE("Each chart is in the page, with words, and with its numbers behind it") {
  const Xml page = page_of(sample_report());

  const auto charts = page.with_tag("svg");
  REQUIRE(charts.size() == 5);
  for (const XmlElement& chart : charts) CHECK(chart.attribute("role") == "img");
  CHECK(page.with_tag("desc").size() == 5);
  CHECK(page.with_tag("details").size() == 5);
  CHECK(page.with_tag("figure").size() == 5);
  CHECK(page.with_tag("style").size() == 1);
}

TEST_CASE("No two tables, and no two lists of numbers, have the same name") {
  const Xml page = page_of(sample_report());

  std::vector<std::string> names;
  for (const XmlElement& element : page.elements()) {
    if (!element.attribute("aria-label").empty()) names.push_back(element.attribute("aria-label"));
    if (element.tag == "summary") names.push_back(element.text);
  }

  CHECK(names.size() == page.with_tag("table").size() + page.with_tag("details").size());
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("Each series has its points in the page") {
  const Xml page = page_of(sample_report());

  CHECK(points_of(page.with_class("ta-line0").at(0)) == 4);  // the loss of FP32
  CHECK(points_of(page.with_class("ta-line1").at(0)) == 4);  // of TF32
  const auto amp = page.with_class("ta-line2");
  REQUIRE(amp.size() == 2);
  CHECK(points_of(amp[0]) == 3);  // the loss, one of four NaN
  CHECK(pieces_of(amp[0]) == 2);
  CHECK(points_of(amp[1]) == 4);                          // the scale
  CHECK(page.with_class("ta-bar").size() == 10 + 3 + 3);  // time, memory, histogram
}

TEST_CASE("Two charts with one id, in one section or two, are told apart") {
  Report report = sample_report();
  report.sections.push_back(report.sections[0]);
  report.sections[1].id = "other";
  report.sections[1].charts.push_back(report.sections[1].charts[0]);

  CHECK(page_of(report).error() == "");
}

TEST_CASE("A chart of many points has a short table that says so") {
  Report report = sample_report();
  torchamp::Series& loss = report.variants[0].series[0];
  while (loss.size() < 100000) loss.push_back(static_cast<double>(loss.size()), 1);

  const std::string html = html_of(report);

  CHECK(html.find(" of 100,000, the ends, marked points, and some between") != std::string::npos);
  CHECK(html.size() < 250000);
}

TEST_CASE("An unstable ratio is explained, a stable one needs no words") {
  Report report = sample_report();
  const std::string words = "A ratio that is not stable should not be relied on";
  CHECK(count(html_of(report), words) == 1);

  report.comparisons[1].stable = true;
  CHECK(count(html_of(report), words) == 0);
}

TEST_CASE("An empty report is a page with a title alone") {
  const Xml page = page_of(Report{});

  CHECK(page.with_tag("h1").size() == 1);
  CHECK(page.with_tag("table").empty());
  CHECK(page.with_tag("section").empty());
}

TEST_CASE("A report that makes no sense is not written as a page") {
  Report report = sample_report();
  report.comparisons[0].variant = "none";
  std::ostringstream out;

  CHECK_THROWS_WITH_AS(torchamp::write_html(report, out), doctest::Contains("[torchamp.E29]"),
                       std::invalid_argument);

  CHECK(out.str() == "");
}
