// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/json.h>

#include "support/doctest.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using torchamp::Json;

namespace {

/// What another library reads from what ours writes.
nlohmann::json read_back(const Json& json) { return nlohmann::json::parse(json.str()); }

std::string string_read_back(const std::string& text) {
  return read_back(Json(text)).get<std::string>();
}

}  // namespace

TEST_CASE("Json writes objects in the order of their keys, flat arrays on one line") {
  Json runs = Json::array();
  runs.push_back(Json::object().set("name", "FP32").set("losses", std::vector<double>{2.5, 1}));
  const Json report = Json::object().set("zero", 0).set("runs", runs);

  CHECK(report.str() == R"({
  "zero": 0,
  "runs": [
    {
      "name": "FP32",
      "losses": [2.5, 1]
    }
  ]
})");
}

TEST_CASE("Json writes every kind of value so that another library reads the same") {
  const auto read = read_back(Json::object()
                                  .set("null", nullptr)
                                  .set("true", true)
                                  .set("false", false)
                                  .set("int", std::int64_t{-9007199254740993})
                                  .set("unsigned", (std::numeric_limits<std::uint64_t>::max)())
                                  .set("text", "bf16")
                                  .set("empty object", Json::object())
                                  .set("empty array", Json::array())
                                  .set("names", std::vector<std::string>{"a", "b"}));

  CHECK(read["null"].is_null());
  CHECK(read["true"].get<bool>());
  CHECK_FALSE(read["false"].get<bool>());
  CHECK(read["int"].get<std::int64_t>() == -9007199254740993);
  CHECK(read["unsigned"].get<std::uint64_t>() == (std::numeric_limits<std::uint64_t>::max)());
  CHECK(read["text"].get<std::string>() == "bf16");
  CHECK(read["empty object"] == nlohmann::json::object());
  CHECK(read["empty array"] == nlohmann::json::array());
  CHECK(read["names"] == nlohmann::json({"a", "b"}));
}

TEST_CASE("Json writes a double with the fewest digits that give it back") {
  using Limits = std::numeric_limits<double>;

  CHECK(Json(0.1).str() == "0.1");
  CHECK(Json(65536.0).str() == "65536");
  CHECK(Json(0.1f).str() == "0.10000000149011612");  // the float, as a double
  for (const double value : {1.0 / 3, 0.1 + 0.2, -2.5e-300, (Limits::max)(), (Limits::min)(),
                             Limits::denorm_min(), Limits::epsilon(), -0.0}) {
    CAPTURE(value);
    CHECK(read_back(Json(value)).get<double>() == value);
  }
}

TEST_CASE("Json writes NaN and infinity as null") {
  const double infinity = std::numeric_limits<double>::infinity();

  CHECK(Json(std::vector<double>{infinity, -infinity, infinity - infinity}).str() ==
        "[null, null, null]");
}

TEST_CASE("Json escapes quotes, backslashes and control characters") {
  std::string text = "\"C:\\new\" /";
  for (char control = 0; control < 0x20; ++control) text += control;

  CHECK(Json("a\"b\\c\n").str() == R"("a\"b\\c\u000a")");
  CHECK(string_read_back(text) == text);
  CHECK(read_back(Json::object().set(text, 1))[text] == 1);
}

TEST_CASE("Json leaves UTF-8 as it is and replaces what is not") {
  const std::string replacement = "\xEF\xBF\xBD";

  CHECK(Json("µ — 学 🔥").str() == "\"µ — 学 🔥\"");
  CHECK(string_read_back("a\xFFz") == "a" + replacement + "z");
  CHECK(string_read_back("cut \xE2\x82") == "cut " + replacement + replacement);
  for (const char* invalid : {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE0\x80\x80"}) {
    CAPTURE(invalid);
    CHECK(string_read_back(invalid).substr(0, 3) == replacement);
  }
}

TEST_CASE("Json refuses a member for what is no object, and changes nothing") {
  Json array = Json::array();

  CHECK_THROWS_WITH_AS(array.set("a", 1), doctest::Contains("[torchamp.E15]"),
                       std::invalid_argument);

  CHECK(array.str() == "[]");
}

TEST_CASE("Json refuses a key that is there already, and keeps the first value") {
  Json object = Json::object().set("a", 1);

  CHECK_THROWS_WITH_AS(object.set("a", 2), doctest::Contains("[torchamp.E15] Json::set(\"a\")"),
                       std::invalid_argument);

  CHECK(read_back(object) == nlohmann::json({{"a", 1}}));
}

TEST_CASE("Json refuses an item for what is no array, and changes nothing") {
  Json object = Json::object();
  Json plain = 3;

  CHECK_THROWS_WITH_AS(object.push_back(1), doctest::Contains("[torchamp.E15]"),
                       std::invalid_argument);
  CHECK_THROWS_AS(plain.push_back(1), std::invalid_argument);

  CHECK(object.str() == "{}");
  CHECK(plain.str() == "3");
}
