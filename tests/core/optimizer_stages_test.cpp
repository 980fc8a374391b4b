// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/optimizer_stages.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <memory>
#include <optional>
#include <vector>

using torchamp::FoundInf;
using torchamp::OptimizerStages;
using Stage = OptimizerStages::Stage;

namespace {

FoundInf found(float value) {
  FoundInf result;
  result.on(torch::kCPU).fill_(value);
  return result;
}

torch::optim::SGD optimizer_of(std::vector<torch::Tensor> parameters) {
  return torch::optim::SGD(std::move(parameters), /*lr=*/1.0);
}
torch::optim::SGD some_optimizer() { return optimizer_of({torch::ones({1})}); }

/// Stands for the address of an optimizer that nothing is known of.
const int other = 0;

torch::Tensor gradient() { return torch::ones({1}); }

}  // namespace

TEST_CASE("An optimizer is unknown until it is added and after the iteration ends") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  CHECK(stages.empty());
  CHECK(stages.find(optimizer) == nullptr);

  auto& entry = stages.add(optimizer, {gradient()}, found(0));
  CHECK(stages.find(optimizer) == &entry);
  CHECK(entry.stage == Stage::Unscaled);
  CHECK(entry.has_gradients);

  stages.clear();
  CHECK(stages.empty());
  CHECK(stages.find(optimizer) == nullptr);
}

TEST_CASE("An optimizer is known again through a reference to its base") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  torch::optim::Optimizer& base = optimizer;

  auto& entry = stages.add(optimizer, {}, {});

  CHECK(stages.find(base) == &entry);
}

TEST_CASE("An optimizer over other parameters at the same address is a new one") {
  OptimizerStages stages;
  std::optional<torch::optim::SGD> optimizer = some_optimizer();
  stages.add(*optimizer, {}, {}).stage = Stage::Stepped;
  const auto* const address = &*optimizer;

  optimizer.emplace(std::vector<torch::Tensor>{torch::ones({1})}, /*lr=*/1.0);

  REQUIRE(&*optimizer == address);
  CHECK(stages.find(*optimizer) == nullptr);
}

TEST_CASE("Parameters that were freed are not taken for new ones at their address") {
  OptimizerStages stages;
  std::optional<torch::optim::SGD> optimizer = some_optimizer();
  stages.add(*optimizer, {}, {});

  for (int i = 0; i < 100; ++i) {
    optimizer.emplace(std::vector<torch::Tensor>{torch::ones({1})}, /*lr=*/1.0);
    CHECK(stages.find(*optimizer) == nullptr);
  }
}

TEST_CASE(
    "An optimizer that was given more parameters is known as long as they have no gradients") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  const auto known = gradient();
  auto& entry = stages.add(optimizer, {known}, {});
  auto added = torch::ones({1}).requires_grad_();

  optimizer.add_param_group(torch::optim::OptimizerParamGroup({added}));
  CHECK(stages.find(optimizer) == &entry);

  added.mutable_grad() = gradient();
  CHECK(stages.find(optimizer) == nullptr);
  CHECK_ERROR(E11, stages.check_not_unscaled({known}, &optimizer, "step()"));
  CHECK_ERROR_SAYS("the parameters of this optimizer have changed",
                   stages.check_not_unscaled({known}, &optimizer, "step()"));
}

TEST_CASE(
    "A range with gradients that an optimizer has unscaled is refused with a cure of its own") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  const auto known = gradient();
  stages.add(optimizer, {known}, {});

  CHECK_ERROR(E11, stages.check_not_unscaled({known}, nullptr, "unscale_()"));
  CHECK_ERROR_SAYS("leave out this call",
                   stages.check_not_unscaled({known}, nullptr, "unscale_()"));
}

TEST_CASE("An entry keeps its address while others are added") {
  OptimizerStages stages;
  std::vector<torch::optim::SGD> optimizers;
  for (int i = 0; i < 50; ++i) optimizers.push_back(some_optimizer());
  auto& first = stages.add(optimizers[0], {}, {});

  for (auto& optimizer : optimizers) stages.add(optimizer, {}, {});

  CHECK(stages.find(optimizers[0]) == &first);
}

TEST_CASE("The iteration overflowed if any optimizer or range did") {
  OptimizerStages stages;
  auto a = some_optimizer(), b = some_optimizer();
  stages.add(a, {gradient()}, found(0));
  CHECK(stages.found_inf(torch::kCPU).item<float>() == 0);

  stages.add_range({gradient()}, found(1));
  stages.add(b, {gradient()}, found(0));

  CHECK(stages.found_inf(torch::kCPU).item<float>() == 1);
}

TEST_CASE("Optimizers without gradients find nothing") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  stages.add(optimizer, {}, {});

  CHECK_FALSE(stages.empty());
  CHECK_FALSE(stages.found_inf(torch::kCPU).defined());
}

TEST_CASE("A gradient that was unscaled is refused until the iteration ends") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  const auto through_optimizer = gradient(), in_range = gradient();
  stages.add(optimizer, {through_optimizer}, found(0));
  stages.add_range({in_range}, found(0));

  CHECK_ERROR(E11, stages.check_not_unscaled({gradient(), through_optimizer}, &other, "step()"));
  CHECK_ERROR_SAYS("step(): gradient 1",
                   stages.check_not_unscaled({gradient(), through_optimizer}, &other, "step()"));
  CHECK_ERROR(E03, stages.check_not_unscaled({in_range}, &other, "unscale_()"));

  stages.clear();
  CHECK_NOTHROW(stages.check_not_unscaled({through_optimizer, in_range}, &other, "step()"));
}

TEST_CASE("The ranges of an optimizer's gradients are found if they have all of them") {
  OptimizerStages stages;
  const auto a = gradient(), b = gradient(), c = gradient();
  CHECK(stages.ranges_of({a, b, c}, &other, "step()").empty());
  auto& first = stages.add_range({a, b}, found(0));
  auto& second = stages.add_range({c}, found(1));

  CHECK(stages.ranges_of({b, a}, &other, "step()") == std::vector{&first});
  CHECK(stages.ranges_of({a, c}, &other, "step()") == std::vector{&first, &second});
  CHECK(stages.ranges_of({gradient()}, &other, "step()").empty());
  CHECK_ERROR(E11, stages.ranges_of({a, gradient()}, &other, "step()"));
}

TEST_CASE("Gradients unscaled through another optimizer are no range's") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  const auto shared = gradient(), in_range = gradient();
  stages.add(optimizer, {shared}, found(0));
  stages.add_range({in_range}, found(0));

  CHECK_ERROR(E11, stages.ranges_of({shared}, &other, "step()"));
  CHECK_ERROR(E11, stages.ranges_of({shared, in_range}, &other, "step()"));
}

TEST_CASE("An optimizer takes over what its ranges found") {
  OptimizerStages stages;
  auto a = some_optimizer(), b = some_optimizer();
  auto& good = stages.add_range({gradient()}, found(0));
  auto& bad = stages.add_range({gradient()}, found(1));

  auto& from_good = stages.add_unscaled(a, {&good});
  auto& from_both = stages.add_unscaled(b, {&good, &bad});

  CHECK(from_good.has_gradients);
  CHECK(from_good.found_inf.combined(torch::kCPU).item<float>() == 0);
  CHECK(from_both.found_inf.combined(torch::kCPU).item<float>() == 1);
}

TEST_CASE("The order of calls is checked per optimizer") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  auto& entry = stages.add(optimizer, {gradient()}, found(0));

  CHECK_ERROR(E03, stages.check_may_unscale(&entry));
  CHECK_NOTHROW(stages.check_may_step(&entry));
  CHECK_NOTHROW(stages.check_may_unscale(nullptr));

  entry.stage = Stage::Stepped;
  CHECK_ERROR(E03, stages.check_may_unscale(&entry));
  CHECK_ERROR(E04, stages.check_may_step(&entry));
  CHECK_NOTHROW(stages.check_may_step(nullptr));
}

TEST_CASE("The host knows that nothing overflowed once every outcome was read") {
  OptimizerStages stages;
  auto a = some_optimizer(), b = some_optimizer();
  auto& first = stages.add(a, {gradient()}, found(0));
  CHECK_FALSE(stages.overflowed().has_value());

  stages.note_read(first, false);
  stages.add(b, {}, {});  // without gradients: nothing to read
  CHECK(stages.overflowed() == false);

  stages.add_range({gradient()}, found(0));
  CHECK_FALSE(stages.overflowed().has_value());
}

TEST_CASE("One overflow is enough for the host to know") {
  OptimizerStages stages;
  auto a = some_optimizer();
  stages.add_range({gradient()}, found(0));
  auto& bad = stages.add(a, {gradient()}, found(1));

  stages.note_read(bad, true);

  CHECK(stages.overflowed() == true);
}

TEST_CASE("What an optimizer's gradients were found to be is known of its ranges too") {
  OptimizerStages stages;
  auto optimizer = some_optimizer();
  auto& range = stages.add_range({gradient()}, found(0));
  auto& entry = stages.add_unscaled(optimizer, {&range});

  stages.note_read(entry, false);

  CHECK(stages.overflowed() == false);
}

TEST_CASE("A gradient of which a part was unscaled in a range is refused, and the reverse") {
  const auto whole = torch::ones({6}), part = whole.slice(0, 1, 3), apart = torch::ones({6});
  OptimizerStages by_parts, by_whole;
  auto optimizer = some_optimizer();
  by_parts.add_range({part}, found(0));
  by_whole.add(optimizer, {whole}, found(0));

  CHECK_ERROR(E11, by_parts.ranges_of({apart, whole}, &other, "step()"));
  CHECK_ERROR_SAYS("FlatParameters", by_parts.ranges_of({whole}, &other, "step()"));
  CHECK_ERROR(E11, by_whole.check_not_unscaled({whole.slice(0, 5, 6)}, nullptr, "unscale_()"));
  CHECK_NOTHROW(by_parts.ranges_of({apart}, &other, "step()"));
  const auto sparse = torch::eye(2).to_sparse();
  by_parts.add_range({sparse}, found(0));
  CHECK_NOTHROW(by_parts.ranges_of({apart}, &other, "step()"));
  CHECK_NOTHROW(by_parts.ranges_of({torch::eye(3).to_sparse()}, &other, "step()"));
  CHECK_NOTHROW(by_parts.ranges_of({whole.slice(0, 0, 1)}, &other, "step()"));
  CHECK_NOTHROW(by_parts.ranges_of({whole.slice(0, 3, 6)}, &other, "step()"));
}
