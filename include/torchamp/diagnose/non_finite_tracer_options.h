// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <torch/arg.h>

#include <cstdint>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What a NonFiniteTracer does when it finds something, besides remembering it.
enum class OnNonFinite {
  Note,   ///< nothing
  Warn,   ///< a LibTorch warning
  Throw,  ///< [E32], as soon as possible: see `NonFiniteTracer`
};

/// How a NonFiniteTracer behaves.
struct NonFiniteTracerOptions {
  TORCH_ARG(OnNonFinite, on_finding) = OnNonFinite::Note;
  /// Operators that may make inf and NaN, by name: "aten::log". What comes of that is no finding
  /// either, unless NaN comes of infinities alone.
  TORCH_ARG(std::vector<std::string>, allowed);
  /// After so many findings, no more tensors are looked at; 1 or more.
  TORCH_ARG(int64_t, max_findings) = 8;
};

namespace detail {

/// Throws: [E08] if an option makes no sense.
inline NonFiniteTracerOptions checked(NonFiniteTracerOptions options) {
  TORCHAMP_CHECK(E08, options.max_findings() >= 1, "NonFiniteTracer: max_findings is ",
                 options.max_findings(), "; it must be 1 or more");
  for (const auto& name : options.allowed()) {
    TORCHAMP_CHECK(E08, name.find("::") != std::string::npos, "NonFiniteTracer: \"", name,
                   "\" is allowed, which is no operator's name; write it as \"aten::log\"");
  }
  return options;
}

}  // namespace detail

}  // namespace v0
}  // namespace torchamp
