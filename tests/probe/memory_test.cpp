// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/probe/memory.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/fake_device.h"
#include "support/profilers.h"

#include <torch/csrc/autograd/profiler_legacy.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;
using torchamp::MemoryProbe;
using torchamp::MemoryProbeOptions;

static_assert(!std::is_copy_constructible_v<MemoryProbe>);
static_assert(!std::is_move_constructible_v<MemoryProbe>);

namespace {

constexpr int64_t kilobyte = 1024;

/// A tensor of exactly one kilobyte.
torch::Tensor one_kilobyte() { return torch::empty({kilobyte / 4}); }

/// The identity, whose backward runs a whole backward pass inside it, so many levels deep, and
/// allocates a kilobyte at the deepest. From some level on LibTorch goes on in another thread.
struct Nested : torch::autograd::Function<Nested> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               int64_t levels) {
    context->saved_data["levels"] = levels;
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const int64_t levels = context->saved_data["levels"].toInt();
    if (levels > 0) {
      const torch::AutoGradMode enable(true);
      const auto x = torch::ones({1}, torch::requires_grad());
      Nested::apply(x, levels - 1).backward();
    } else {
      deepest_thread() = std::this_thread::get_id();
      kept() = one_kilobyte();
    }
    return {gradients[0], torch::Tensor()};
  }
  static std::thread::id& deepest_thread() {
    static std::thread::id id;
    return id;
  }
  static torch::Tensor& kept() {
    static torch::Tensor tensor;
    return tensor;
  }
};

/// A probe that can end before its scope.
struct Probed {
  MemoryProbe probe{torch::kCPU};
};

}  // namespace

TEST_CASE("Live bytes rise and fall with tensors, and the peak stays") {
  MemoryProbe probe(torch::kCPU);
  CHECK(probe.usage().live_bytes == 0);
  {
    const auto a = one_kilobyte();
    const auto b = one_kilobyte();
    CHECK(probe.usage().live_bytes == 2 * kilobyte);
  }
  const auto c = one_kilobyte();

  CHECK(probe.usage().live_bytes == kilobyte);
  CHECK(probe.usage().peak_bytes == 2 * kilobyte);
  CHECK(probe.usage().allocations == 3);
}

TEST_CASE("Freeing a tensor from before the scope counts for nothing") {
  auto before = one_kilobyte();
  MemoryProbe probe(torch::kCPU);

  before = torch::Tensor();

  CHECK(probe.usage().live_bytes == 0);
}

TEST_CASE("A tensor of an earlier scope is none of a later one's") {
  torch::Tensor survivor;
  {
    MemoryProbe earlier(torch::kCPU);
    survivor = one_kilobyte();
  }
  MemoryProbe later(torch::kCPU);

  survivor = torch::Tensor();

  CHECK(later.usage().live_bytes == 0);
}

TEST_CASE("Resetting the peak starts it from what is held") {
  MemoryProbe probe(torch::kCPU);
  const auto kept = one_kilobyte();
  { const auto freed = one_kilobyte(); }

  probe.reset_peak();

  CHECK(probe.usage().peak_bytes == kilobyte);
}

TEST_CASE("Probes nest: both count what the inner one sees") {
  MemoryProbe outer(torch::kCPU);
  const auto a = one_kilobyte();
  {
    MemoryProbe inner(torch::kCPU);
    const auto b = one_kilobyte();
    CHECK(inner.usage().peak_bytes == kilobyte);
  }
  const auto c = one_kilobyte();

  CHECK(outer.usage().peak_bytes == 2 * kilobyte);
  CHECK(outer.usage().allocations == 3);
}

TEST_CASE("Backward's allocations are counted") {
  const auto x = torch::ones({kilobyte / 4}, torch::requires_grad());
  const auto loss = x.mul(2).sum();
  MemoryProbe probe(torch::kCPU);

  loss.backward();

  CHECK(probe.usage().peak_bytes >= kilobyte);
}

TEST_CASE("What LibTorch's own backward threads allocate is counted, with the operator") {
  const auto x = torch::ones({1}, torch::requires_grad());
  MemoryProbe probe(torch::kCPU, MemoryProbeOptions().largest(1).operators(true));

  Nested::apply(x, 100).backward();

  CHECK(Nested::deepest_thread() != std::this_thread::get_id());
  const auto usage = probe.usage();
  REQUIRE(usage.largest.size() == 1);
  CHECK(usage.largest[0].bytes == kilobyte);
  REQUIRE(usage.largest[0].operator_name.has_value());
  CAPTURE(*usage.largest[0].operator_name);
  CHECK(usage.largest[0].operator_name->find("Nested") != std::string::npos);  // its backward
  Nested::kept() = torch::Tensor();
  CHECK(*probe.usage().live_bytes <= *usage.live_bytes - kilobyte);
}

TEST_CASE("After the scope nothing is counted any more") {
  auto* const ended = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  { MemoryProbe probe(torch::kCPU); }

  CHECK(ended == nullptr);
  CHECK(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == nullptr);
}

TEST_CASE("Another thread is counted in what is wrapped, and not otherwise") {
  MemoryProbe probe(torch::kCPU);

  std::thread([] { one_kilobyte(); }).join();
  CHECK(probe.usage().allocations == 0);

  std::thread(probe.wrap([] { one_kilobyte(); })).join();
  CHECK(probe.usage().allocations == 1);
  CHECK(probe.usage().peak_bytes == kilobyte);
}

TEST_CASE("A wrapped function counts for the probes around it, and for those of its own thread") {
  MemoryProbe outer(torch::kCPU);
  MemoryProbe inner(torch::kCPU);
  const auto function = inner.wrap([] { one_kilobyte(); });

  std::thread([&] {
    MemoryProbe own(torch::kCPU);
    function();
    one_kilobyte();
    CHECK(own.usage().allocations == 2);
  }).join();
  function();  // here both hear it already

  CHECK(outer.usage().allocations == 2);
  CHECK(inner.usage().allocations == 2);
}

TEST_CASE("A wrapped function may outlive the probe") {
  std::function<void()> function;
  {
    MemoryProbe probe(torch::kCPU);
    function = probe.wrap([] { one_kilobyte(); });
  }
  CHECK_NOTHROW(function());
}

TEST_CASE("A block that another thread frees in a wrapped function is gone for the probe") {
  MemoryProbe probe(torch::kCPU);
  auto tensor = one_kilobyte();

  std::thread(probe.wrap([&] { tensor = torch::Tensor(); })).join();

  CHECK(probe.usage().live_bytes == 0);
}

TEST_CASE("The largest blocks at the peak are told, with what made them if asked for") {
  const auto matrix = torch::ones({16, 16});  // 1 KiB
  MemoryProbe probe(torch::kCPU, MemoryProbeOptions().largest(2).operators(true));
  {
    const auto product = matrix.mm(matrix);
    const auto twice = torch::cat({product, product});
    const auto half = product.to(torch::kBFloat16);
  }

  const auto largest = probe.usage().largest;
  REQUIRE(largest.size() == 2);
  CHECK(largest[0].bytes == 2 * kilobyte);
  CHECK(largest[0].operator_name == "aten::cat");
  CHECK(largest[1].bytes == kilobyte);
  CHECK(largest[1].operator_name == "aten::mm");
}

TEST_CASE("What made a block is told with the operator around it, in backward threads too") {
  const auto x = torch::ones({16, 16}, torch::requires_grad());
  MemoryProbe probe(torch::kCPU, MemoryProbeOptions().operators(true));
  {
    const auto half = x.to(torch::kBFloat16);
    const auto of_cast = probe.usage().largest.front();
    CHECK(of_cast.operator_name == "aten::_to_copy");
    CHECK(of_cast.within == "aten::to");
  }
  const auto loss = x.mm(x).sum();
  loss.backward();

  const auto largest = probe.usage().largest;
  const bool has_backward = std::any_of(largest.begin(), largest.end(), [](const auto& block) {
    return block.operator_name == "aten::mm" && block.within == "MmBackward0";
  });
  CHECK(has_backward);
}

TEST_CASE("Without asking, no operator is told and none is watched") {
  MemoryProbe probe(torch::kCPU);
  const auto tensor = one_kilobyte();

  REQUIRE(probe.usage().largest.size() == 1);
  CHECK_FALSE(probe.usage().largest[0].operator_name.has_value());
  CHECK_FALSE(at::hasThreadLocalCallbacks());
}

TEST_CASE("A negative number of largest blocks is refused, and no probe is there") {
  CHECK_ERROR(E08, MemoryProbe(torch::kCPU, MemoryProbeOptions().largest(-1)));

  CHECK(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == nullptr);
}

// Three products of 1024 x 64 with 64 x 64, and ReLU between them. In float32 an activation has
// 1024 * 64 * 4 = 256 KiB, in bfloat16 128 KiB, and a weight's cast 64 * 64 * 2 = 8 KiB.
TEST_CASE("A bfloat16 region keeps half of each activation, and the casts that backward needs") {
  const auto input = torch::ones({1024, 64});
  std::vector<torch::Tensor> weights;
  for (int i = 0; i < 3; ++i) weights.push_back(torch::ones({64, 64}, torch::requires_grad()));
  const auto kept_bytes = [&](bool enabled) {
    MemoryProbe probe(torch::kCPU);
    torch::Tensor output;
    {
      torchamp::AutocastGuard autocast(
          torch::kCPU, torchamp::AutocastOptions().dtype(torch::kBFloat16).enabled(enabled));
      output = input.mm(weights[0]).relu().mm(weights[1]).relu().mm(weights[2]);
    }
    return *probe.usage().live_bytes;
  };

  // What backward needs: two results of ReLU; and the output.
  CHECK(kept_bytes(false) == (2 + 1) * 256 * kilobyte);
  // The same at half the size, the cast of the input, and those of the second and third weight. The
  // first weight's is not needed, as the input wants no gradient, and is dropped with the region.
  CHECK(kept_bytes(true) == (2 + 1 + 1) * 128 * kilobyte + 2 * 8 * kilobyte);
}

TEST_CASE("A CPU has no caching allocator to report on") {
  MemoryProbe probe(torch::kCPU);
  one_kilobyte();

  CHECK_FALSE(probe.usage().allocated_bytes.has_value());
  CHECK_FALSE(probe.usage().peak_reserved_bytes.has_value());
}

TEST_CASE("A probe is refused while a profiler of this thread runs, which goes on") {
  using torch::autograd::profiler::disableProfilerLegacy;
  using torch::autograd::profiler::enableProfilerLegacy;
  MemoryProbe outside(torch::kCPU);
  std::thread([&] {
    const auto wrapped = outside.wrap([] {});
    start_profiler(profiling_memory());

    CHECK_ERROR(E13, MemoryProbe(torch::kCPU));
    CHECK_ERROR(E13, wrapped());

    one_kilobyte();
    CHECK(stop_profiler("[memory]") == 2);  // made and freed
    CHECK_NOTHROW(wrapped());

    enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));
    CHECK_ERROR(E13, MemoryProbe(torch::kCPU));
    CHECK_FALSE(disableProfilerLegacy().empty());
  }).join();
}

TEST_CASE("LibTorch refuses to start a profiler of a thread inside a probe, which goes on") {
  using torch::autograd::profiler::enableProfiler;
  using torch::autograd::profiler::enableProfilerLegacy;
  {
    MemoryProbe probe(torch::kCPU);

    CHECK_THROWS_AS(enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU)), c10::Error);
    CHECK_THROWS_AS(enableProfiler(profiling_memory(), {ActivityType::CPU}), c10::Error);

    const auto kept = one_kilobyte();
    { const auto freed = one_kilobyte(); }
    CHECK(probe.usage().live_bytes == kilobyte);
    CHECK(probe.usage().peak_bytes == 2 * kilobyte);
  }

  start_profiler(profiling_memory());
  one_kilobyte();
  CHECK(stop_profiler("[memory]") == 2);
}

TEST_CASE("A probe and a profiler of another thread do not mind each other") {
  {
    MemoryProbe probe(torch::kCPU);
    std::thread([] {
      start_profiler(profiling_memory());
      one_kilobyte();
      CHECK(stop_profiler("[memory]") == 2);
    }).join();
    CHECK(probe.usage().allocations == 0);
  }

  start_profiler(profiling_memory());
  std::thread([] {
    MemoryProbe probe(torch::kCPU);
    one_kilobyte();
    CHECK(probe.usage().allocations == 1);
  }).join();
  CHECK(stop_profiler("[memory]") == 0);
}

TEST_CASE("A probe and a profiler of all threads do not mind each other, in either order") {
  const auto config = profiling_all_threads();
  if (!config) {
    MESSAGE("this LibTorch has no profiler of all threads");
    return;
  }
  for (const bool probe_first : {true, false}) {
    std::optional<Probed> probed;
    if (probe_first) probed.emplace();
    // LibTorch 2.11 refuses this order; it is known to go with 2.15.
    if (probe_first && !torchamp::detail::libtorch_at_least(2, 15)) {
      try {
        start_profiler(*config);
      } catch (const c10::Error&) {
        const auto kept = one_kilobyte();
        CHECK(probed->probe.usage().live_bytes == kilobyte);
        continue;
      }
    } else {
      start_profiler(*config);
    }
    if (!probe_first) probed.emplace();

    const auto kept = one_kilobyte();
    { const auto freed = one_kilobyte(); }

    CHECK(probed->probe.usage().live_bytes == kilobyte);
    CHECK(probed->probe.usage().peak_bytes == 2 * kilobyte);
    if (!probe_first) probed.reset();
    CHECK(stop_profiler("aten::empty") == 2);
  }
}

TEST_CASE("A device whose allocator tells nothing has a probe all the same, and no bytes") {
  const FakeDevice fake;
  MemoryProbe probe(fake.device);
  CHECK_FALSE(probe.usage().live_bytes.has_value());
  CHECK_FALSE(probe.usage().allocated_bytes.has_value());
}
