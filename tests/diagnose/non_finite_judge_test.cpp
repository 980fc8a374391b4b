// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite_judge.h>

#include "support/doctest.h"

#include <limits>
#include <vector>

using torchamp::NonFiniteFinding;
using torchamp::detail::ForwardCall;
using torchamp::detail::MemoryMark;
using torchamp::detail::NonFiniteJudge;
using torchamp::detail::ThreadCalls;
using torchamp::detail::TracedCall;
using torchamp::detail::TracedOperator;
using Origin = torchamp::NonFiniteFinding::Origin;
using Reason = torchamp::detail::MemoryMark::Reason;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A judge, and calls of an operator "aten::op" with one input that is read.
struct Court {
  Court() {
    op.known = true;
    op.name = "aten::op";
    op.written = {0};
    op.ignored = {0};
    op.arguments = {"self"};
  }

  TracedCall call_with(const at::Tensor& input) {
    TracedCall call;
    call.number = ++number;
    call.thread = &thread;
    call.op = &op;
    call.inputs.push_back({input, 0, false, torchamp::detail::kinds_of(input)});
    return call;
  }

  /// Tells the judge that a call made `result` of `input`.
  void explain(const at::Tensor& input, const at::Tensor& result) {
    judge.explain(call_with(input), {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);
  }

  NonFiniteJudge judge;
  TracedOperator op;
  ThreadCalls thread;
  int64_t number = 0;
};

torch::Tensor holding(float value) { return torch::tensor({1.F, value}); }

}  // namespace

TEST_CASE("Bad results of finite inputs are a finding, what comes of them is none") {
  Court court;
  const auto first = holding(inf);
  const auto second = holding(not_a_number);

  court.explain(holding(1), first);
  court.explain(first, second);
  court.explain(second, holding(inf));

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Operator);
  CHECK(court.judge.store.findings()[0].op == "aten::op");
  CHECK(court.judge.marks.find(second)->reason == Reason::Found);
}

TEST_CASE("Bad inputs that nobody made are a finding of their own, once") {
  Court court;
  const auto data = holding(inf);

  court.explain(data, holding(inf));
  court.explain(data, holding(inf));

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Input);
}

TEST_CASE("Infinities that the program writes are on purpose, and what comes of them; NaN is not") {
  Court court;
  const auto mask = holding(-inf);
  const auto scores = holding(-inf);
  auto call = court.call_with(holding(1));
  call.numbers.negative_inf = true;
  court.judge.explain(call, {{mask, torchamp::detail::kinds_of(mask), 0}}, nullptr);
  court.explain(mask, scores);
  CHECK(court.judge.store.findings().empty());
  CHECK(court.judge.marks.find(scores)->reason == Reason::OnPurpose);

  court.explain(scores, holding(not_a_number));

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Operator);
  CHECK(court.judge.store.findings()[0].inputs[0].kinds.negative_inf);
}

TEST_CASE("An infinite number among the arguments is no excuse for NaN") {
  Court court;
  const auto result = holding(not_a_number);
  auto call = court.call_with(holding(1));
  call.numbers.positive_inf = true;

  court.judge.explain(call, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Operator);
}

TEST_CASE("NaN that the program writes was given to the operator, not made by it") {
  Court court;
  const auto result = holding(not_a_number);
  auto call = court.call_with(holding(1));
  call.numbers.nan = true;

  court.judge.explain(call, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Input);
}

TEST_CASE("From before the scope, -inf alone is a mask, unless it is trained") {
  Court court;
  court.explain(holding(-inf), holding(-inf));
  CHECK(court.judge.store.findings().empty());

  court.explain(holding(-inf).requires_grad_(), holding(-inf));
  court.explain(holding(inf), holding(inf));
  court.explain(torch::tensor({-inf, not_a_number}), holding(-inf));
  CHECK(court.judge.store.findings().size() == 3);
}

TEST_CASE("What an allowed operator makes is on purpose, NaN too, and so is what it calls") {
  Court court;
  court.op.allowed = true;
  const auto allowed = holding(not_a_number);
  court.explain(holding(1), allowed);
  TracedOperator inner = court.op;
  inner.allowed = false;
  auto outer_call = court.call_with(holding(1));
  auto inner_call = court.call_with(holding(1));
  inner_call.op = &inner;
  inner_call.outer = &outer_call;
  const auto result = holding(inf);
  court.judge.explain(inner_call, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);
  court.op.allowed = false;

  court.explain(allowed, holding(not_a_number));

  CHECK(court.judge.store.size() == 0);
}

TEST_CASE("Memory without values is told from bad values") {
  Court court;
  const auto memory = holding(not_a_number);
  court.judge.marks.set(memory, {Reason::Uninitialised, -1, 0});

  court.explain(memory, holding(not_a_number));

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Uninitialised);
}

TEST_CASE("-inf alone in memory without values was written there by the program, as a mask") {
  Court court;
  const auto memory = holding(-inf);
  court.judge.marks.set(memory, {Reason::Uninitialised, -1, 0});

  court.explain(memory, holding(-inf));

  CHECK(court.judge.store.size() == 0);
}

TEST_CASE("Memory that an inner call made, and nobody was seen to fill, is no explanation") {
  Court court;
  const auto result = holding(inf);
  auto call = court.call_with(holding(1));
  court.judge.marks.set(result, {Reason::Uninitialised, -1, call.number + 1});

  court.judge.explain(call, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].origin == Origin::Operator);
}

TEST_CASE("All that was bad before is told in one finding") {
  Court court;
  const auto weight = holding(not_a_number);
  const auto bias = holding(not_a_number);
  auto call = court.call_with(weight);
  call.inputs.push_back({bias, 0, false, torchamp::detail::kinds_of(bias)});
  const auto result = holding(not_a_number);

  court.judge.explain(call, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);
  court.explain(weight, holding(not_a_number));
  court.explain(bias, holding(not_a_number));

  CHECK(court.judge.store.size() == 1);
}

TEST_CASE("An input that is finite is told with its largest number, unless it was overwritten") {
  Court court;
  auto call = court.call_with(holding(-12));
  call.inputs.push_back({holding(3), 0, true, torchamp::NonFiniteKinds()});
  call.inputs.push_back({torch::ones({2}, torch::kLong), 0, false, torchamp::NonFiniteKinds()});
  const auto result = holding(inf);

  court.judge.explain(call, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);

  const auto inputs = court.judge.store.findings().at(0).inputs;
  REQUIRE(inputs.size() == 3);
  CHECK(inputs[0].largest == 12);
  CHECK_FALSE(inputs[1].largest.has_value());
  CHECK_FALSE(inputs[2].largest.has_value());
}

TEST_CASE("The innermost call is blamed, and the one around it adds nothing") {
  Court court;
  const auto result = holding(inf);
  const torchamp::NonFiniteKinds kinds{true, false, false};
  TracedOperator outer_op = court.op;
  outer_op.name = "aten::outer";
  auto outer = court.call_with(holding(1));
  outer.op = &outer_op;
  auto cast = court.call_with(holding(1));  // autocast's call, of the same name
  cast.outer = &outer;
  auto inner = court.call_with(holding(1));
  inner.outer = &cast;

  court.judge.explain(inner, {{result, kinds, 0}}, nullptr);
  CHECK(court.judge.store.findings().empty());  // the outer one's result may be finite
  court.judge.explain(outer, {{result, kinds, 0}}, nullptr);

  REQUIRE(court.judge.store.findings().size() == 1);
  CHECK(court.judge.store.findings()[0].called_by == std::vector<std::string>{"aten::outer"});
  CHECK(court.judge.store.size() == 1);
}

TEST_CASE("In a backward node the finding has the node and its forward operator") {
  Court court;
  TracedCall node;
  node.kind = TracedCall::Kind::Node;
  node.number = 100;
  node.node.name = "SqrtBackward0";
  auto call = court.call_with(holding(1));
  call.outer = &node;
  const std::string parameter = "norm.weight";
  ForwardCall forward;
  forward.op = "aten::sqrt";
  forward.parameter = &parameter;
  const auto result = holding(inf);

  court.judge.explain(call, {{result, {true, false, false}, 0}}, &forward);
  CHECK(court.judge.store.findings().empty());
  court.judge.store.node_ended(100, court.judge.marks);

  REQUIRE(court.judge.store.findings().size() == 1);
  const auto found = court.judge.store.findings()[0];
  CHECK(found.node == "SqrtBackward0");
  CHECK(found.forward_op == "aten::sqrt");
  CHECK(found.module() == "norm");
}

TEST_CASE("What comes to nothing is forgotten, also where no backward pass runs") {
  Court court;
  for (int i = 0; i < 1000; ++i) {
    auto outer = court.call_with(holding(1));  // ends with a finite result: it is not told of
    auto inner = court.call_with(holding(1));
    inner.outer = &outer;
    const auto result = holding(inf);
    court.judge.explain(inner, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);
  }

  CHECK(court.judge.store.findings().empty());
  CHECK(court.judge.store.size() < 200);
}

TEST_CASE("A hook has a node and no forward operator") {
  Court court;
  TracedCall node;
  node.kind = TracedCall::Kind::Engine;
  node.node.name = "SqrtBackward0";
  auto call = court.call_with(holding(1));
  call.outer = &node;
  const auto result = holding(inf);
  court.judge.explain(call, {{result, {true, false, false}, 0}}, nullptr);

  node.node.sequence_number = 3;  // the node has run, and this is the engine's work for it
  auto later = court.call_with(holding(1));
  later.outer = &node;
  const auto other = holding(inf);
  court.judge.explain(later, {{other, {true, false, false}, 0}}, nullptr);

  const auto found = court.judge.store.findings();
  REQUIRE(found.size() == 2);
  CHECK(found[0].node == "SqrtBackward0");
  CHECK_FALSE(found[0].has_forward);
  CHECK(found[1].has_forward);
}

TEST_CASE("What a kernel wrote by itself, in sight in inference mode, is its operator's matter") {
  Court court;
  const auto data = holding(not_a_number);
  auto outer = court.call_with(data);
  const auto explain_inner = [&](const at::Tensor& input) {
    auto inner = court.call_with(input);
    inner.outer = &outer;
    inner.below_autograd = true;
    const auto result = holding(not_a_number);
    court.judge.explain(inner, {{result, torchamp::detail::kinds_of(result), 0}}, nullptr);
  };

  explain_inner(holding(not_a_number));
  CHECK(court.judge.store.size() == 0);
  explain_inner(data);
  CHECK(court.judge.store.size() == 1);
}

TEST_CASE(
    "An infinite number of the program is a mask, as the tensor too that LibTorch makes of it") {
  Court court;
  const auto number = torch::scalar_tensor(inf);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  court.explain(number, holding(inf));
  CHECK(court.judge.store.size() == 0);

  court.explain(torch::scalar_tensor(inf), holding(inf));
  CHECK(court.judge.store.size() == 1);
}
