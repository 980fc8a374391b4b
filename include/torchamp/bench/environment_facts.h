// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_report.h>
#include <torchamp/probe/environment.h>
#include <torchamp/report/report.h>

#include <algorithm>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// The lines of an environment as those of a report, each with an id of its own: "libtorch",
/// "accelerator", "accelerator_2", …
inline std::vector<Fact> environment_facts(const Environment& environment) {
  std::vector<Fact> facts;
  for (const auto& [label, value] : environment.lines()) {
    const std::string base = report_id(label);
    std::string id = base;
    const auto is_taken = [&facts](const std::string& wanted) {
      return std::any_of(facts.begin(), facts.end(),
                         [&wanted](const Fact& fact) { return fact.id == wanted; });
    };
    for (int number = 2; is_taken(id); ++number) id = base + "_" + std::to_string(number);
    facts.push_back({id, label, value});
  }
  return facts;
}

}  // namespace v0
}  // namespace torchamp
