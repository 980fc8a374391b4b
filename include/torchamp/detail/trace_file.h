// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/trace_name.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The file that Kineto is to write a trace to. Kineto says nothing to its caller if it can't, so
/// this looks: whether something can be written, before, and whether all of it was, afterwards.
class TraceFile {
 public:
  /// Puts a trace without events in place of what was there.
  /// Throws: [E18] if that cannot be done, or what is there is no file; it stays as it is.
  explicit TraceFile(std::string path);

  const std::string& path() const { return path_; }

  /// Takes the empty trace away again, if profiling could not begin.
  void remove() const noexcept { std::remove(path_.c_str()); }

  /// After Kineto has written: restores names (Note [Names in traces]).
  /// Throws: [E18] if the file does not hold a whole trace.
  void finish() const;

 private:
  static constexpr char no_events[] = "{\"traceEvents\": []}\n";
  static constexpr std::size_t mark_length = 6;  // of `u0022

  static std::string reason() {
    const int error = errno;
    return error == 0 ? "" : ": " + std::generic_category().message(error);
  }
  static bool is_mark(const char* text) {
    return text[0] == trace_name_mark && text[1] == 'u' &&
           std::all_of(text + 2, text + mark_length,
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  }
  void check_whole(std::fstream& file) const;

  std::string path_;
};

inline TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto type = fs::status(path_, error).type();
  // Kineto would remove it, even /dev/null, and put a file there.
  TORCHAMP_CHECK(
      E18, !path_.empty() && (type == fs::file_type::regular || type == fs::file_type::not_found),
      "TraceGuard: cannot write a trace to \"", path_, "\", which is no file; name one");
  // The way of Kineto: a file beside it, which then takes its place. What is not allowed shows now.
  const std::string beside = path_ + ".tmp";
  errno = 0;
  std::ofstream out(beside, std::ios::binary | std::ios::trunc);
  out << no_events << std::flush;
  const bool written = out.good();
  std::string why = written ? "" : reason();
  out.close();
  if (written) {
    fs::rename(beside, path_, error);
    if (error) why = ": " + error.message();
  }
  if (!why.empty() || !written) std::remove(beside.c_str());
  TORCHAMP_CHECK(E18, written && why.empty(), "TraceGuard: cannot write to \"", path_, "\"", why,
                 "; name a file in a folder that exists and can be written to");
}

inline void TraceFile::finish() const {
  errno = 0;
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  check_whole(file);

  // Pieces overlap by what is shorter than a mark.
  std::vector<char> piece(1 << 16);
  std::streamoff begin = 0;
  for (bool more = true; more;) {
    file.seekg(begin);
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto size = static_cast<std::size_t>(file.gcount());
    more = size == piece.size();
    file.clear();
    for (std::size_t i = 0; i + mark_length <= size; ++i) {
      if (!is_mark(piece.data() + i)) continue;
      file.seekp(begin + static_cast<std::streamoff>(i));
      file.put('\\');
    }
    begin += static_cast<std::streamoff>(size - (more ? mark_length - 1 : 0));
  }
  file.flush();
  TORCHAMP_CHECK(E18, file.good(), "TraceGuard::stop(): the trace \"", path_,
                 "\" could not be written", reason());
}

inline void TraceFile::check_whole(std::fstream& file) const {
  // Kineto writes the trace's name behind the events, and little after it.
  const auto window = static_cast<std::streamoff>(4096 + 2 * path_.size());
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  const std::streamoff begin = size > window ? size - window : 0;
  std::string tail(size > 0 ? static_cast<std::size_t>(size - begin) : 0, '\0');
  file.seekg(begin);
  file.read(&tail[0], static_cast<std::streamsize>(tail.size()));
  const auto last = tail.find_last_not_of(std::string(" \r\n\t"));
  const bool whole = file.good() && tail.find("\"traceName\":") != std::string::npos &&
                     last != std::string::npos && tail[last] == '}';
  TORCHAMP_CHECK(E18, whole, "TraceGuard::stop(): the trace \"", path_, "\" could not be written",
                 reason(), "; was the disk full, or the folder removed? The trace is lost");
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
