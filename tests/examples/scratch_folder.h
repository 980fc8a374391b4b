// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/scratch_folder.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <zlib.h>

/// As `folder.write()`, compressed.
inline std::filesystem::path write_gzipped(const ScratchFolder& folder, const std::string& name,
                                           const std::string& content) {
  const std::filesystem::path path = folder.path() / name;
  gzFile file = gzopen(path.string().c_str(), "wb");
  if (file == nullptr) throw std::runtime_error("cannot write " + name);
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
  return path;
}
