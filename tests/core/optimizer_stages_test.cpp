// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/optimizer_stages.h>

#include "support/doctest.h"
#include "support/errors.h"

using torchamp::FoundInf;
using torchamp::OptimizerStages;

namespace {

FoundInf found(float value) {
  FoundInf result;
  result.on(torch::kCPU).fill_(value);
  return result;
}

}  // namespace

TEST_CASE("An optimizer is unknown until it is added and after the iteration ends") {
  OptimizerStages stages;
  const int optimizer = 0;
  CHECK(stages.empty());
  CHECK(stages.find(&optimizer) == nullptr);

  auto& entry = stages.add(&optimizer, {torch::ones({1})}, found(0));
  CHECK(stages.find(&optimizer) == &entry);
  CHECK(entry.stage == OptimizerStages::Stage::Unscaled);
  CHECK(entry.has_gradients);

  stages.clear();
  CHECK(stages.empty());
  CHECK(stages.find(&optimizer) == nullptr);
}

TEST_CASE("An entry keeps its address while others are added") {
  OptimizerStages stages;
  const int optimizers[50] = {};
  auto& first = stages.add(&optimizers[0], {}, {});

  for (const auto& optimizer : optimizers) stages.add(&optimizer, {}, {});

  CHECK(stages.find(&optimizers[0]) == &first);
}

TEST_CASE("The iteration overflowed if any optimizer did") {
  OptimizerStages stages;
  const int a = 0, b = 0, c = 0;
  stages.add(&a, {torch::ones({1})}, found(0));
  CHECK(stages.found_inf(torch::kCPU).item<float>() == 0);

  stages.add(&b, {torch::ones({1})}, found(1));
  stages.add(&c, {torch::ones({1})}, found(0));

  CHECK(stages.found_inf(torch::kCPU).item<float>() == 1);
}

TEST_CASE("Optimizers without gradients find nothing") {
  OptimizerStages stages;
  const int optimizer = 0;
  stages.add(&optimizer, {}, {});

  CHECK_FALSE(stages.empty());
  CHECK_FALSE(stages.found_inf(torch::kCPU).defined());
}

TEST_CASE("A gradient that was unscaled is refused until the iteration ends") {
  OptimizerStages stages;
  const int optimizer = 0;
  const auto gradient = torch::ones({1});
  stages.add(&optimizer, {gradient}, found(0));

  CHECK_ERROR(E11, stages.check_not_unscaled({torch::ones({1}), gradient}, "step()"));
  CHECK_ERROR_SAYS("step(): gradient 1",
                   stages.check_not_unscaled({torch::ones({1}), gradient}, "step()"));

  stages.clear();
  CHECK_NOTHROW(stages.check_not_unscaled({gradient}, "step()"));
}

TEST_CASE("A new gradient at a freed one's address is not taken for it") {
  OptimizerStages stages;
  const int optimizer = 0;
  auto gradient = torch::ones({1});
  const auto* const address = gradient.unsafeGetTensorImpl();
  stages.add(&optimizer, {gradient}, found(0));

  gradient = torch::Tensor();
  // The weak reference keeps the address from being given out, so no new tensor can stand there.
  for (int i = 0; i < 100; ++i) {
    const auto fresh = torch::ones({1});
    CHECK(fresh.unsafeGetTensorImpl() != address);
    CHECK_NOTHROW(stages.check_not_unscaled({fresh}, "step()"));
  }
}

TEST_CASE("The order of calls is checked per optimizer") {
  OptimizerStages stages;
  const int optimizer = 0, other = 0;
  auto& entry = stages.add(&optimizer, {torch::ones({1})}, found(0));

  CHECK_ERROR(E03, stages.check_may_unscale(&optimizer));
  CHECK_NOTHROW(stages.check_may_step(&optimizer));
  CHECK_NOTHROW(stages.check_may_unscale(&other));

  entry.stage = OptimizerStages::Stage::Stepped;
  CHECK_ERROR(E03, stages.check_may_unscale(&optimizer));
  CHECK_ERROR(E04, stages.check_may_step(&optimizer));
  CHECK_NOTHROW(stages.check_may_step(&other));
}

TEST_CASE("The host knows of an overflow only once every optimizer's outcome was read") {
  OptimizerStages stages;
  const int a = 0, b = 0, c = 0;
  auto& first = stages.add(&a, {torch::ones({1})}, found(0));
  CHECK_FALSE(stages.overflowed().has_value());

  first.overflowed = false;
  stages.add(&b, {}, {});  // without gradients: nothing to read
  CHECK(stages.overflowed() == false);

  stages.add(&c, {torch::ones({1})}, found(1)).overflowed = true;
  CHECK(stages.overflowed() == true);
}
