// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <torch/csrc/jit/frontend/tracer.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

using torchamp::AutocastGuard;
using torchamp::AutocastOptions;
using torchamp::FullPrecisionGuard;

namespace {

const auto cpu = torch::kCPU;

torch::Dtype dtype_of_a_product() {
  const auto matrix = torch::ones({2, 2});
  return torch::mm(matrix, matrix).scalar_type();
}

/// All that a region may change, to compare before and after.
struct State {
  bool enabled = at::autocast::is_autocast_enabled(cpu);
  at::ScalarType dtype = at::autocast::get_autocast_dtype(cpu);
  bool cache = at::autocast::is_autocast_cache_enabled();

  bool operator==(const State& other) const {
    return enabled == other.enabled && dtype == other.dtype && cache == other.cache;
  }
};

}  // namespace

static_assert(!std::is_copy_constructible_v<AutocastGuard>);
static_assert(!std::is_move_constructible_v<AutocastGuard>);
static_assert(!std::is_move_constructible_v<FullPrecisionGuard>);
static_assert(std::is_nothrow_destructible_v<AutocastGuard>);

TEST_CASE("Products are bfloat16 inside a region on the CPU and float32 before and after") {
  CHECK(dtype_of_a_product() == torch::kFloat);
  {
    AutocastGuard autocast(cpu);
    CHECK(dtype_of_a_product() == torch::kBFloat16);
  }
  CHECK(dtype_of_a_product() == torch::kFloat);
}

TEST_CASE("A dtype can be given alone, and a device with an index will do") {
  AutocastGuard autocast(torch::Device(torch::kCPU), torch::kHalf);

  CHECK(dtype_of_a_product() == torch::kHalf);
}

TEST_CASE("Leaving a region restores enabled, dtype and cache flag") {
  const State before;
  {
    AutocastGuard autocast(cpu, AutocastOptions(torch::kHalf).cache_enabled(false));
    CHECK_FALSE(State() == before);
  }
  CHECK(State() == before);
}

TEST_CASE("Leaving a region by an exception restores what was there") {
  const State before;

  try {
    AutocastGuard autocast(cpu, torch::kHalf);
    throw std::runtime_error("passes through");
  } catch (const std::runtime_error&) {
  }

  CHECK(State() == before);
}

TEST_CASE("A disabled region inside an enabled one casts nothing, and the outer one goes on") {
  AutocastGuard outer(cpu);
  {
    AutocastGuard inner(cpu, AutocastOptions().enabled(false));
    CHECK(dtype_of_a_product() == torch::kFloat);
  }
  {
    FullPrecisionGuard full(cpu);
    CHECK(dtype_of_a_product() == torch::kFloat);
  }
  CHECK(dtype_of_a_product() == torch::kBFloat16);
}

TEST_CASE("A nested region without a dtype takes the outer one's") {
  AutocastGuard outer(cpu, torch::kHalf);
  AutocastGuard inner(cpu);

  CHECK(dtype_of_a_product() == torch::kHalf);
}

TEST_CASE(
    "A nested region of another dtype works on the same weights, and so does the outer after") {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  AutocastGuard outer(cpu, torch::kBFloat16);
  CHECK(torch::mm(input, weight).scalar_type() == torch::kBFloat16);
  {
    AutocastGuard inner(cpu, torch::kHalf);
    CHECK(torch::mm(input, weight).scalar_type() == torch::kHalf);
  }
  CHECK(torch::mm(input, weight).scalar_type() == torch::kBFloat16);
}

TEST_CASE("A weight changed between two regions is seen by the second") {
  auto weight = torch::ones({1, 1}, torch::requires_grad());
  const auto input = torch::ones({1, 1});
  const auto product = [&] {
    AutocastGuard autocast(cpu);
    return torch::mm(input, weight).item<float>();
  };
  CHECK(product() == 1);

  torch::NoGradGuard no_grad;
  weight.fill_(3);

  CHECK(product() == 3);
}

TEST_CASE("A region starts without casts that code without a guard left behind") {
  auto weight = torch::ones({1, 1}, torch::requires_grad());
  const auto input = torch::ones({1, 1});
  at::autocast::set_autocast_enabled(cpu, true);
  CHECK(torch::mm(input, weight).item<float>() == 1);
  at::autocast::set_autocast_enabled(cpu, false);
  weight.data().fill_(3);

  AutocastGuard autocast(cpu);

  CHECK(torch::mm(input, weight).item<float>() == 3);
}

TEST_CASE("drop_casts() shows a region the weights that changed inside it, and keeps the graph") {
  auto weight = torch::ones({1, 1}, torch::requires_grad());
  const auto input = torch::ones({1, 1});
  torch::Tensor before, after;
  {
    AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));
    before = torch::mm(input, weight);
    weight.data().fill_(3);
    AutocastGuard::drop_casts();
    after = torch::mm(input, weight);
  }
  CHECK(after.item<float>() == 3);

  (before + after).sum().backward();

  CHECK(weight.grad().item<float>() == 2);
}

TEST_CASE(
    "A forward pass without gradients does not cost a later one in its region its gradients") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  AutocastGuard autocast(cpu);
  SUBCASE("in a no-grad region of its own") {
    torch::NoGradGuard no_grad;
    AutocastGuard inner(cpu);
    torch::mm(input, weight);
  }
  SUBCASE("with gradients switched off inside the region") {
    torch::NoGradGuard no_grad;
    torch::mm(input, weight);
  }
  SUBCASE("in inference mode") {
    c10::InferenceMode inference;
    torch::mm(input, weight);
  }
  SUBCASE("in a disabled region that holds an enabled one") {
    torch::NoGradGuard no_grad;
    FullPrecisionGuard full(cpu);
    AutocastGuard inner(cpu);
    torch::mm(input, weight);
  }

  const auto output = torch::mm(input, weight);

  REQUIRE(output.requires_grad());
  output.sum().backward();
  CHECK(weight.grad().equal(torch::full({2, 2}, 2.0)));
}

TEST_CASE("A region entered without gradients serves a pass with gradients inside it") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  torch::NoGradGuard no_grad;
  AutocastGuard autocast(cpu);
  torch::mm(weight, weight);

  c10::AutoGradMode with_gradients(true);

  CHECK(torch::mm(weight, weight).requires_grad());
}

TEST_CASE("A weight used twice is cast once where the cache is sound or asked for, else twice") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2}, torch::kBFloat16);
  const auto casts_of = [&](const AutocastOptions& options) {
    CastCounter casts;
    AutocastGuard outer(cpu, options);
    AutocastGuard inner(cpu);  // does as the outer one does
    torch::mm(input, weight);
    torch::mm(input, weight);
    return casts.more();
  };

  CHECK(casts_of({}) == (torchamp::detail::autocast_cache_loses_history ? 2 : 1));
  CHECK(casts_of(AutocastOptions().cache_enabled(true)) == 1);
  CHECK(casts_of(AutocastOptions().cache_enabled(false)) == 2);
}

TEST_CASE("A region can have the cache inside one that has not, and the reverse") {
  AutocastGuard outer(cpu, AutocastOptions().cache_enabled(false));
  CHECK_FALSE(at::autocast::is_autocast_cache_enabled());
  {
    AutocastGuard inner(cpu, AutocastOptions().cache_enabled(true));
    CHECK(at::autocast::is_autocast_cache_enabled());
    AutocastGuard innermost(cpu, AutocastOptions().cache_enabled(false));
    CHECK_FALSE(at::autocast::is_autocast_cache_enabled());
  }
  CHECK_FALSE(at::autocast::is_autocast_cache_enabled());
}

TEST_CASE("Regions count themselves in and out, so that the last one out drops the casts") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  {
    AutocastGuard outer(cpu, AutocastOptions().cache_enabled(true));
    AutocastGuard inner(cpu);
    torch::mm(weight, weight);
  }
  CHECK(at::autocast::increment_nesting() == 1);
  CHECK(at::autocast::decrement_nesting() == 0);

  at::autocast::set_autocast_enabled(cpu, true);  // no region, so nothing clears the cache on entry
  CastCounter casts;
  torch::mm(weight, weight);
  at::autocast::set_autocast_enabled(cpu, false);
  at::autocast::clear_cache();

  CHECK(casts.more() == 1);
}

TEST_CASE("A region of another device leaves the CPU alone and is left as it was found") {
  const auto cuda_dtype = at::autocast::get_autocast_dtype(torch::kCUDA);
  {
    AutocastGuard autocast(torch::kCUDA, torch::kBFloat16);
    CHECK(at::autocast::is_autocast_enabled(torch::kCUDA));
    CHECK(dtype_of_a_product() == torch::kFloat);
  }
  CHECK_FALSE(at::autocast::is_autocast_enabled(torch::kCUDA));
  CHECK(at::autocast::get_autocast_dtype(torch::kCUDA) == cuda_dtype);
}

TEST_CASE("Tracing inside a region whose weights are cast already traces the casts, no constants") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  torch::jit::Module module("traced");
  module.register_parameter("weight", weight, /*is_buffer=*/false);
  const auto input = torch::ones({2, 2});
  const auto trace = [&](const auto& function) {
    return torch::jit::tracer::trace(
        {input}, function, [](const auto&) { return std::string(); }, true, false, &module);
  };
  const auto forward = [&](torch::jit::Stack stack) {
    return torch::jit::Stack{torch::mm(stack[0].toTensor(), weight)};
  };
  std::shared_ptr<torch::jit::Graph> graph;
  SUBCASE("when the traced function opens a region") {
    AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));
    torch::mm(input, weight);
    graph = trace([&](torch::jit::Stack stack) {
              AutocastGuard inner(cpu, AutocastOptions().cache_enabled(true));
              return forward(std::move(stack));
            }).first->graph;
  }
  SUBCASE("when the region has no cache") {
    AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(false));
    torch::mm(input, weight);
    graph = trace(forward).first->graph;
  }

  const auto text = graph->toString(false);
  CHECK(text.find("GetAttr[name=\"weight\"]") != std::string::npos);
  CHECK(text.find("Constant[value=<Tensor>]") == std::string::npos);
}

TEST_CASE("autocast() runs a function in a region and returns what it returns") {
  CHECK(torchamp::autocast(cpu, dtype_of_a_product) == torch::kBFloat16);
  CHECK(torchamp::autocast(cpu, torch::kHalf, dtype_of_a_product) == torch::kHalf);
  CHECK(dtype_of_a_product() == torch::kFloat);

  int value = 0;
  int& reference = torchamp::autocast(cpu, [&]() -> int& { return value; });
  CHECK(&reference == &value);
}

TEST_CASE("Another thread starts without autocast") {
  AutocastGuard autocast(cpu);
  torch::Dtype seen = torch::kBFloat16;

  std::thread([&] { seen = dtype_of_a_product(); }).join();

  CHECK(seen == torch::kFloat);
}

TEST_CASE("Two threads share weights, each in a region of another dtype without the cache") {
  auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  const auto without_cache = [](torch::Dtype dtype) {
    return AutocastOptions(dtype).cache_enabled(false);
  };
  std::atomic<int> turn{0};
  torch::Dtype seen = torch::kFloat;
  std::thread other([&] {
    AutocastGuard autocast(cpu, without_cache(torch::kHalf));
    turn = 1;
    while (turn != 2) std::this_thread::yield();
    seen = torch::mm(input, weight).scalar_type();
  });
  while (turn != 1) std::this_thread::yield();

  AutocastGuard autocast(cpu, without_cache(torch::kBFloat16));
  const auto product = torch::mm(input, weight);
  turn = 2;
  other.join();

  CHECK(product.scalar_type() == torch::kBFloat16);
  CHECK(seen == torch::kHalf);
}

TEST_CASE("Another thread leaving its last region does no harm to a graph that is being built") {
  auto weight = torch::full({1, 1}, 3.0, torch::requires_grad());
  torch::Tensor output;
  {
    AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));
    const auto once = torch::mm(weight, weight);
    std::thread([] { AutocastGuard elsewhere(cpu); }).join();
    output = torch::mm(once, weight);  // w * w * w
  }

  output.sum().backward();

  CHECK(output.item<float>() == 27);
  CHECK(weight.grad().item<float>() == 27);  // 3 * w * w
}

TEST_CASE("A dtype that is not half precision is refused and nothing has changed") {
  const State before;

  CHECK_ERROR(E02, AutocastGuard(cpu, torch::kFloat));
  CHECK_ERROR(E02, AutocastGuard(cpu, torch::kInt));
  CHECK_ERROR_SAYS("Half or BFloat16", AutocastGuard(cpu, torch::kFloat));
  CHECK_ERROR_SAYS("enabled(false)", AutocastGuard(cpu, torch::kFloat));

  CHECK(State() == before);
}

TEST_CASE("A disabled region takes any dtype, since it casts nothing") {
  AutocastGuard autocast(cpu, AutocastOptions(torch::kFloat).enabled(false));

  CHECK(dtype_of_a_product() == torch::kFloat);
}

TEST_CASE("A device without autocast is refused by name, with the names of those that have it") {
  CHECK_ERROR(E01, AutocastGuard(torch::kMeta));
  CHECK_ERROR_SAYS("meta has no autocast", AutocastGuard(torch::kMeta));
  CHECK_ERROR_SAYS("these have: cpu, cuda, ", AutocastGuard(torch::kMeta));
}

TEST_CASE("A region for a device that is not there is warned of") {
  if (torch::cuda::is_available()) return;
  struct : c10::WarningHandler {
    std::vector<std::string> texts;
    void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }
  } warnings;
  {
    const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    const c10::WarningUtils::WarnAlways always;
    const torchamp::AutocastGuard autocast(torch::kCUDA);
    const torchamp::AutocastGuard disabled(torch::kCUDA,
                                           torchamp::AutocastOptions().enabled(false));
    const torchamp::AutocastGuard cpu(torch::kCPU);
  }

  REQUIRE(warnings.texts.size() == 1);
  CHECK(warnings.texts[0].find("there is no cuda device") != std::string::npos);
}
