// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/injection.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cmath>
#include <limits>
#include <string>

using torchamp::Injection;
using torchamp::detail::InjectionPlan;

namespace {

/// At which of ten calls the value is due, as in "3 4".
std::string due(Injection injection) {
  InjectionPlan plan(injection, "test");
  std::string calls;
  for (int call = 1; call <= 10; ++call) {
    if (plan.is_due()) calls += std::to_string(call) + " ";
  }
  return calls;
}

/// The same of three calls in each of three steps, as in "2.1".
std::string due_in_steps(Injection injection) {
  InjectionPlan plan(injection, "test");
  std::string calls;
  for (int step = 1; step <= 3; ++step) {
    for (int call = 1; call <= 3; ++call) {
      if (plan.is_due()) calls += std::to_string(step) + "." + std::to_string(call) + " ";
    }
    plan.next_step();
  }
  return calls;
}

torch::Tensor with(const torch::Tensor& tensor, Injection injection) {
  InjectionPlan plan(injection, "test");
  plan.put_into(tensor, "test");
  CHECK(plan.injected() == 1);
  return tensor;
}

}  // namespace

TEST_CASE("A value is due at the first call, or at those that are chosen") {
  CHECK(due(Injection()) == "1 ");
  CHECK(due(Injection().call(3)) == "3 ");
  CHECK(due(Injection().call(3).times(2)) == "3 4 ");
  CHECK(due(Injection().call(8).times(0)) == "8 9 10 ");
}

TEST_CASE("With a step, calls are counted from its beginning, and without through all steps") {
  CHECK(due_in_steps(Injection().call(5)) == "2.2 ");
  CHECK(due_in_steps(Injection().step(2)) == "2.1 ");
  CHECK(due_in_steps(Injection().step(3).call(2).times(0)) == "3.2 3.3 ");
  CHECK(due_in_steps(Injection().step(4)) == "");
}

TEST_CASE("After its end nothing is due") {
  InjectionPlan plan(Injection().times(0), "test");
  CHECK(plan.is_due());
  plan.end();
  CHECK_FALSE(plan.is_due());
}

TEST_CASE("The element is counted row by row, whatever the strides") {
  const auto expected = torch::tensor({{0.0, 0.0, 0.0}, {0.0, 7.0, 0.0}}).to(torch::kFloat);
  const auto fourth = Injection().value(7).element(4);
  CHECK(with(torch::zeros({2, 3}), fourth).equal(expected));
  CHECK(with(torch::zeros({3, 2}).t(), fourth).equal(expected));
  CHECK(with(torch::zeros({}), Injection().value(7)).item<float>() == 7);
}

TEST_CASE("The value is rounded to the dtype, and becomes inf where it is too large") {
  for (const auto dtype : {torch::kHalf, torch::kBFloat16, torch::kFloat, torch::kDouble}) {
    CAPTURE(dtype);
    CHECK(with(torch::zeros({1}, dtype), Injection()).isinf().all().item<bool>());
    CHECK(with(torch::zeros({1}, dtype), Injection().value(NAN)).isnan().all().item<bool>());
  }
  CHECK(with(torch::zeros({1}, torch::kHalf), Injection().value(1e6)).isinf().all().item<bool>());
  const auto complex = with(torch::zeros({2}, torch::kComplexFloat), Injection().element(1));
  CHECK(torch::real(complex)[1].isinf().item<bool>());
  CHECK(torch::imag(complex)[1].item<float>() == 0);
}

TEST_CASE("Of a sparse tensor the element is one of its values") {
  const auto sparse = torch::sparse_coo_tensor(torch::tensor({{1, 3}}), torch::ones({2}), {5});
  with(sparse, Injection().element(1));
  CHECK(sparse.to_dense()[3].isinf().item<bool>());
}

TEST_CASE("The history and the version of a tensor do not notice") {
  const auto weight = torch::ones({2}, torch::requires_grad());
  const auto result = weight.exp();
  const auto version = result._version();
  with(result, Injection().value(5));
  CHECK(result._version() == version);
  result.sum().backward();  // exp's gradient is its result
  CHECK(weight.grad()[0].item<float>() == 5);
}

TEST_CASE("What cannot hold the value is refused and as it was") {
  InjectionPlan plan(Injection().element(3), "test");
  const auto small = torch::zeros({3}), whole = torch::zeros({5}, torch::kInt);
  CHECK_ERROR(E31, plan.put_into(small, "test"));
  CHECK_ERROR(E31, plan.put_into(whole, "test"));
  CHECK_ERROR(E31, plan.put_into(torch::Tensor(), "test"));
  CHECK_ERROR_SAYS("has 3 elements", plan.put_into(small, "test"));
  CHECK(small.eq(0).all().item<bool>());
  CHECK(whole.eq(0).all().item<bool>());
  CHECK(plan.injected() == 0);
}

TEST_CASE("Numbers that make no sense are refused") {
  CHECK_ERROR(E31, InjectionPlan(Injection().element(-1), "test"));
  CHECK_ERROR(E31, InjectionPlan(Injection().output(-1), "test"));
  CHECK_ERROR(E31, InjectionPlan(Injection().call(0), "test"));
  CHECK_ERROR(E31, InjectionPlan(Injection().step(0), "test"));
  CHECK_ERROR(E31, InjectionPlan(Injection().times(-1), "test"));
}
