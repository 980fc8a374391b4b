// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/underflow_report.h>
#include <torchamp/report/report_html.h>
#include <torchamp/report/report_json.h>

#include "support/comma_locale.h"
#include "support/doctest.h"

#include <cmath>
#include <sstream>
#include <string>

using torchamp::UnderflowReport;

namespace {

/// Four numbers at scale 8: 0, 2^-30 (0 in float16), 2^-20 (subnormal) and `largest`, a power of 2.
UnderflowReport four_numbers(int largest = 0) {
  UnderflowReport report;
  report.scale = 8;
  auto& range = report.gradients;
  range.count = 4;
  range.zeros = 1;
  range.below_normal = 2;
  for (const int exponent : {-30, -20, largest}) {
    range.by_exponent[static_cast<std::size_t>(exponent - range.lowest_exponent)] = 1;
  }
  range.largest = std::ldexp(1.0, largest);
  range.smallest = std::ldexp(1.0, -30);
  report.tensors.push_back({"fc.weight", at::kFloat, range});
  return report;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("The text has the counts, the gradients that lose, the exponents, and the best scale") {
  const std::string text = four_numbers().to_text();

  const std::string begin =
      "1 gradient, 4 numbers, at a scale of 8\n"
      "  are 0: 1 of 4 (25 %)\n"
      "  become 0 in float16: 1 of 4 (25 %)\n"
      "  are subnormal in float16: 1 of 4 (25 %)\n"
      "  become inf in float16: none\n"
      "  of fc.weight, 1 of 4 (25 %) become 0\n"
      "\n"
      "magnitudes at the scale, by powers of two\n";
  CHECK(text.substr(0, begin.size()) == begin);
  CHECK(has(text, "\n2^0          1  ########################################\n"));
  CHECK(has(text, "\n2^-1         0\n"));
  CHECK(has(text, "\n2^-20        1  ########################################   subnormal\n"));
  CHECK(has(text, "\n2^-30        1  ########################################   becomes 0\n"));
  CHECK(has(text,
            "\n\nBest scale: 65536. With it no number becomes 0, and gradients may grow to 2 times"
            " the largest, 0.125 without a scale, before one overflows.\n"));
  CHECK(text.back() == '\n');
}

TEST_CASE("The text says if the best scale is the present one, and if no scale saves all") {
  auto report = four_numbers(10);
  report.scale = 32768;
  CHECK(report.best_scale() ==
        65536);  // 2^-30 would need 2^6 times as much, 2^10 has no room for it
  CHECK(has(report.to_text(), "\nBest scale: 65536. With it 1 of 4 (25 %) numbers become 0,"));
  CHECK(has(report.to_text(), " No scale saves more; bfloat16 would, and needs none.\n"));

  report.scale = 65536;
  CHECK(has(report.to_text(), "\nBest scale: 65536, the present one. With it"));
}

TEST_CASE("The text says that all is 0, and that no scale is low enough") {
  auto report = four_numbers();
  report.gradients = {};
  report.gradients.count = report.gradients.zeros = 1;
  CHECK(has(report.to_text(), "\nNo number is finite and not 0, so no scale"));
  CHECK_FALSE(has(report.to_text(), "powers of two"));

  report = four_numbers();
  report.gradients.largest = 1e20;
  CHECK(
      has(report.to_text(), "The largest magnitude, 1.25e19 without the scale, is too large for"));
}

TEST_CASE("The text has inf and NaN only where there are some") {
  auto report = four_numbers();
  CHECK_FALSE(has(report.to_text(), "are inf"));
  CHECK_FALSE(has(report.to_text(), "are NaN"));
  CHECK_FALSE(has(report.to_text(), "left out of this"));

  report.gradients.count = 6;
  report.gradients.infs = report.gradients.nans = 1;
  CHECK(has(report.to_text(), "  are inf: 1 of 6 (17 %)\n  are NaN: 1 of 6 (17 %)\n"));
  CHECK(has(report.to_text(),
            " 2 numbers are inf or NaN already and left out of this: if that is the scale's doing,"
            " it has to be lower.\n"));

  report.gradients.count = 5;
  report.gradients.nans = 0;
  CHECK(has(report.to_text(), " 1 number is inf or NaN already and left out of this"));
}

TEST_CASE("Scales in the text can be copied into a program") {
  auto report = four_numbers();
  report.scale = 4194304;
  CHECK(has(report.to_text(), "4 numbers, at a scale of 4194304\n"));
}

TEST_CASE("The text of no gradients is one line") {
  UnderflowReport report;
  CHECK(report.to_text() == "no gradient to look at\n");

  report.without_gradient = 2;
  CHECK(report.to_text() == "no gradient to look at (2 parameters have none)\n");
}

TEST_CASE("Of the gradients that lose, the ten that lose most are named, worst first") {
  auto report = four_numbers();
  report.tensors[0].range.count = 100;
  for (int i = 1; i <= 11; ++i) {
    auto range = report.tensors[0].range;
    range.count = 50 + i;
    report.tensors.push_back({"p" + std::to_string(i), at::kFloat, range});
  }
  const std::string text = report.to_text();

  CHECK(text.find("of p1, 1 of 51") < text.find("of p2, 1 of 52"));
  CHECK(has(text, "of p10, "));
  CHECK_FALSE(has(text, "of p11, "));
  CHECK_FALSE(has(text, "of fc.weight, "));
}

TEST_CASE("Of many exponents the text shows the highest, and how many are below") {
  auto report = four_numbers();
  report.gradients.by_exponent[0] = 3;
  report.gradients.count += 3;
  const std::string text = report.to_text();

  CHECK_FALSE(has(text, "2^-126"));
  CHECK(has(text, "\nbelow        3                                             becomes 0\n"));
}

TEST_CASE("The text is the same in every locale") {
  const std::string text = four_numbers().to_text();
  const CommaLocale locale;
  CHECK(four_numbers().to_text() == text);
}

TEST_CASE("The section has a table by parameter and a histogram with float16's limits") {
  const auto section = four_numbers().to_section();

  CHECK(section.id == "underflow");
  CHECK(has(section.paragraphs.at(0), "Best scale"));
  REQUIRE(section.table);
  REQUIRE(section.table->rows().size() == 1);
  CHECK(section.table->text_at(0, 0) == "fc.weight");
  CHECK(section.table->text_at(0, 4) == "25.0 %");
  REQUIRE(section.charts.size() == 1);
  const auto& chart = std::get<torchamp::Histogram>(section.charts[0]);
  CHECK(chart.first_bin == -30);
  REQUIRE(chart.counts.size() == 31);
  CHECK(chart.counts[0] == 1);
  CHECK(chart.counts[10] == 1);
  CHECK(chart.counts[30] == 1);
  REQUIRE(chart.limits.size() == 3);
  CHECK(chart.limits[0].at == -24.5);  // 2^-25 and less becomes 0
  CHECK(chart.limits[1].at == -13.5);
  CHECK(chart.limits[2].at == 16.5);
}

TEST_CASE("A report takes the section, with gradients and without") {
  torchamp::Report report;
  report.sections.push_back(four_numbers().to_section());
  std::ostringstream page;
  torchamp::write_html(report, page);
  CHECK(has(page.str(), "<svg"));
  CHECK(has(page.str(), "fc.weight"));

  report.sections = {UnderflowReport{}.to_section()};
  std::ostringstream json;
  torchamp::write_json(report, json);
  CHECK(has(json.str(), "underflow"));
}

TEST_CASE("A count that is not 0 has a bar, however small it is") {
  auto report = four_numbers();
  report.gradients
      .by_exponent[static_cast<std::size_t>(0 - torchamp::ValueRange::lowest_exponent)] = 1000;
  report.gradients.count += 999;

  CHECK(has(report.to_text(), "\n2^-30        1  #  "));
}
