// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace benchmarks {

/// What is measured, ready to be repeated: memory allocated, moments made, caches warm.
struct Case {
  std::function<void()> step;       ///< what is timed
  std::function<void()> iteration;  ///< what operators are counted of, if that is more than `step`
  int steps = 1;                    ///< how often `step` does it; a time is divided by that
};

/// "step/adam/1000x100/flat" as words.
inline std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream stream(name);
  for (std::string word; std::getline(stream, word, '/');) words.push_back(word);
  return words;
}

[[noreturn]] inline void no_such_case(const std::string& name) {
  throw std::invalid_argument("there is no case " + name + "; --help lists them");
}

}  // namespace benchmarks
