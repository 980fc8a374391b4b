// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/optim/flat_buffer.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <optional>
#include <vector>

using torchamp::detail::FlatBuffer;

namespace {

/// A buffer of parameters without names.
FlatBuffer buffer_of(const std::vector<torch::Tensor>& parameters) {
  std::vector<torchamp::detail::PlacedParameter> placed;
  for (const auto& parameter : parameters) {
    placed.push_back({parameter, {placed.size(), std::nullopt, std::nullopt}});
  }
  return {torch::kCPU, torch::kFloat, placed};
}

}  // namespace

TEST_CASE("A buffer is a copy until it is attached, and then the parameters' memory") {
  const auto a = torch::full({2}, 3.0).requires_grad_();
  auto buffer = buffer_of({a});
  CHECK_FALSE(buffer.holds(0, a));

  buffer.attach();
  CHECK(buffer.holds(0, a));
  CHECK(buffer.contains(a.const_data_ptr()));
  CHECK(a.storage().nbytes() == 8);
  buffer.tensor().detach().fill_(5);
  CHECK(torch::equal(a, torch::full({2}, 5.0)));
}

TEST_CASE("A buffer does not keep its parameters alive, and passes over those that are gone") {
  auto a = torch::ones({2}).requires_grad_(), b = torch::ones({2}).requires_grad_();
  auto buffer = buffer_of({a, b});
  buffer.attach();

  a = torch::Tensor();
  CHECK_FALSE(buffer.parameter(0).defined());
  CHECK(buffer.parameter(1).is_same(b));
  buffer.release(1);
  CHECK_FALSE(buffer.parameter(1).defined());
  b.set_data(torch::ones({7}));
  CHECK(buffer.moved().empty());
  CHECK_NOTHROW(buffer.settle());
}

TEST_CASE("A parameter with other memory of the same kind is known, and taken back by settle()") {
  const auto a = torch::ones({2}).requires_grad_();
  auto buffer = buffer_of({a});
  buffer.attach();
  CHECK(buffer.moved().empty());

  a.set_data(torch::full({2}, 4.0));
  REQUIRE(buffer.moved().size() == 1);
  CHECK(buffer.moved()[0].tensor.is_same(a));
  buffer.settle();
  CHECK(buffer.holds(0, a));
  CHECK(buffer.tensor().sum().item<float>() == 8);
  a.set_data(torch::ones({2}, torch::kDouble));
  CHECK_ERROR(E23, buffer.moved());
}
