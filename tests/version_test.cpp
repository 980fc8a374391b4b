// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/version.h>

#include "support/doctest.h"

#include <string>

TEST_CASE("The version in words is the version in numbers") {
  const std::string numbers = std::to_string(TORCHAMP_VERSION_MAJOR) + "." +
                              std::to_string(TORCHAMP_VERSION_MINOR) + "." +
                              std::to_string(TORCHAMP_VERSION_PATCH);

  CHECK(numbers == torchamp::version);
}

TEST_CASE("The supported LibTorch range begins at 2.4 and ends at 2.15") {
  CHECK(std::string(torchamp::oldest_libtorch) == "2.4");
  CHECK(std::string(torchamp::newest_libtorch) == "2.15");
}
