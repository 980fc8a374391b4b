// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/memory_reports.h>

#include "support/doctest.h"

#include <memory>
#include <thread>
#include <utility>

using torchamp::detail::InMemoryReports;
using torchamp::detail::MemoryLedger;
using torchamp::detail::MemoryLink;
using torchamp::detail::MemoryReports;
using torchamp::detail::OperatorWatch;

namespace {

struct Chain {
  explicit Chain(bool operators = false)
      : ledger(std::make_shared<MemoryLedger>(torch::kCPU, 0, operators)),
        link(std::make_shared<MemoryLink>(ledger, nullptr)) {}
  int64_t allocations() const { return *ledger->usage().allocations; }

  std::shared_ptr<MemoryLedger> ledger;
  MemoryLink::Pointer link;
};

void allocate() { torch::empty({4}); }

}  // namespace

TEST_CASE("Ledgers hear in the scope, on this thread, and not after it") {
  const Chain chain;
  {
    const MemoryReports reports(chain.link);
    allocate();
    std::thread(allocate).join();
  }
  allocate();

  CHECK(chain.allocations() == 1);
  CHECK(MemoryLink::current() == nullptr);
}

TEST_CASE("Inner ledgers hear beside the outer ones, and one that hears already hears once") {
  const Chain outer;
  const Chain inner;
  const MemoryReports outer_reports(outer.link);
  {
    const MemoryReports inner_reports(inner.link);
    const MemoryReports again(outer.link);
    allocate();
  }
  CHECK(inner.allocations() == 1);
  CHECK(outer.allocations() == 1);
}

TEST_CASE("Operators are watched once, however many ledgers want them, and only then") {
  const auto names_of_mm = [] {
    RECORD_FUNCTION("mm", {});
    return std::string(OperatorWatch::names().innermost) + "/" +
           std::string(OperatorWatch::names().outermost);
  };
  const auto watches = [] { return at::get_record_function_tls_().sorted_tls_callbacks_.size(); };
  const Chain plain;
  const Chain named(true);
  const Chain named_too(true);

  const MemoryReports a(plain.link);
  CHECK(names_of_mm() == "/");
  {
    const MemoryReports b(named.link);
    const MemoryReports c(named_too.link);
    CHECK(names_of_mm() == "mm/");
    CHECK(watches() == 1);
  }
  CHECK(names_of_mm() == "/");
  CHECK(watches() == 0);
}

TEST_CASE("A wrapped function reports wherever it runs, and takes and returns what it does") {
  const Chain chain;
  int number = 1;
  const auto function = [&number](std::unique_ptr<int> add) -> int& {
    allocate();
    number += *add;
    return number;
  };
  InMemoryReports<decltype(function)> wrapped(chain.link, function);

  std::thread([&] {
    int& same = wrapped(std::make_unique<int>(2));
    CHECK(&same == &number);
  }).join();

  CHECK(number == 3);
  CHECK(chain.allocations() == 1);
}
