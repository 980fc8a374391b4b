// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/atomic_file.h"

#include "examples/scratch_folder.h"
#include "support/doctest.h"

#include <filesystem>
#include <stdexcept>

using examples::AtomicFile;
namespace fs = std::filesystem;

TEST_CASE("AtomicFile puts the whole content in place and nothing beside it") {
  const ScratchFolder folder;
  const auto path = folder.write("report", "old");

  {
    AtomicFile file(path);
    CHECK(ScratchFolder::read(path) == "old");
    file.commit("new");
  }

  CHECK(ScratchFolder::read(path) == "new");
  CHECK_FALSE(fs::exists(folder.path() / "report.partial"));
}

TEST_CASE("AtomicFile leaves the old file if nothing is committed") {
  const ScratchFolder folder;
  const auto path = folder.write("report", "old");

  { const AtomicFile file(path); }

  CHECK(ScratchFolder::read(path) == "old");
  CHECK_FALSE(fs::exists(folder.path() / "report.partial"));
}

TEST_CASE("AtomicFile says at once that a file cannot be written") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(AtomicFile(folder.path() / "gone" / "report"),
                       doctest::Contains("report: cannot be written"), std::runtime_error);
  CHECK_THROWS_WITH_AS(AtomicFile(folder.path()), doctest::Contains("it is a folder"),
                       std::runtime_error);
}
