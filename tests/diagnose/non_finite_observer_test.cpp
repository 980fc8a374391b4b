// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite_observer.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <limits>
#include <memory>

using torchamp::NonFiniteTracerOptions;
using torchamp::OnNonFinite;
using torchamp::OperatorScope;
using torchamp::detail::NonFiniteObserver;

// What it finds is tested with the tracer that users see, in non_finite_tracer_test.cpp.

namespace {

torch::Tensor overflow() { return torch::full({2}, 12.0, torch::kHalf).exp(); }

}  // namespace

TEST_CASE("An observer keeps what it found after the scope has ended") {
  const auto observer = std::make_shared<NonFiniteObserver>(NonFiniteTracerOptions());
  {
    OperatorScope scope(observer);
    overflow();
  }
  overflow();

  REQUIRE(observer->findings().size() == 1);
  CHECK(observer->findings()[0].op == "aten::exp");
  CHECK_ERROR(E32, observer->throw_if_any());
}

TEST_CASE("It throws where it may, and warns, only if it was asked to") {
  struct Warnings : c10::WarningHandler {
    void process(const c10::Warning&) override { ++count; }
    int count = 0;
  };
  for (const auto on_finding : {OnNonFinite::Note, OnNonFinite::Warn, OnNonFinite::Throw}) {
    const auto observer =
        std::make_shared<NonFiniteObserver>(NonFiniteTracerOptions().on_finding(on_finding));
    CHECK_NOTHROW(observer->may_throw());
    Warnings warnings;
    const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
    {
      OperatorScope scope(observer);
      overflow();
    }
    CHECK((complaint_of([&] { observer->may_throw(); }) != "") ==
          (on_finding == OnNonFinite::Throw));
    CHECK(warnings.count == (on_finding == OnNonFinite::Warn ? 1 : 0));
  }
}

TEST_CASE("It keeps no tensor alive, and knows no memory that was freed") {
  const auto observer = std::make_shared<NonFiniteObserver>(NonFiniteTracerOptions());
  OperatorScope scope(observer);
  auto bad = overflow();
  CHECK(bad.use_count() == 1);
  bad = torch::Tensor();

  for (int i = 0; i < 100; ++i) {
    const auto data = torch::ones({2}, torch::kHalf).mul(300).square();
    CHECK(data.use_count() == 1);
  }

  CHECK(observer->findings().size() == 8);
}

TEST_CASE("One observer may serve two scopes, one after the other") {
  const auto observer = std::make_shared<NonFiniteObserver>(NonFiniteTracerOptions());
  for (int i = 0; i < 2; ++i) {
    OperatorScope scope(observer);
    overflow();
  }

  CHECK(observer->findings().size() == 2);
}
