// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/op_stats_report.h>
#include <torchamp/report/report_html.h>
#include <torchamp/report/report_json.h>
#include <torchamp/report/report_text.h>

#include "support/comma_locale.h"
#include "support/doctest.h"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>

using torchamp::OpStatsReport;

namespace {

/// 10 s: 4 s in lower precision, 3 s in casts, the rest in float32.
OpStatsReport sample() {
  OpStatsReport report;
  report.rows = {{"aten::linear", at::kBFloat16, 1200, 5000, 4},
                 {"aten::mse_loss", at::kFloat, 2, 8, 3}};
  report.casts_to_lower = {3, 300, 1};
  report.casts_to_wider = {2, 200, 0.5};
  report.casts_back = {1, 100, 1.5};
  report.other_casts = {1, 8, 0.25};
  report.cached_casts = 1;
  report.cached_casts_bytes = 1500;
  report.seconds = 10;
  report.lower_seconds = 4;
  return report;
}

OpStatsReport on_accelerator() {
  OpStatsReport report = sample();
  report.on_accelerator = true;
  return report;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

nlohmann::json read_back(const OpStatsReport& report) {
  return nlohmann::json::parse(report.to_json().str());
}

}  // namespace

TEST_CASE("Calls, casts and shares are sums of what was counted") {
  const auto report = sample();

  CHECK(report.calls() == 1202);
  CHECK(report.lower_calls() == 1200);
  CHECK(report.casts().calls == 6);
  CHECK(report.casts().bytes == 600);
  CHECK(report.casts().seconds == 3);
  CHECK(report.lower_share() == 0.4);
  CHECK(report.cast_share() == 0.3);
}

TEST_CASE("Lower precision is float16, bfloat16 and float8") {
  using torchamp::detail::is_lower_precision;
  CHECK(is_lower_precision(at::kHalf));
  CHECK(is_lower_precision(at::kBFloat16));
  CHECK(is_lower_precision(at::kFloat8_e4m3fn));
  CHECK_FALSE(is_lower_precision(at::kFloat));
  CHECK_FALSE(is_lower_precision(at::kDouble));
  CHECK_FALSE(is_lower_precision(at::kShort));
  CHECK_FALSE(is_lower_precision(at::kBool));
  CHECK_FALSE(is_lower_precision(c10::ScalarType::Undefined));
}

TEST_CASE("The text says it in sentences and in a table") {
  CHECK(sample().to_text() ==
        "1,202 operators, 1,200 in lower precision.\n"
        "40.0 % of the time in operators was in lower precision, 30.0 % in autocast's casts.\n"
        "Autocast made 6 casts (600 B): 3 to lower precision, 2 to wider, 1 in backward.\n"
        "It used 1 cast (1.50 kB) again, from its cache.\n"
        "Others made 1 cast (8 B): the program, or operators inside.\n"
        "\n"
        "operator           dtype  calls    bytes    time\n"
        "--------------  --------  -----  -------  ------\n"
        "aten::linear    BFloat16  1,200  5.00 kB  4.00 s\n"
        "aten::mse_loss     Float      2      8 B  3.00 s\n");
}

TEST_CASE("The text has as many rows as asked for, and says how many there are more") {
  const std::string text = sample().to_text(1);

  CHECK(has(text, "aten::linear"));
  CHECK_FALSE(has(text, "aten::mse_loss"));
  CHECK(has(text, "\nand 1 more with fewer bytes\n"));
}

TEST_CASE("The text of nothing is short, and the same in every locale") {
  CHECK(OpStatsReport().to_text() ==
        "0 operators, 0 in lower precision.\n"
        "Autocast made 0 casts (0 B): 0 to lower precision, 0 to wider, 0 in backward.\n"
        "It used 0 casts (0 B) again, from its cache.\n");
  const std::string text = sample().to_text();
  const CommaLocale commas;
  CHECK(sample().to_text() == text);
}

TEST_CASE("JSON has every number, in seconds and bytes") {
  const auto json = read_back(sample());

  CHECK(json["seconds"] == 10);
  CHECK(json["lower_precision_share"] == 0.4);
  CHECK(json["cast_share"] == 0.3);
  CHECK(json["casts_to_lower"] == nlohmann::json{{"calls", 3}, {"bytes", 300}, {"seconds", 1}});
  CHECK(json["casts_to_wider"]["bytes"] == 200);
  CHECK(json["casts_back"]["seconds"] == 1.5);
  CHECK(json["other_casts"]["calls"] == 1);
  CHECK(json["cached_casts"] == nlohmann::json{{"uses", 1}, {"bytes", 1500}});
  REQUIRE(json["operators"].size() == 2);
  CHECK(json["operators"][0] == nlohmann::json{{"operator", "aten::linear"},
                                               {"dtype", "BFloat16"},
                                               {"lower_precision", true},
                                               {"calls", 1200},
                                               {"bytes", 5000},
                                               {"seconds", 4}});
  CHECK(json["operators"][1]["lower_precision"] == false);
}

TEST_CASE("A call without a tensor has the dtype none") {
  OpStatsReport report;
  report.rows = {{"aten::manual_seed", c10::ScalarType::Undefined, 1, 0, 0}};

  CHECK(has(report.to_text(), "none"));
  CHECK(read_back(report)["operators"][0]["dtype"] == "none");
}

TEST_CASE("On an accelerator there is no time, neither in numbers nor in text, JSON and section") {
  const auto report = on_accelerator();
  CHECK_FALSE(report.lower_share());
  CHECK_FALSE(report.cast_share());

  CHECK(has(report.to_text(), "No times: an accelerator works while the host goes on.\n"));
  CHECK_FALSE(has(report.to_text(), " s\n"));

  const auto json = read_back(report);
  CHECK(json["seconds"].is_null());
  CHECK(json["lower_precision_share"].is_null());
  CHECK(json["operators"][0]["seconds"].is_null());
  CHECK(json["operators"][0]["calls"] == 1200);
  CHECK(json["casts_back"]["seconds"].is_null());

  const auto section = report.to_section();
  CHECK(section.table->columns().size() == 4);
  CHECK(section.metrics[0].text() == "not known on an accelerator");
}

TEST_CASE("Without any time there is no share") {
  CHECK_FALSE(OpStatsReport().lower_share());
  CHECK(read_back(OpStatsReport())["cast_share"].is_null());
  CHECK(OpStatsReport().to_section().metrics[0].text() == "nothing ran");
}

TEST_CASE("The section has the shares and counts, and a table of all operators") {
  const auto section = sample().to_section();

  CHECK(section.id == "op_stats");
  CHECK(torchamp::find_metric(section.metrics, "lower_precision_share")->text() == "40.0 %");
  CHECK(torchamp::find_metric(section.metrics, "casts")->text() == "6");
  CHECK(torchamp::find_metric(section.metrics, "casts_bytes")->text() == "600 B");
  CHECK(torchamp::find_metric(section.metrics, "cached_casts")->text() == "1");
  CHECK(torchamp::find_metric(section.metrics, "cached_casts_bytes")->text() == "1.50 kB");
  REQUIRE(section.table);
  REQUIRE(section.table->rows().size() == 2);
  CHECK(section.table->text_at(0, 0) == "aten::linear");
  CHECK(section.table->text_at(0, 1) == "BFloat16");
  CHECK(section.table->text_at(0, 3) == "5.00 kB");
  CHECK(section.table->text_at(0, 4) == "4.00 s");
}

TEST_CASE("A report shows the section as a page, as text and as JSON, and one of nothing too") {
  for (const auto& counted : {sample(), on_accelerator(), OpStatsReport()}) {
    torchamp::Report report;
    report.sections.push_back(counted.to_section());
    std::ostringstream page;
    std::ostringstream text;
    std::ostringstream json;
    torchamp::write_html(report, page);
    torchamp::write_text(report, text);
    torchamp::write_json(report, json);

    CHECK(has(page.str(), "Operators and casts"));
    CHECK(has(text.str(), "Operators and casts"));
    CHECK(nlohmann::json::parse(json.str())["sections"][0]["id"] == "op_stats");
    CHECK(has(page.str(), "aten::linear") == !counted.rows.empty());
  }
}
