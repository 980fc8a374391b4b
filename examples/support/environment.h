// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/json.h>
#include <torchamp/version.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <fstream>
#include <string>

#include "support/arguments.h"

namespace examples {

/// The processor's name as Linux gives it; "unknown" elsewhere.
inline std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

inline std::string compiler() {
#if defined(__clang__)
  return __VERSION__;  // begins with the compiler's name
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

/// Where and on what numbers were measured, so that they can be compared with others.
inline torchamp::Json environment_json(const Arguments& arguments, std::size_t train_images,
                                       std::size_t test_images) {
  return torchamp::Json::object()
      .set("torchamp", torchamp::version)
      .set("libtorch", TORCH_VERSION)
      .set("compiler", compiler())
#ifdef NDEBUG
      .set("optimized", true)
#else
      .set("optimized", false)
#endif
      .set("device", arguments.device.str())
      .set("cpu", cpu_model())
      .set("threads", at::get_num_threads())
      .set("data", arguments.synthetic ? "synthetic" : arguments.data)
      .set("train_images", train_images)
      .set("test_images", test_images)
      .set("epochs", arguments.epochs)
      .set("batch_size", arguments.batch_size)
      .set("seed", arguments.seed);
}

}  // namespace examples
