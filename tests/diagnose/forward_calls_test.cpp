// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/forward_calls.h>

#include "support/doctest.h"

#include <memory>
#include <string>
#include <vector>

using torchamp::detail::ForwardCall;
using torchamp::detail::ForwardCalls;
using torchamp::detail::names_in;
using torchamp::detail::ScopePath;

namespace {

ForwardCall call_of(const std::string& op) {
  ForwardCall call;
  call.op = op;
  return call;
}

std::string op_at(const ForwardCalls& calls, uint64_t number) {
  const auto* const call = calls.find(number);
  return call == nullptr ? "" : call->op;
}

}  // namespace

TEST_CASE("The innermost call that made a node is the one that is found") {
  ForwardCalls calls;
  // linear, from 4 on, calls t, which makes node 4, and addmm, which makes node 5.
  CHECK(calls.made_node(4, 5));
  calls.record(4, 5, call_of("t"));
  CHECK(calls.made_node(5, 6));
  calls.record(5, 6, call_of("addmm"));
  CHECK_FALSE(calls.made_node(4, 6));

  CHECK(op_at(calls, 3) == "");
  CHECK(op_at(calls, 4) == "t");
  CHECK(op_at(calls, 5) == "addmm");
  CHECK(op_at(calls, 6) == "");
}

TEST_CASE("A call that makes no node has none, and an outer one has what is left") {
  ForwardCalls calls;
  CHECK_FALSE(calls.made_node(3, 3));
  calls.record(3, 4, call_of("inner"));
  CHECK(calls.made_node(3, 6));
  calls.record(3, 6, call_of("outer"));

  CHECK(op_at(calls, 3) == "inner");
  CHECK(op_at(calls, 4) == "outer");
  CHECK(op_at(calls, 5) == "outer");
}

TEST_CASE("A node that no operator made belongs to none") {
  ForwardCalls calls;
  calls.record(1, 2, call_of("first"));
  calls.record(5, 6, call_of("second"));

  CHECK(op_at(calls, 3) == "");
}

TEST_CASE("The last calls are kept") {
  ForwardCalls calls(2);
  for (uint64_t i = 0; i < 3; ++i) calls.record(i, i + 1, call_of(std::to_string(i)));

  CHECK(op_at(calls, 0) == "");
  CHECK(op_at(calls, 1) == "1");
  CHECK(op_at(calls, 2) == "2");
}

TEST_CASE("The names in a path begin with the outermost") {
  const auto outer = std::make_shared<const ScopePath>(ScopePath{"encoder", nullptr});
  const auto inner = std::make_shared<const ScopePath>(ScopePath{"norm", outer});

  CHECK(names_in(inner.get()) == std::vector<std::string>{"encoder", "norm"});
  CHECK(names_in(nullptr).empty());
}
