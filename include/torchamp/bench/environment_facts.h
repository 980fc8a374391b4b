// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_report.h>
#include <torchamp/probe/environment.h>
#include <torchamp/report/report.h>

#include <set>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// The lines of an environment as those of a report, each with an id of its own: "libtorch",
/// "accelerator", "accelerator_2", …
inline std::vector<Fact> environment_facts(const Environment& environment) {
  std::vector<Fact> facts;
  std::set<std::string> taken;
  for (const auto& [label, value] : environment.lines()) {
    facts.push_back({detail::free_id(report_id(label), taken), label, value});
  }
  return facts;
}

}  // namespace v0
}  // namespace torchamp
