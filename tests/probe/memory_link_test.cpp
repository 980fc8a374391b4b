// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/memory_link.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <torch/csrc/autograd/profiler_legacy.h>

#include <memory>

using torchamp::detail::MemoryLedger;
using torchamp::detail::MemoryLink;

namespace {

std::shared_ptr<MemoryLedger> make_ledger(bool operators = false) {
  return std::make_shared<MemoryLedger>(torch::kCPU, 0, operators);
}

}  // namespace

TEST_CASE("A report reaches every ledger of the chain, once") {
  const auto a = make_ledger();
  const auto b = make_ledger();
  const auto outer = std::make_shared<MemoryLink>(a, nullptr);
  const auto inner = std::make_shared<MemoryLink>(b, outer);
  int block = 0;

  inner->reportMemoryUsage(&block, 8, 0, 0, torch::kCPU);

  CHECK(a->usage().live_bytes == 8);
  CHECK(b->usage().live_bytes == 8);
  CHECK(a->usage().allocations == 1);
}

TEST_CASE("The current link is what stands in the place for reports") {
  const auto link = std::make_shared<MemoryLink>(make_ledger(), nullptr);
  CHECK(MemoryLink::current() == nullptr);

  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, link);

  CHECK(MemoryLink::current() == link);
}

TEST_CASE("Joining adds the ledgers that are missing, and keeps the order") {
  const auto a = make_ledger();
  const auto b = make_ledger();
  const auto c = make_ledger();
  const auto both = std::make_shared<MemoryLink>(b, std::make_shared<MemoryLink>(a, nullptr));
  const auto here = std::make_shared<MemoryLink>(c, std::make_shared<MemoryLink>(a, nullptr));

  const auto joined = MemoryLink::join(both, here);
  int block = 0;
  joined->reportMemoryUsage(&block, 8, 0, 0, torch::kCPU);

  for (const auto& ledger : {a, b, c}) {
    CHECK(joined->has(*ledger));
    CHECK(ledger->usage().allocations == 1);
  }
  CHECK(MemoryLink::join(both, both) == both);
  CHECK(MemoryLink::join(nullptr, here) == here);
}

TEST_CASE("A chain wants operators if one of its ledgers does") {
  const auto plain = std::make_shared<MemoryLink>(make_ledger(), nullptr);
  const auto named = std::make_shared<MemoryLink>(make_ledger(true), nullptr);

  CHECK_FALSE(plain->wants_operators());
  CHECK(std::make_shared<MemoryLink>(make_ledger(), named)->wants_operators());
}

TEST_CASE("LibTorch takes a link for no profiler, and does not crash when it asks") {
  const auto link = std::make_shared<MemoryLink>(make_ledger(), nullptr);
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, link);

  CHECK_FALSE(torch::profiler::impl::profilerEnabled());
  CHECK(torch::profiler::impl::profilerType() == torch::profiler::impl::ActiveProfilerType::NONE);
}

TEST_CASE("A profiler's state is no link, and is refused") {
  using namespace torch::autograd::profiler;
  enableProfilerLegacy(ProfilerConfig(ProfilerState::CPU));

  CHECK_ERROR(E13, MemoryLink::current());

  CHECK_NOTHROW(disableProfilerLegacy());
}
