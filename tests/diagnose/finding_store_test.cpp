// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/finding_store.h>

#include "support/doctest.h"

#include <string>

using torchamp::NonFiniteFinding;
using torchamp::detail::FindingStore;
using torchamp::detail::MemoryMark;
using torchamp::detail::MemoryMarks;

namespace {

NonFiniteFinding finding_of(const std::string& op) {
  NonFiniteFinding finding;
  finding.op = op;
  return finding;
}

constexpr int64_t no_node = -1;

}  // namespace

TEST_CASE("A finding counts once the outermost operator has ended badly") {
  FindingStore store;
  store.add(finding_of("exp"), /*root=*/5, no_node);
  store.add(finding_of("log"), /*root=*/6, no_node);
  CHECK(store.findings().empty());

  store.operator_ended_badly(5, no_node);

  REQUIRE(store.findings().size() == 1);
  CHECK(store.findings()[0].op == "exp");
  CHECK(store.confirmed() == 1);
}

TEST_CASE("In a backward node it counts if something bad outlives the node") {
  const auto alive = torch::ones({1});
  MemoryMarks marks;
  FindingStore store;
  const auto first = store.add(finding_of("div"), /*root=*/5, /*node=*/4);
  store.add(finding_of("mul"), /*root=*/6, /*node=*/4);
  const auto third = store.add(finding_of("where"), /*root=*/7, /*node=*/4);
  marks.set(alive, {MemoryMark::Reason::Found, first, 5});
  store.operator_ended_badly(5, 4);
  store.operator_ended_badly(6, 4);
  CHECK(store.findings().empty());

  store.node_ended(3, marks);
  CHECK(store.findings().empty());
  marks.set(alive, {MemoryMark::Reason::Found, third, 5});
  store.node_ended(4, marks);
  CHECK(store.findings().empty());
  marks.set(alive, {MemoryMark::Reason::Found, first, 5});
  store.node_ended(4, marks);

  REQUIRE(store.findings().size() == 1);
  CHECK(store.findings()[0].op == "div");
}

TEST_CASE("What is read elsewhere counts, what is read where it was found does not yet") {
  FindingStore store;
  const auto in_operator = store.add(finding_of("rsqrt"), /*root=*/5, no_node);
  const auto in_node = store.add(finding_of("pow"), /*root=*/7, /*node=*/6);

  store.read(in_operator, 5, no_node);
  store.read(in_node, 8, 6);
  store.read(99, 8, 6);
  CHECK(store.findings().empty());
  store.read(in_node, 9, 10);
  store.read(in_operator, 11, no_node);

  REQUIRE(store.findings().size() == 2);
  CHECK(store.findings()[0].op == "rsqrt");  // the order in which they came about
}

TEST_CASE("Fresh findings are taken once") {
  FindingStore store;
  store.add(finding_of("exp"), 1, no_node);
  CHECK(store.take_fresh().empty());
  store.operator_ended_badly(1, no_node);

  CHECK(store.take_fresh().size() == 1);
  CHECK(store.take_fresh().empty());
  CHECK(store.findings().size() == 1);
}

TEST_CASE("What came to nothing is forgotten, what counts is kept") {
  MemoryMarks marks;
  FindingStore store;
  store.add(finding_of("exp"), 1, no_node);
  store.operator_ended_badly(1, no_node);
  for (int i = 2; i < 1000; ++i) {
    store.add(finding_of("log"), i, no_node);
    store.node_ended(i, marks);
  }

  CHECK(store.size() < 200);
  CHECK(store.confirmed() == 1);
}
