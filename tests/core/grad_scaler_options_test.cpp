// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/grad_scaler_options.h>

#include "support/doctest.h"

TEST_CASE("The options that torch.amp has start with torch.amp's values") {
  const torchamp::GradScalerOptions options;

  CHECK(options.init_scale() == 65536);
  CHECK(options.growth_factor() == 2);
  CHECK(options.backoff_factor() == 0.5);
  CHECK(options.growth_interval() == 2000);
  CHECK(options.enabled());
}

TEST_CASE("By default the scale backs off at the first overflow and may fall far") {
  const torchamp::GradScalerOptions options;

  CHECK(options.hysteresis() == 1);
  CHECK_FALSE(options.consecutive_hysteresis());
  CHECK(options.min_scale() * 16777216 == 1);
  CHECK(options.max_scale() == std::numeric_limits<float>::max());
}

TEST_CASE("Setters chain") {
  const auto options =
      torchamp::GradScalerOptions().init_scale(4).growth_interval(2).enabled(false);

  CHECK(options.init_scale() == 4);
  CHECK(options.growth_interval() == 2);
  CHECK_FALSE(options.enabled());
}
