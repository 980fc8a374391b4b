// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/traced_call.h>

#include "support/doctest.h"

#include <limits>
#include <vector>

using namespace torchamp::detail;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
using Kind = TracedCall::Kind;

/// Calls inside of each other, outermost first.
std::vector<TracedCall> nested(const std::vector<Kind>& kinds) {
  std::vector<TracedCall> calls(kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    calls[i].kind = kinds[i];
    calls[i].number = static_cast<int64_t>(i);
    calls[i].outer = i == 0 ? nullptr : &calls[i - 1];
  }
  return calls;
}

c10::ArrayRef<const c10::IValue> as_list(const std::vector<c10::IValue>& values) {
  return c10::ArrayRef<const c10::IValue>(values.data(), values.size());
}

/// An operator like add_(self, other), or with `in_place` false like add.
TracedOperator add_operator(bool in_place) {
  TracedOperator op;
  op.known = true;
  op.writes = in_place;
  op.written = {static_cast<char>(in_place), 0};
  op.ignored = {0, 0};
  op.arguments = {"self", "other"};
  return op;
}

}  // namespace

TEST_CASE("Of a number it is known whether it is inf, -inf or NaN") {
  CHECK(kinds_of_number(inf).positive_inf);
  CHECK_FALSE(kinds_of_number(inf).negative_inf);
  CHECK_FALSE(kinds_of_number(inf).nan);
  CHECK(kinds_of_number(-inf).negative_inf);
  CHECK_FALSE(kinds_of_number(-inf).positive_inf);
  CHECK(kinds_of_number(std::numeric_limits<double>::quiet_NaN()).nan);
  CHECK(kinds_of_number(-std::numeric_limits<double>::quiet_NaN()).nan);
  CHECK_FALSE(kinds_of_number((std::numeric_limits<double>::max)()).any());
  CHECK_FALSE(kinds_of_number(-(std::numeric_limits<double>::max)()).any());
  CHECK_FALSE(kinds_of_number(int64_t{1}).any());
}

TEST_CASE("A call knows which numbers that are not finite are among its arguments") {
  const auto op = add_operator(/*in_place=*/false);
  TracedCall call;
  call.op = &op;

  call.read_inputs(as_list(std::vector<c10::IValue>{torch::ones({2}), -inf}));
  CHECK(call.numbers.negative_inf);
  CHECK_FALSE(call.numbers.positive_inf);
  CHECK_FALSE(call.numbers.nan);
  call.read_inputs(
      as_list(std::vector<c10::IValue>{inf, std::numeric_limits<double>::quiet_NaN(), 1.0}));
  CHECK(call.numbers.positive_inf);
  CHECK(call.numbers.nan);
}

TEST_CASE("An operator's callers end at a backward node") {
  const auto calls = nested({Kind::Operator, Kind::UserScope, Kind::Engine, Kind::Node,
                             Kind::Operator, Kind::UserScope, Kind::Operator});

  CHECK(calls[6].calling_operator() == &calls[4]);
  CHECK(calls[4].calling_operator() == nullptr);
  CHECK(calls[6].root().number == 4);
  CHECK(calls[6].node_number() == 3);
  CHECK(calls[6].backward() == &calls[3]);
  CHECK(calls[0].backward() == nullptr);
  CHECK(calls[0].node_number() == -1);
}

TEST_CASE("What the engine does after a node belongs to the node, but is not in it") {
  const auto calls = nested({Kind::Engine, Kind::Operator});

  CHECK(calls[1].backward() == &calls[0]);
  CHECK(calls[1].node_number() == -1);
}

TEST_CASE("An input is looked at before the call if it is overwritten, or shares memory with one") {
  const auto op = add_operator(/*in_place=*/true);
  const auto x = torch::full({2}, inf);
  const std::vector<c10::IValue> alias{x, x.view({1, 2})};
  const std::vector<c10::IValue> apart{x, torch::ones({2})};
  TracedCall call;
  call.op = &op;

  call.read_inputs(as_list(alias));
  REQUIRE(call.inputs.size() == 2);
  CHECK(call.inputs[0].kinds->positive_inf);
  CHECK(call.inputs[1].kinds->positive_inf);
  CHECK_FALSE(call.numbers.any());

  TracedCall other;
  other.op = &op;
  other.read_inputs(as_list(apart));
  CHECK(other.inputs[0].written);
  CHECK_FALSE(other.inputs[1].written);
  CHECK_FALSE(other.inputs[1].kinds.has_value());
}

TEST_CASE("Results are what is returned and what is changed, each once") {
  const auto op = add_operator(/*in_place=*/true);
  const auto x = torch::ones({2});
  TracedCall call;
  call.op = &op;
  call.read_inputs(as_list(std::vector<c10::IValue>{x, torch::ones({2})}));

  CHECK(call.results({x}).size() == 1);
  CHECK(call.results({}).size() == 1);
  CHECK(call.results({torch::ones({1})}).size() == 2);
}

TEST_CASE("A view of what an operator leaves alone is no result") {
  const auto op = add_operator(/*in_place=*/false);
  const auto x = torch::ones({2});
  TracedCall call;
  call.op = &op;
  call.read_inputs(as_list(std::vector<c10::IValue>{x}));

  CHECK(call.results({x.view({1, 2})}).empty());
  CHECK(call.results({x}).empty());
  CHECK(call.results({torch::ones({2})}).size() == 1);
}

TEST_CASE("A view is a view of what the operator leaves alone") {
  const auto reads = add_operator(/*in_place=*/false);
  const auto writes = add_operator(/*in_place=*/true);
  const auto x = torch::ones({2});
  TracedCall call;
  call.op = &reads;
  call.read_inputs(as_list(std::vector<c10::IValue>{x}));
  CHECK(call.is_view(x.view({1, 2})));
  CHECK_FALSE(call.is_view(torch::ones({2})));

  TracedCall in_place;
  in_place.op = &writes;
  in_place.read_inputs(as_list(std::vector<c10::IValue>{x}));
  CHECK_FALSE(in_place.is_view(x));
}

TEST_CASE("A result that an inner call has looked at is not looked at again until it changes") {
  auto calls = nested({Kind::Operator, Kind::Operator});
  auto x = torch::ones({2});

  CHECK_FALSE(calls[1].kinds_of_result(x).any());
  x.data_ptr<float>()[0] = static_cast<float>(inf);  // which nobody can notice
  CHECK_FALSE(calls[0].kinds_of_result(x).any());
  x.mul_(1);
  CHECK(calls[0].kinds_of_result(x).positive_inf);
}

TEST_CASE("Of tensors in lists it is known which are changed, and what is a view of the others") {
  TracedOperator op = add_operator(/*in_place=*/true);  // as _foreach_add_(self, other)
  std::vector<torch::Tensor> changed, read;
  for (int i = 0; i < 50; ++i) {
    changed.push_back(torch::ones({2}));
    read.push_back(torch::ones({2}));
  }
  read[7] = changed[9].view({1, 2});  // the same memory
  TracedCall call;
  call.op = &op;

  call.read_inputs(as_list(std::vector<c10::IValue>{changed, read}));

  REQUIRE(call.inputs.size() == 100);
  CHECK(call.inputs[57].kinds.has_value());
  for (std::size_t i = 0; i < 50; ++i) {
    CAPTURE(i);
    CHECK_FALSE(call.is_view(changed[i].view({1, 2})));
    CHECK(call.is_view(read[i].view({2, 1})) == (i != 7));
    CHECK(call.inputs[50 + i].kinds.has_value() == (i == 7));
  }
  CHECK(call.results({changed, read[0]}).size() == 50);
}
