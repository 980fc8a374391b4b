// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/version.h>

#include "support/doctest.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

/// Checks that `text` is what the file `name` in tests/report/golden/ has, with "(version)" in
/// place of torchamp's version. With TORCHAMP_RENEW_GOLDEN=1 in the environment the file is written
/// instead: look at what `git diff` says about it.
inline void check_golden(const std::string& name, std::string text) {
  const std::string version = std::string("torchamp ") + torchamp::version;
  const std::string version_member = std::string("\"torchamp\": \"") + torchamp::version + "\"";
  for (const std::string& with_version : {version, version_member}) {
    const std::size_t at = text.find(with_version);
    if (at == std::string::npos) continue;
    text.replace(text.find(torchamp::version, at), std::string(torchamp::version).size(),
                 "(version)");
  }

  const std::filesystem::path path =
      std::filesystem::path(__FILE__).parent_path().parent_path() / "report" / "golden" / name;
  const char* renew = std::getenv("TORCHAMP_RENEW_GOLDEN");
  if (renew != nullptr && std::string(renew) == "1") {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    REQUIRE_MESSAGE(file.good(), "cannot write " << path.string());
    MESSAGE("wrote " << path.string());
    return;
  }

  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "no file " << path.string() << "; see CONTRIBUTING.md");
  std::istringstream expected_lines(
      std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  std::istringstream lines(text);
  std::string expected;
  std::string line;
  for (int number = 1;; ++number) {
    const bool more_expected = static_cast<bool>(std::getline(expected_lines, expected));
    const bool more = static_cast<bool>(std::getline(lines, line));
    if (!more_expected && !more) return;
    CAPTURE(name);
    CAPTURE(number);
    REQUIRE(more_expected == more);
    REQUIRE(line == expected);
  }
}
