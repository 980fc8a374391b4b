// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/table.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <utility>

namespace examples {

/// Shows how far a training run is: a bar that moves on a terminal, a line every 20 steps
/// elsewhere.
class Progress {
 public:
  Progress(std::ostream& out, std::string title, std::int64_t steps, bool terminal = is_terminal())
      : out_(out), title_(std::move(title)), steps_(steps), terminal_(terminal) {}

  /// Call once a step.
  void advance(double loss) {
    ++done_;
    if (!terminal_ && done_ % 20 != 0 && done_ != steps_) return;

    const std::string count = std::to_string(done_) + "/" + std::to_string(steps_);
    const std::string text = count + "  loss " + torchamp::format_fixed(loss, 4);
    if (terminal_) {
      // Blanks at the end wipe out what a longer line left.
      out_ << '\r' << title_ << "  [" << bar() << "]  " << text << "  ";
      if (done_ == steps_) out_ << '\n';
    } else {
      out_ << title_ << "  step " << text << '\n';
    }
    out_.flush();
  }

  /// True if standard output is a terminal.
  static bool is_terminal() { return isatty(fileno(stdout)) != 0; }

 private:
  std::string bar() const {
    std::string cells(30, '.');
    const auto all = static_cast<std::int64_t>(cells.size());
    std::fill_n(cells.begin(), all * done_ / steps_, '#');
    return cells;
  }

  std::ostream& out_;
  std::string title_;
  std::int64_t steps_;
  std::int64_t done_ = 0;
  bool terminal_;
};

}  // namespace examples
