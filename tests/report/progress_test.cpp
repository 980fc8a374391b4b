// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/progress.h>

#include "support/doctest.h"

#if defined(__unix__) || defined(__APPLE__)
#include <sys/ioctl.h>

#include <fcntl.h>
#include <unistd.h>
#endif

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

/// A clock that stands still until a test moves it.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(time()); }
  static void pass(double seconds) {
    time() += std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
  }

 private:
  static duration& time() {
    static duration time{};
    return time;
  }
};

using Progress = torchamp::BasicProgress<Clock>;

torchamp::ProgressStyle lines_every(int seconds) {
  torchamp::ProgressStyle style;
  style.every = std::chrono::seconds(seconds);
  return style;
}

torchamp::ProgressStyle bar(bool colour = false) {
  torchamp::ProgressStyle style;
  style.bar = true;
  style.colour = colour;
  style.every = std::chrono::milliseconds(0);
  return style;
}

/// `steps` steps of `seconds` each.
void run(Progress& progress, int steps, double seconds) {
  for (int i = 0; i < steps; ++i) {
    Clock::pass(seconds);
    progress.advance(0.5);
  }
}

}  // namespace

TEST_CASE("Beyond its steps progress still writes only every few seconds") {
  std::ostringstream out;
  Progress progress("FP32", 1, lines_every(4), out);
  run(progress, 4, 1);
  CHECK(out.str() == "FP32  1/1  1.00 steps/s  loss 0.5000\n");
}

TEST_CASE("A last step on its own does not make the rate") {
  std::ostringstream out;
  Progress progress("FP32", 9, lines_every(4), out);
  run(progress, 8, 1);
  run(progress, 1, 0.01);
  CHECK(out.str().find("9/9  1.00 steps/s") != std::string::npos);
}

TEST_CASE("Progress writes a line every few seconds, and at the end, where there is no terminal") {
  std::ostringstream out;
  Progress progress("FP32", 10, lines_every(4), out);

  run(progress, 10, 1);

  CHECK(out.str() ==
        "FP32  4/10  1.00 steps/s  6.00 s left  loss 0.5000\n"
        "FP32  8/10  1.00 steps/s  2.00 s left  loss 0.5000\n"
        "FP32  10/10  1.00 steps/s  loss 0.5000\n");
}

TEST_CASE("Progress draws over one line on a terminal, wipes out the longer one, ends the last") {
  std::ostringstream out;
  Progress progress("FP32", 2, bar(), out);

  run(progress, 2, 0.5);

  const std::string first =
      "FP32  [##########..........]  1/2  2.00 steps/s  500 ms left  loss 0.5000";
  const std::string last = "FP32  [####################]  2/2  2.00 steps/s  loss 0.5000";
  CHECK(out.str() ==
        "\r" + first + "\r" + last + std::string(first.size() - last.size(), ' ') + "\n");
}

TEST_CASE("Progress shows the loss and the scale only if it is given them") {
  std::ostringstream out;
  Progress progress("AMP", 3, bar(), out);

  progress.advance();
  CHECK(out.str().find("loss") == std::string::npos);
  progress.advance(0.25);
  CHECK(out.str().find("scale") == std::string::npos);
  progress.advance(0.25, 65536);
  CHECK(out.str().find("3/3  loss 0.2500  scale 65536") != std::string::npos);
}

TEST_CASE("Progress follows a rate that changes, half at a time") {
  std::ostringstream out;
  Progress progress("FP32", 100, bar(), out);

  run(progress, 1, 4);
  run(progress, 1, 2);

  CHECK(out.str().find("2/100  0.33 steps/s  4:54 left") != std::string::npos);
}

TEST_CASE("Progress says before a step whether it will be shown") {
  std::ostringstream out;
  Progress progress("FP32", 10, lines_every(4), out);

  CHECK_FALSE(progress.is_due());
  Clock::pass(4);
  CHECK(progress.is_due());
  progress.advance();
  CHECK_FALSE(progress.is_due());
  run(progress, 8, 0.1);
  CHECK(progress.is_due());
}

TEST_CASE("Progress colours the bar only if it is to") {
  std::ostringstream plain;
  std::ostringstream coloured;
  Progress first("FP32", 1, bar(/*colour=*/false), plain);
  Progress second("FP32", 1, bar(/*colour=*/true), coloured);

  first.advance();
  second.advance();

  CHECK(plain.str().find('\033') == std::string::npos);
  CHECK(coloured.str().find("[\033[32m####################\033[0m]") != std::string::npos);
}

#if defined(__unix__) || defined(__APPLE__)
/// What is chosen where standard output is this file.
torchamp::ProgressStyle style_on(int file) {
  std::cout.flush();
  const int before = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  const auto style = torchamp::ProgressStyle::of_stdout();
  dup2(before, STDOUT_FILENO);
  close(before);
  return style;
}

/// A pseudo-terminal of 40 columns.
class Terminal {
 public:
  Terminal() : controller_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(controller_ >= 0);
    REQUIRE(grantpt(controller_) == 0);
    REQUIRE(unlockpt(controller_) == 0);
    file_ = open(ptsname(controller_), O_RDWR | O_NOCTTY);
    REQUIRE(file_ >= 0);
    winsize size{};
    size.ws_col = 40;
    ioctl(file_, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    close(file_);
    close(controller_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int file() const { return file_; }

 private:
  int controller_;
  int file_ = -1;
};

TEST_CASE("On a terminal there is a bar, of known width, and in colour unless NO_COLOR is set") {
  const Terminal terminal;
  setenv("TERM", "xterm", /*overwrite=*/1);
  unsetenv("NO_COLOR");
  const auto coloured = style_on(terminal.file());
  setenv("NO_COLOR", "", 1);
  const auto empty = style_on(terminal.file());
  setenv("NO_COLOR", "1", 1);
  const auto plain = style_on(terminal.file());
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  const auto dumb = style_on(terminal.file());

  CHECK(coloured.bar);
  CHECK(coloured.colour);
  CHECK(coloured.columns == 40);
  CHECK(coloured.every == std::chrono::milliseconds(100));
  CHECK(empty.colour);
  CHECK(plain.bar);
  CHECK_FALSE(plain.colour);
  CHECK_FALSE(dumb.bar);
  CHECK_FALSE(dumb.colour);
}

TEST_CASE("Where there is no terminal there are lines every five seconds, without colour") {
  setenv("TERM", "xterm", /*overwrite=*/1);
  unsetenv("NO_COLOR");
  int ends[2];
  REQUIRE(pipe(ends) == 0);

  const auto style = style_on(ends[1]);
  for (const int end : ends) close(end);

  CHECK_FALSE(style.bar);
  CHECK_FALSE(style.colour);
  CHECK_FALSE(style.columns.has_value());
  CHECK(style.every == std::chrono::seconds(5));
}
#endif

TEST_CASE("A bar that does not fit into the terminal is left out, then the text is cut") {
  std::ostringstream out;
  auto style = bar();
  style.columns = 24;
  Progress progress("h\xc3\xa9", 2, style, out);

  progress.advance(0.5);
  CHECK(out.str() == "\rh\xc3\xa9  1/2  loss 0.5000");
  Clock::pass(1000);
  progress.advance(0.5);

  // 23 columns, so that the cursor stays on the line.
  CHECK(out.str() == "\rh\xc3\xa9  1/2  loss 0.5000\rh\xc3\xa9  2/2  0.00 steps/s  \n");
}

TEST_CASE("The codes of a colour take no columns") {
  std::ostringstream out;
  auto style = bar(/*colour=*/true);
  style.columns = 33;
  Progress progress("FP32", 2, style, out);

  progress.advance();

  // Title 4, bar 22, count 3 and blanks 4 are 33: one too many. With one column more it fits.
  CHECK(out.str() == "\rFP32  1/2");
  style.columns = 34;
  Progress wider("FP32", 2, style, out);
  wider.advance();
  CHECK(out.str().find("\033[32m") != std::string::npos);
}

TEST_CASE("A run that ends early leaves the line of its bar, and nothing else") {
  std::ostringstream bars;
  std::ostringstream lines;
  std::ostringstream finished;
  {
    Progress progress("FP32", 2, bar(), bars);
    progress.advance();
    Progress plain("FP32", 2, lines_every(5), lines);
    plain.advance();
    Progress all("FP32", 1, bar(), finished);
    all.advance();
  }

  CHECK(bars.str() == "\rFP32  [##########..........]  1/2\n");
  CHECK(lines.str().empty());
  CHECK(finished.str() == "\rFP32  [####################]  1/1\n");
}

TEST_CASE("Time left is in seconds, then in minutes and hours") {
  using torchamp::detail::format_time_left;
  CHECK(format_time_left(4.8) == "4.80 s");
  CHECK(format_time_left(99.4) == "99.4 s");
  CHECK(format_time_left(99.6) == "1:40");
  CHECK(format_time_left(294) == "4:54");
  CHECK(format_time_left(3599.4) == "59:59");
  CHECK(format_time_left(3725) == "1:02:05");
  CHECK(format_time_left(360000) == "100:00:00");
}

TEST_CASE("Progress that goes on beyond its steps stays a full bar") {
  std::ostringstream out;
  Progress progress("FP32", 1, bar(), out);

  progress.advance();
  progress.advance();

  CHECK(out.str().find("[####################]  2/1") != std::string::npos);
}

TEST_CASE("Progress refuses fewer than 0 steps and a title of two lines") {
  std::ostringstream out;
  const auto message_of = [&](const std::string& title, int steps) -> std::string {
    try {
      Progress(title, steps, bar(), out);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };

  CHECK(message_of("FP32", -1).rfind("[torchamp.E14] Progress: -1 steps", 0) == 0);
  CHECK(message_of("FP\n32", 1).rfind("[torchamp.E14] Progress: the title", 0) == 0);
  CHECK(out.str().empty());
}
