// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/memory.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <torch/csrc/autograd/profiler_legacy.h>

#include <thread>
#include <type_traits>

using torchamp::MemoryProbe;

static_assert(!std::is_copy_constructible_v<MemoryProbe>);
static_assert(!std::is_move_constructible_v<MemoryProbe>);

namespace {

constexpr int64_t kilobyte = 1024;

/// A tensor of exactly one kilobyte.
torch::Tensor one_kilobyte() { return torch::empty({kilobyte / 4}); }

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

TEST_CASE("After the scope nothing is counted any more") {
  auto* const ended = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  { MemoryProbe probe(torch::kCPU); }

  CHECK(ended == nullptr);
  CHECK(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) == nullptr);
}

TEST_CASE("Other threads are not counted") {
  MemoryProbe probe(torch::kCPU);

  std::thread([] { one_kilobyte(); }).join();

  CHECK(probe.usage().allocations == 0);
}

TEST_CASE("A CPU has no caching allocator to report on") {
  MemoryProbe probe(torch::kCPU);

  CHECK_FALSE(probe.usage().allocated_bytes.has_value());
  CHECK_FALSE(probe.usage().peak_reserved_bytes.has_value());
}

TEST_CASE("A probe is refused while the profiler runs, which goes on") {
  using namespace torch::autograd::profiler;
  enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));

  CHECK_ERROR(E13, MemoryProbe(torch::kCPU));

  CHECK_NOTHROW(disableProfilerLegacy());
  CHECK_NOTHROW(MemoryProbe(torch::kCPU).usage());
}
