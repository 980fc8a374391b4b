// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/environment_facts.h>
#include <torchamp/report/check_report.h>

#include "support/doctest.h"

#include <string>
#include <vector>

using torchamp::Environment;
using torchamp::environment_facts;

TEST_CASE("Each line of the environment is a fact of the report") {
  Environment environment;
  environment.libtorch = "2.11.0";

  const auto facts = environment_facts(environment);

  REQUIRE(facts.size() == environment.lines().size());
  CHECK(facts[1].id == "libtorch");
  CHECK(facts[1].label == "LibTorch");
  CHECK(facts[1].value == "2.11.0");
}

TEST_CASE("Several accelerators have ids of their own") {
  Environment environment;
  for (const char* name : {"cuda:0", "cuda:1", "cuda:2"}) {
    environment.devices.emplace_back().name = name;
  }
  torchamp::Report report;

  report.environment = environment_facts(environment);

  CHECK_NOTHROW(torchamp::check_report(report));
  CHECK(report.environment.back().id == "accelerator_3");
  CHECK(report.environment.back().value == "cuda:2");
}
