// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/skip_alarm.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <optional>
#include <string>
#include <vector>

using torchamp::GradScalerOptions;
using torchamp::ManySkips;
using torchamp::SkipAlarm;

namespace {

/// Collects LibTorch's warnings while it lives.
class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }

  std::vector<std::string> texts;

 private:
  c10::WarningUtils::WarningHandlerGuard guard_{this};
};

void skip(SkipAlarm& alarm, const GradScalerOptions& options, int times) {
  for (int i = 0; i < times; ++i) alarm.note(true, options);
}

}  // namespace

TEST_CASE("Twenty-five skips in a row are warned of once, with likely causes") {
  Warnings warnings;
  SkipAlarm alarm;

  skip(alarm, GradScalerOptions(), 24);
  CHECK(warnings.texts.empty());
  skip(alarm, GradScalerOptions(), 26);

  REQUIRE(warnings.texts.size() == 1);
  CHECK(warnings.texts[0].find("25 iterations in a row skipped a step") != std::string::npos);
  CHECK(warnings.texts[0].find("learning rate") != std::string::npos);
}

TEST_CASE("A step that is taken starts the count again, and a second run of skips is said again") {
  Warnings warnings;
  SkipAlarm alarm;
  const auto options = GradScalerOptions().many_skips(2);

  skip(alarm, options, 1);
  alarm.note(false, options);
  skip(alarm, options, 1);
  CHECK(warnings.texts.empty());
  skip(alarm, options, 1);
  alarm.note(false, options);
  skip(alarm, options, 2);

  CHECK(warnings.texts.size() == 2);
}

TEST_CASE("Zero means never") {
  Warnings warnings;
  SkipAlarm alarm;

  skip(alarm, GradScalerOptions().many_skips(0), 100);

  CHECK(warnings.texts.empty());
}

TEST_CASE("Many skips throw if asked to, and the count goes on") {
  SkipAlarm alarm;
  const auto options = GradScalerOptions().many_skips(2).on_many_skips(ManySkips::Throw);
  skip(alarm, options, 1);

  CHECK_ERROR(E16, alarm.note(true, options));

  CHECK(alarm.skips_in_a_row() == 2);
  CHECK_NOTHROW(alarm.note(true, options));
}

TEST_CASE("Many skips call back if asked to, with their number") {
  SkipAlarm alarm;
  std::vector<int64_t> calls;
  const auto options = GradScalerOptions()
                           .many_skips(3)
                           .on_many_skips(ManySkips::Call)
                           .many_skips_callback([&](int64_t skips) { calls.push_back(skips); });

  skip(alarm, options, 5);

  CHECK(calls == std::vector<int64_t>{3});
}

TEST_CASE("A run without gradients is said once too, until there are gradients") {
  Warnings warnings;
  SkipAlarm alarm;
  const auto options = GradScalerOptions().many_skips(2);
  const auto idle = [&](int times) {
    for (int i = 0; i < times; ++i) alarm.note_no_gradients(options);
  };

  idle(1);
  alarm.note(std::nullopt, options);  // gradients, whose outcome the host does not know
  idle(1);
  CHECK(warnings.texts.empty());
  idle(5);

  REQUIRE(warnings.texts.size() == 1);
  CHECK(warnings.texts[0].find("2 iterations in a row had no gradients") != std::string::npos);
  CHECK(warnings.texts[0].find("zero_grad() between") != std::string::npos);
}

TEST_CASE("A step whose outcome the host does not know neither counts as a skip nor forgives any") {
  Warnings warnings;
  SkipAlarm alarm;
  const auto options = GradScalerOptions().many_skips(2);

  skip(alarm, options, 1);
  alarm.note(std::nullopt, options);
  CHECK(alarm.skips_in_a_row() == 1);
  skip(alarm, options, 1);

  CHECK(warnings.texts.size() == 1);
}
