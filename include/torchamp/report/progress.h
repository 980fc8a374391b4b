// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/table.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>

#include <unistd.h>
#endif

namespace torchamp {
inline namespace v0 {

/// How progress is shown, and where.
struct ProgressStyle {
  bool bar = false;     ///< over one line, as only a terminal can; else line after line
  bool colour = false;  ///< of the bar
  std::chrono::milliseconds every{5000};  ///< between two lines, or two pictures of the bar
  std::optional<std::size_t> columns;     ///< of the terminal; a bar's line is made to fit

  /// For standard output: a bar ten times a second on a terminal, and a line every five seconds
  /// elsewhere. In colour unless the environment variable NO_COLOR is set and not empty
  /// (no-color.org), or TERM is "dumb", which has no bar either.
  static ProgressStyle of_stdout();
};

/// Shows how far a training run is: steps, rate, time left, loss and loss scale.
///
///     torchamp::Progress progress("AMP bf16", steps);
///     for (…) {
///       …
///       progress.advance(loss, scaler.get_scale());
///     }
///
///     AMP bf16  [##########..........]  60/120  12.5 steps/s  4.80 s left  loss 0.4213
///
/// The rate is that of the last pictures, so that a slow start does not spoil it for long. Costs a
/// look at the clock a step; the loss and the scale are numbers, so reading them off a device is
/// the caller's affair, and need not be done when `is_due()` says no.
/// Threads: one at a time. `Clock` can be replaced, for tests.
template <class Clock = std::chrono::steady_clock>
class BasicProgress {
 public:
  /// `out` must outlive this.   Throws: [E14] for fewer than 0 steps, or a title with a line break.
  BasicProgress(std::string title, std::int64_t steps,
                const ProgressStyle& style = ProgressStyle::of_stdout(),
                std::ostream& out = std::cout);

  /// Ends the line of a bar that was not finished, so that what is printed next has its own.
  ~BasicProgress();

  // It owns the line that the cursor stands on.
  BasicProgress(const BasicProgress&) = delete;
  BasicProgress& operator=(const BasicProgress&) = delete;
  BasicProgress(BasicProgress&&) = delete;
  BasicProgress& operator=(BasicProgress&&) = delete;

  /// True if the next `advance()` writes something.
  bool is_due() const { return done_ + 1 == steps_ || Clock::now() >= next_; }

  /// Call once a step. What has no value is not shown.
  void advance(std::optional<double> loss = std::nullopt,
               std::optional<double> scale = std::nullopt);

 private:
  std::string text(std::optional<double> loss, std::optional<double> scale);
  void draw(const std::string& text);
  std::string bar(bool colour) const;

  std::string title_;
  std::int64_t steps_;
  ProgressStyle style_;
  std::ostream& out_;
  std::int64_t done_ = 0;
  std::size_t width_ = 0;  // of the line that the bar stands on; 0 without one
  typename Clock::time_point next_;
  typename Clock::time_point rated_at_;  // the rate is counted from here
  std::int64_t rated_steps_ = 0;
  std::optional<double> seconds_a_step_;
};

using Progress = BasicProgress<>;

inline ProgressStyle ProgressStyle::of_stdout() {
  ProgressStyle style;
#if defined(__unix__) || defined(__APPLE__)
  const char* const term = std::getenv("TERM");
  style.bar = isatty(STDOUT_FILENO) != 0 && (term == nullptr || std::string(term) != "dumb");
  winsize size{};
  if (style.bar && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.columns = size.ws_col;
  }
#endif
  const char* const no_color = std::getenv("NO_COLOR");
  style.colour = style.bar && (no_color == nullptr || *no_color == '\0');
  if (style.bar) style.every = std::chrono::milliseconds(100);
  return style;
}

namespace detail {

/// A time that is left: "4.80 s", and from 100 s on "4:54" or "1:02:05".
inline std::string format_time_left(double seconds) {
  if (!(seconds >= 99.5 && seconds < 1e9)) return format_seconds(seconds);
  const auto all = static_cast<std::int64_t>(seconds + 0.5);
  const auto two_digits = [](std::int64_t n) { return (n < 10 ? ":0" : ":") + std::to_string(n); };
  const std::string hours = all < 3600 ? "" : std::to_string(all / 3600);
  const std::int64_t minutes = all / 60 % 60;
  return (all < 3600 ? std::to_string(minutes) : hours + two_digits(minutes)) +
         two_digits(all % 60);
}

/// What of `text` fits into so many columns.
inline std::string first_columns(const std::string& text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0u) != 0x80u;
    if (begins && ++used > columns) break;
  }
  return text.substr(0, end);
}

}  // namespace detail

template <class Clock>
BasicProgress<Clock>::BasicProgress(std::string title, std::int64_t steps,
                                    const ProgressStyle& style, std::ostream& out)
    : title_(std::move(title)), steps_(steps), style_(style), out_(out) {
  if (steps_ < 0) {
    throw std::invalid_argument("[torchamp.E14] Progress: " + std::to_string(steps_) +
                                " steps; give the number of steps there will be, 0 or more");
  }
  if (title_.find_first_of("\n\r") != std::string::npos) {
    throw std::invalid_argument("[torchamp.E14] Progress: the title \"" + title_ +
                                "\" has a line break; it stands at the start of a line");
  }
  rated_at_ = Clock::now();
  next_ = rated_at_ + style_.every;
}

template <class Clock>
BasicProgress<Clock>::~BasicProgress() {
  if (width_ == 0) return;
  try {
    out_ << std::endl;
  } catch (...) {
    // A stream may be told to throw; a destructor must not.
  }
}

template <class Clock>
void BasicProgress<Clock>::advance(std::optional<double> loss, std::optional<double> scale) {
  const bool due = is_due();
  ++done_;
  if (!due) return;
  next_ = Clock::now() + style_.every;
  if (style_.bar) {
    draw(text(loss, scale));
  } else {
    out_ << title_ << "  " << text(loss, scale) << std::endl;
  }
}

template <class Clock>
void BasicProgress<Clock>::draw(const std::string& text) {
  const std::string with_bar = title_ + "  " + bar(/*colour=*/false) + "  " + text;
  std::size_t width = detail::display_width(with_bar);
  std::string line = style_.colour ? title_ + "  " + bar(/*colour=*/true) + "  " + text : with_bar;
  // A line that a terminal breaks cannot be drawn over. The last column is left free, where some
  // terminals break already.
  if (style_.columns && width >= *style_.columns) {
    const std::size_t fits = (std::max)(*style_.columns, std::size_t{2}) - 1;
    line = detail::first_columns(title_ + "  " + text, fits);
    width = detail::display_width(line);
  }
  // Blanks wipe out what a longer line left.
  out_ << '\r' << line << std::string(width_ > width ? width_ - width : 0, ' ');
  width_ = width;
  if (done_ >= steps_) {
    out_ << '\n';
    width_ = 0;
  }
  out_.flush();
}

template <class Clock>
std::string BasicProgress<Clock>::text(std::optional<double> loss, std::optional<double> scale) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - rated_at_).count();
  // A span that is short, as that before the last picture may be, says little.
  if (seconds > 0 && (!seconds_a_step_ || now - rated_at_ >= style_.every / 2)) {
    // Half of the last span, half of what was before.
    const double latest = seconds / static_cast<double>(done_ - rated_steps_);
    seconds_a_step_ = seconds_a_step_ ? (*seconds_a_step_ + latest) / 2 : latest;
    rated_at_ = now;
    rated_steps_ = done_;
  }
  std::string text = format_count(done_) + "/" + format_count(steps_);
  if (seconds_a_step_) {
    const double rate = 1 / *seconds_a_step_;
    text += "  " + format_fixed(rate, rate < 10 ? 2 : rate < 100 ? 1 : 0) + " steps/s";
    if (done_ < steps_) {
      text += "  " +
              detail::format_time_left(*seconds_a_step_ * static_cast<double>(steps_ - done_)) +
              " left";
    }
  }
  if (loss) text += "  loss " + format_fixed(*loss, 4);
  if (scale) text += "  scale " + format_fixed(*scale, *scale < 1 ? 6 : 0);
  return text;
}

template <class Clock>
std::string BasicProgress<Clock>::bar(bool colour) const {
  constexpr std::int64_t cells = 20;
  const auto full = steps_ > 0 ? (std::min)(cells, cells * done_ / steps_) : cells;
  const std::string done(static_cast<std::size_t>(full), '#');
  const std::string left(static_cast<std::size_t>(cells - full), '.');
  if (!colour) return "[" + done + left + "]";
  return "[\033[32m" + done + "\033[0m" + left + "]";
}

}  // namespace v0
}  // namespace torchamp
