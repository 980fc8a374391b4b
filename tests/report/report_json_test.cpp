// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/report_json.h>

#include "report/sample_report.h"
#include "support/comma_locale.h"
#include "support/doctest.h"
#include "support/golden.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

using torchamp::Report;

namespace {

std::string json_of(const Report& report) {
  std::ostringstream out;
  torchamp::write_json(report, out);
  return out.str();
}

/// What another library reads from it.
nlohmann::json read_back(const Report& report) { return nlohmann::json::parse(json_of(report)); }

const double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("A report as JSON looks as it did, in every locale") {
  check_golden("report.json", json_of(sample_report()));
  const CommaLocale commas;
  check_golden("report.json", json_of(sample_report()));
}

TEST_CASE("A report as JSON says which layout it has and who wrote it") {
  const auto json = read_back(sample_report());

  CHECK(json["schema"]["name"] == "torchamp.report");
  CHECK(json["schema"]["version"] == "1.0.0");
  CHECK(json["torchamp"] == torchamp::version);
}

TEST_CASE("Metrics are numbers in their units, found by their ids") {
  const auto json = read_back(sample_report());
  const auto& amp = json["variants"][2];

  CHECK(amp["id"] == "amp_fp16");
  CHECK(amp["metrics"]["peak_bytes"]["value"] == 2e6);
  CHECK(amp["metrics"]["peak_bytes"]["unit"] == "bytes");
  CHECK(amp["phases"][1]["id"] == "backward");
  CHECK(amp["phases"][1]["value"] == 0.0025);
  CHECK(json["comparisons"][1]["variant"] == "tf32");
  CHECK(json["comparisons"][1]["stable"] == false);
  CHECK(json["environment"]["device"]["value"] == "cpu, 2 threads");
  CHECK(json["sections"][0]["table"]["rows"].dump() == R"([["fc.weight",12],["fc.bias",null]])");
  CHECK(json["sections"][0]["charts"][0]["kind"] == "histogram");
}

TEST_CASE("A null always has its reason beside it") {
  Report report = sample_report();
  report.variants[0].metrics[0].value = infinity;
  report.variants[0].metrics[1].value = -infinity;
  report.variants[0].metrics[2].value = infinity - infinity;
  const auto json = read_back(report);
  const auto& metrics = json["variants"][0]["metrics"];

  CHECK(metrics["step_seconds"]["value"].is_null());
  CHECK(metrics["step_seconds"]["non_finite"] == "inf");
  CHECK(metrics["images_per_second"]["non_finite"] == "-inf");
  CHECK(metrics["peak_bytes"]["non_finite"] == "nan");
  CHECK(metrics["final_scale"]["value"].is_null());
  CHECK(metrics["final_scale"]["absent"] == "no scaling");
  CHECK_FALSE(json["variants"][1]["metrics"]["step_seconds"].contains("non_finite"));
  CHECK_FALSE(json["variants"][1]["metrics"]["step_seconds"].contains("absent"));
}

TEST_CASE("A series has every point, marks, and which points are not finite") {
  Report report = sample_report();
  torchamp::Series& loss = report.variants[2].series[0];  // NaN at 1
  loss.push_back(4, infinity);
  loss.push_back(5, -infinity);
  for (int i = 6; i < 5000; ++i) loss.push_back(i, i);
  const auto json = read_back(report);
  const auto& series = json["variants"][2]["series"];

  CHECK(series["loss"]["x"].size() == 5000);
  CHECK(series["loss"]["y"].size() == 5000);
  CHECK(series["loss"]["y"][4999] == 4999);
  CHECK(series["loss"]["y"][1].is_null());
  CHECK(series["loss"]["non_finite"] ==
        nlohmann::json({{"nan", {1}}, {"inf", {4}}, {"-inf", {5}}}));
  CHECK(series["scale"]["marks"] == nlohmann::json({1}));
  CHECK(series["scale"]["marked_as"] == "skipped step");
  CHECK(series["scale"]["y_scale"] == "log2");
  CHECK_FALSE(series["scale"].contains("non_finite"));
}

TEST_CASE("Numbers of tables, bars and comparisons that are not finite are named") {
  Report report = sample_report();
  report.comparisons[0].high = infinity;
  report.sections[0].table->add_row({"fc", infinity - infinity});
  torchamp::BarChart bars{"bars"};
  bars.groups = {"a", "b"};
  bars.bars = {{"FP32", {-infinity, {}}}};
  torchamp::LineChart lines{"lines"};
  lines.lines = {report.variants[0].series[0]};
  lines.names = {"FP32"};
  report.sections[0].charts = {bars, lines};
  const auto json = read_back(report);

  CHECK(json["comparisons"][0]["high"] == "inf");
  CHECK(json["sections"][0]["table"]["rows"][2][1] == "nan");
  CHECK(json["sections"][0]["charts"][0]["bars"][0]["values"] == nlohmann::json({"-inf", nullptr}));
  CHECK(json["sections"][0]["charts"][1]["lines"][0]["series"]["y"].size() == 4);
}

TEST_CASE("Names come back as they were, whatever they are") {
  const auto json = read_back(hostile_report());

  CHECK(json["title"] == hostile);
  CHECK(json["variants"][0]["label"] == hostile);
  CHECK(json["sections"][0]["charts"][0]["limits"][0]["label"] == hostile);
}

TEST_CASE("An empty report has all members, and they are empty") {
  const auto json = read_back(Report{});

  for (const char* member :
       {"verdict", "warnings", "reasons", "advice", "variants", "comparisons", "sections"}) {
    CAPTURE(member);
    CHECK(json[member] == nlohmann::json::array());
  }
  CHECK(json["environment"] == nlohmann::json::object());
}

TEST_CASE("A report that makes no sense is not written as JSON") {
  Report report = sample_report();
  report.variants[1].series[0].x.pop_back();
  std::ostringstream out;

  CHECK_THROWS_WITH_AS(torchamp::write_json(report, out), doctest::Contains("[torchamp.E29]"),
                       std::invalid_argument);

  CHECK(out.str() == "");
}
