// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/moving_scale.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <string>

using torchamp::DynamicLossScale;
using torchamp::GradScalerOptions;

namespace {

/// A scale that can be moved without optimizers.
struct Scale : torchamp::MovingScale<DynamicLossScale> {
  explicit Scale(const GradScalerOptions& options) : MovingScale(options) {}
  void create() { tensors_.create(torch::kCPU, policy_.initial()); }
  void good_step() { tensors_.move_(policy_, torch::zeros({}), false); }
  using MovingScale::check_scaled;
  using MovingScale::set_scale;
};

GradScalerOptions small_numbers() { return GradScalerOptions().init_scale(4).growth_interval(3); }

}  // namespace

TEST_CASE("Before the first loss the scale is known and stands on no device") {
  const Scale scale(small_numbers());

  CHECK(scale.get_scale() == 4);
  CHECK(scale.growth_tracker() == 0);
  CHECK_FALSE(scale.scale_tensor().defined());
  CHECK_ERROR(E05, scale.check_scaled("step()"));
}

TEST_CASE("Before the first loss the scale is the number that was given, to the last digit") {
  Scale scale(small_numbers().init_scale(1000.3));

  CHECK(scale.get_scale() == 1000.3);
  CHECK(scale.state_dict().scale == 1000.3);

  auto state = scale.state_dict();
  state.scale = 2000.3;
  scale.load_state_dict(state);
  CHECK(scale.get_scale() == 2000.3);

  scale.create();  // a float32 from here on
  CHECK(scale.get_scale() == 2000.3F);
}

TEST_CASE("On a device the scale is read when asked for") {
  Scale scale(small_numbers());
  scale.create();

  scale.good_step();
  scale.set_scale(16);

  CHECK_NOTHROW(scale.check_scaled("step()"));
  CHECK(scale.get_scale() == 16);
  CHECK(scale.growth_tracker() == 1);
  CHECK(scale.scale_tensor().item<float>() == 16);
}

TEST_CASE("A disabled scale is 1") {
  const Scale scale(small_numbers().enabled(false));

  CHECK(scale.get_scale() == 1);
  CHECK(scale.growth_tracker() == 0);
}

TEST_CASE("Setters take effect at the next step and refuse nonsense") {
  Scale scale(small_numbers());
  scale.create();
  scale.good_step();

  CHECK_ERROR(E08, scale.set_growth_interval(0));
  CHECK_ERROR(E08, scale.set_growth_factor(1));
  CHECK_ERROR(E08, scale.set_backoff_factor(1));
  CHECK(scale.get_growth_interval() == 3);

  scale.set_growth_interval(1);
  scale.set_growth_factor(8);
  scale.good_step();
  CHECK(scale.get_scale() == 32);
}
