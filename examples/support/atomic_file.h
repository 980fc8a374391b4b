// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace examples {

/// A file that appears whole or not at all: what is written goes into a file beside it, which
/// `commit()` gives the name. Made before a long computation, it tells at once if it cannot be
/// made.
class AtomicFile {
 public:
  /// Throws: std::runtime_error if the file cannot be written.
  explicit AtomicFile(std::filesystem::path path) : path_(std::move(path)), partial_(path_) {
    partial_ += ".partial";
    if (std::filesystem::is_directory(path_)) fail("it is a folder");
    out_.open(partial_, std::ios::binary | std::ios::trunc);
    if (!out_) fail("its folder is missing or not writable");
  }

  ~AtomicFile() {
    out_.close();
    std::error_code ignored;
    std::filesystem::remove(partial_, ignored);
  }

  // Two owners would both remove the partial file.
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes `content` and puts the file in its place.   Throws: std::runtime_error if that fails.
  void commit(const std::string& content) {
    out_ << content;
    out_.close();
    if (!out_) fail("the disk may be full");
    std::error_code error;
    std::filesystem::rename(partial_, path_, error);
    if (error) fail(error.message());
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(path_.string() + ": cannot be written: " + reason);
  }

  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::ofstream out_;
};

}  // namespace examples
