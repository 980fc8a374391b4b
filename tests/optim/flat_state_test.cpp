// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/flat_state.h>

#include "support/doctest.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

using torchamp::detail::FlatBuffer;
using torchamp::detail::FlatHook;
using torchamp::detail::FlatState;

namespace {

std::shared_ptr<FlatState> state_of(const torch::Tensor& parameter) {
  std::vector<FlatBuffer> buffers;
  buffers.emplace_back(
      torch::kCPU, torch::kFloat,
      std::vector<torchamp::detail::PlacedParameter>{{parameter, {0, std::nullopt, std::nullopt}}});
  auto state = std::make_shared<FlatState>(std::move(buffers));
  state->attach();
  FlatHook::attach(state);
  return state;
}

}  // namespace

TEST_CASE("A state is in use while somebody holds a flat tensor") {
  const auto parameter = torch::ones({2}).requires_grad_();
  const auto state = state_of(parameter);
  CHECK_FALSE(state->in_use());

  {
    const auto tensor = state->buffers()[0].tensor();
    CHECK(state->in_use());
  }
  CHECK_FALSE(state->in_use());
}

TEST_CASE("A state that is not in use lets go of its buffers at the next backward pass") {
  const auto parameter = torch::ones({2}).requires_grad_();
  const auto state = state_of(parameter);
  parameter.sum().backward();
  CHECK(state->buffers().empty());
  CHECK_FALSE(state->holds(0, 0, parameter));
  CHECK_NOTHROW(parameter.sum().backward());
  CHECK(torch::equal(parameter.grad(), torch::full({2}, 2.0)));
}

TEST_CASE("A parameter has the hook of one state, the last") {
  const auto parameter = torch::ones({2}).requires_grad_();
  CHECK(FlatHook::of(parameter) == nullptr);
  auto first = state_of(parameter);
  const auto in_use = first->buffers()[0].tensor();
  CHECK(FlatHook::of(parameter)->is_active(parameter));

  const auto second = state_of(parameter);
  CHECK_FALSE(first->buffers()[0].parameter(0).defined());
  CHECK_FALSE(FlatHook::of(parameter)->is_active(parameter));  // nobody uses the second
  const auto in_use_too = second->buffers()[0].tensor();
  CHECK(FlatHook::of(parameter)->is_active(parameter));
  parameter.sum().backward();
  CHECK_FALSE(first->buffers()[0].tensor().grad().defined());
  CHECK(second->buffers()[0].tensor().grad().sum().item<float>() == 2);

  const std::weak_ptr<FlatState> old = first;
  first.reset();
  CHECK(old.expired());
}
