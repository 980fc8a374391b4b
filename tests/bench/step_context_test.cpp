// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/step_context.h>
#include <torchamp/core/grad_scaler.h>

#include "support/doctest.h"

#include <string>
#include <type_traits>

using torchamp::StepContext;

static_assert(!std::is_copy_constructible_v<StepContext>);
static_assert(!std::is_move_constructible_v<StepContext::Phase>);

namespace {

/// Writes down what it is told.
class Listener : public StepContext {
 public:
  std::string heard;

 private:
  void begin_phase(const char* name) override { heard += std::string(name) + "("; }
  void end_phase() noexcept override { heard += ")"; }
};

}  // namespace

TEST_CASE("A phase lasts as long as its scope, and phases nest") {
  Listener context;
  {
    const auto forward = context.phase("forward");
    { const auto head = context.phase("head"); }
  }
  const int answer = context.phase("step", [] { return 42; });

  CHECK(context.heard == "forward(head())step()");
  CHECK(answer == 42);
}

TEST_CASE("A phase that is left by an exception has ended") {
  Listener context;

  CHECK_THROWS(context.phase("forward", [] { throw 1; }));

  CHECK(context.heard == "forward()");
}

TEST_CASE("A plain context lets a step run and measures nothing") {
  StepContext context;

  CHECK(context.phase("forward", [] { return 1; }) == 1);
  CHECK(context.phase("a/b", [] { return 2; }) == 2);
  CHECK_FALSE(context.scale());
}

TEST_CASE("A watched scaler is read when asked, not when watched") {
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(1024));
  auto loss = torch::ones({}, torch::requires_grad());
  StepContext context;

  context.watch(scaler);
  (void)scaler.scale(loss);
  scaler.update(512.0);

  REQUIRE(context.scale());
  CHECK(context.scale()->scale == 512);
  CHECK(context.scale()->skipped_steps == 0);
}

TEST_CASE("A disabled scaler has no scale") {
  const torchamp::GradScaler scaler(torchamp::GradScalerOptions().enabled(false));
  StepContext context;

  context.watch(scaler);

  CHECK_FALSE(context.scale());
}
