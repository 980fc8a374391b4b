// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/op_stats_call.h>

#include "support/doctest.h"

#include <vector>

using torchamp::detail::bytes_of;
using torchamp::detail::leading_dtype;
using torchamp::detail::OperatorFacts;
using torchamp::detail::OpStatsCall;

namespace {

using Values = std::vector<c10::IValue>;

/// The bytes of a call with these arguments and results.
int64_t bytes_of_call(const OperatorFacts& op, const Values& inputs, const Values& outputs) {
  OpStatsCall call;
  call.op = &op;
  call.read_memory(c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
  return call.bytes(outputs);
}

const auto x = torch::ones({4});  // 16 bytes
const auto y = torch::ones({3});  // 12 bytes

}  // namespace

TEST_CASE("The leading dtype is that of the first numbers with decimals, else that of the first") {
  const auto whole = torch::ones({2}, torch::kLong);
  const auto half = torch::ones({2}, torch::kHalf);

  CHECK(leading_dtype(Values{}) == c10::ScalarType::Undefined);
  CHECK(leading_dtype(Values{2.0, torch::Tensor()}) == c10::ScalarType::Undefined);
  CHECK(leading_dtype(Values{whole}) == torch::kLong);
  CHECK(leading_dtype(Values{whole, half, x}) == torch::kHalf);
  CHECK(leading_dtype(Values{std::vector<torch::Tensor>{whole, x}, half}) == torch::kFloat);
  CHECK(leading_dtype(Values{whole, torch::ones({1}, torch::kComplexFloat)}) ==
        torch::kComplexFloat);
}

TEST_CASE("A tensor's bytes are those of its numbers; a sparse one has none that are known") {
  CHECK(bytes_of(torch::ones({2, 3}, torch::kHalf)) == 12);
  CHECK(bytes_of(x.slice(0, 0, 2)) == 8);
  CHECK(bytes_of(torch::ones({0})) == 0);
  CHECK(bytes_of(torch::ones({2, 2}).to_sparse()) == 0);
}

TEST_CASE("What a call makes counts, views and what is handed through do not") {
  const OperatorFacts plain;

  CHECK(bytes_of_call(plain, {x}, {y}) == 12);
  CHECK(bytes_of_call(plain, {x}, {y, x.clone()}) == 28);
  CHECK(bytes_of_call(plain, {x}, {x}) == 0);
  CHECK(bytes_of_call(plain, {x}, {x.view({2, 2})}) == 0);
  CHECK(bytes_of_call(plain, {y, std::vector<torch::Tensor>{x}}, {x[0], y.clone()}) == 12);
  CHECK(bytes_of_call(plain, {x}, {}) == 0);
  CHECK(bytes_of_call(plain, {x}, {torch::ones({2}).to_sparse()}) == 0);
}

TEST_CASE("What a call changes counts once, whether it returns it or not") {
  OperatorFacts in_place;
  in_place.writes_inputs = true;
  in_place.written = {1, 0};
  CHECK(bytes_of_call(in_place, {x, y}, {x}) == 16);

  OperatorFacts foreach = in_place;
  foreach
    .returns_nothing = true;
  CHECK(bytes_of_call(foreach, {std::vector<torch::Tensor>{x, y}, y}, {}) == 28);
}
