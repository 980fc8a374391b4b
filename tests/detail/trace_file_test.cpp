// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/trace_file.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/file_size_limit.h"
#include "support/scratch_folder.h"

#include <cstddef>
#include <filesystem>
#include <string>

using torchamp::detail::TraceFile;

namespace {

const char empty_trace[] = "{\"traceEvents\": []}\n";

/// The end of a trace, as Kineto writes it.
const std::string end = "], \"traceName\": \"a.json\" }";

/// What a file of `content` and the end of a trace is once it is finished, without that end.
std::string finished(const std::string& content) {
  const ScratchFolder folder;
  const TraceFile file((folder.path() / "a.json").string());
  folder.write("a.json", content + end);
  file.finish();
  const std::string text = ScratchFolder::read(file.path());
  return text.substr(0, text.size() - end.size());
}

}  // namespace

TEST_CASE("A trace file begins as a trace without events, in place of what was there") {
  const ScratchFolder folder;
  const auto path =
      folder.write("a.json", "an older and longer trace, which is of no use any more");

  const TraceFile file(path.string());

  CHECK(ScratchFolder::read(path) == empty_trace);
}

TEST_CASE("A path that cannot be written to is refused with the reason") {
  const ScratchFolder folder;
  const std::string missing = (folder.path() / "no such folder" / "a.json").string();

  CHECK_ERROR(E18, TraceFile(missing));
  CHECK_ERROR_SAYS("No such file or directory", TraceFile(missing));
  CHECK_ERROR(E18, TraceFile(folder.path().string()));
  CHECK_ERROR(E18, TraceFile(""));
}

TEST_CASE("What is no file is refused and stays, since Kineto would remove it") {
  const ScratchFolder folder;
  const auto device = folder.path() / "null";
  std::filesystem::create_symlink("/dev/null", device);

  CHECK_ERROR(E18, TraceFile(device.string()));
  CHECK_ERROR_SAYS("no file", TraceFile(device.string()));

  CHECK(std::filesystem::is_symlink(device));
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_FALSE(std::filesystem::exists(device.string() + ".tmp"));
}

TEST_CASE("A full disk is found before the trace begins, and what was there stays") {
  const ScratchFolder folder;
  const auto path = folder.write("a.json", "older");
  {
    const FileSizeLimit limit(10);
    CHECK_ERROR(E18, TraceFile(path.string()));
  }

  CHECK(ScratchFolder::read(path) == "older");
  CHECK_FALSE(std::filesystem::exists(path.string() + ".tmp"));
}

TEST_CASE("Marks in a finished file become JSON's escapes, all else stays") {
  CHECK(finished("{\"name\": \"a`u0022b`u00e9 `u00G0 ``u0060\"} `u 123 \n") ==
        "{\"name\": \"a\\u0022b\\u00e9 `u00G0 `\\u0060\"} `u 123 \n");
}

TEST_CASE("A mark is found wherever pieces of a long file meet") {
  constexpr std::size_t piece = 65536;
  const std::string rest(2 * piece, ' ');
  for (std::size_t at = piece - 7; at <= piece + 1; ++at) {
    const std::string before(at, ' ');

    const bool restored =
        finished(before + "`u0022" + rest + "`u0022") == before + "\\u0022" + rest + "\\u0022";

    CAPTURE(at);
    CHECK(restored);
  }
}

TEST_CASE("A file of exactly one piece, and one that ends in a mark's beginning, are finished") {
  const std::string blanks(65536 - end.size(), ' ');

  CHECK(finished(blanks) == blanks);
  CHECK(finished("`u002") == "`u002");
}

TEST_CASE("A file without a whole trace is an error when it is finished") {
  const ScratchFolder folder;
  const TraceFile file((folder.path() / "a.json").string());

  CHECK_ERROR(E18, file.finish());  // still without events
  folder.write("a.json", "{\"traceEvents\": [{\"name\": \"a trace that was cut off in the mid");
  CHECK_ERROR(E18, file.finish());
  folder.write("a.json", "{\"traceEvents\": [{\"name\": \"cut off where an event ends\" }");
  CHECK_ERROR(E18, file.finish());
  folder.write("a.json", "{\"traceEvents\": [], \"traceName\": \"cut off right at the en");
  CHECK_ERROR(E18, file.finish());
  folder.write("a.json", "");
  CHECK_ERROR(E18, file.finish());
  std::filesystem::remove(file.path());
  CHECK_ERROR(E18, file.finish());

  folder.write("a.json", "{\"traceEvents\": [" + end + " \n");
  CHECK_NOTHROW(file.finish());
}

TEST_CASE("A trace file that is taken away is gone") {
  const ScratchFolder folder;
  const TraceFile file((folder.path() / "a.json").string());

  file.remove();

  CHECK_FALSE(std::filesystem::exists(file.path()));
}
