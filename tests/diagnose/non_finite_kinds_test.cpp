// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite_kinds.h>
#include <torchamp/probe/memory.h>

#include "support/doctest.h"

#include <limits>
#include <string>

using torchamp::NonFiniteKinds;
using torchamp::detail::has_kinds;
using torchamp::detail::kinds_by_operators;
using torchamp::detail::kinds_of;
using torchamp::detail::largest_finite;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// "+" for inf, "-" for -inf, "n" for NaN; "" for a finite tensor.
std::string text_of(const NonFiniteKinds& kinds) {
  return std::string(kinds.positive_inf ? "+" : "") + (kinds.negative_inf ? "-" : "") +
         (kinds.nan ? "n" : "");
}

}  // namespace

TEST_CASE("Each kind is found in each dtype, in memory as by operators") {
  for (const auto dtype : {torch::kHalf, torch::kBFloat16, torch::kFloat, torch::kDouble}) {
    const auto of = [&](const torch::Tensor& tensor) {
      const auto values = tensor.to(dtype);
      CHECK(text_of(kinds_by_operators(values)) == text_of(kinds_of(values)));
      return text_of(kinds_of(values));
    };
    CHECK(of(torch::tensor({1.F, -2.F, 0.F})) == "");
    CHECK(of(torch::tensor({1.F, inf, 0.F})) == "+");
    CHECK(of(torch::tensor({1.F, -inf, 0.F})) == "-");
    CHECK(of(torch::tensor({not_a_number, 1.F, -not_a_number})) == "n");
    CHECK(of(torch::tensor({not_a_number, inf, -inf})) == "+-n");
  }
}

TEST_CASE("The largest and the smallest numbers are finite") {
  CHECK_FALSE(kinds_of(torch::full({2}, 65504.0).to(torch::kHalf)).any());
  CHECK_FALSE(kinds_of(torch::full({2}, -(std::numeric_limits<float>::max)())).any());
  CHECK_FALSE(kinds_of(torch::full({2}, std::numeric_limits<float>::denorm_min())).any());
}

TEST_CASE("Complex numbers are looked at in both parts, float8 numbers as float32") {
  const auto imaginary = torch::complex(torch::tensor({1.F, 2.F}), torch::tensor({0.F, -inf}));
  CHECK(text_of(kinds_of(imaginary)) == "-");
  CHECK(text_of(kinds_of(torch::stack({imaginary, imaginary}, 1).select(1, 0))) == "-");
  CHECK(text_of(kinds_of(torch::tensor({1.F, inf}).to(torch::kFloat8_e5m2))) == "+");
}

TEST_CASE("A view is looked at where it is and nowhere else") {
  auto all = torch::zeros({3, 4, 5});
  all[1][2][3] = inf;

  CHECK(kinds_of(all.transpose(0, 2)).positive_inf);
  CHECK(kinds_of(all.slice(2, 3, 4)).positive_inf);
  CHECK(kinds_of(all.slice(2, 1, 5, 2)).positive_inf);
  CHECK(kinds_of(all.slice(1, 2, 4).slice(0, 1, 3)).positive_inf);
  CHECK(kinds_of(all.select(2, 3).select(0, 1)).positive_inf);
  CHECK(kinds_of(all[1][2][3].expand({7, 7})).positive_inf);
  CHECK_FALSE(kinds_of(all.slice(2, 0, 3)).any());
  CHECK_FALSE(kinds_of(all.slice(2, 0, 5, 2)).any());
  CHECK_FALSE(kinds_of(all.select(0, 2)).any());
  CHECK_FALSE(kinds_of(all[1][2][2].expand({7, 7})).any());
}

TEST_CASE("A value anywhere in a large tensor is found") {
  for (const int64_t place : {0, 8191, 8192, 19999}) {
    auto large = torch::zeros({20000});
    large[place] = not_a_number;
    CHECK(text_of(kinds_of(large)) == "n");
  }
}

TEST_CASE("Sparse tensors are looked at in the values that they have") {
  const auto sparse =
      torch::sparse_coo_tensor(torch::tensor({{0, 2}}), torch::tensor({1.F, inf}), {3});
  CHECK(has_kinds(sparse));
  CHECK(text_of(kinds_of(sparse)) == "+");
}

TEST_CASE("What has no values to look at counts as finite") {
  CHECK(has_kinds(torch::ones({1})));
  CHECK_FALSE(has_kinds(torch::Tensor()));
  CHECK_FALSE(has_kinds(torch::ones({2}, torch::kLong)));
  CHECK_FALSE(has_kinds(torch::ones({2}, torch::kBool)));
  CHECK_FALSE(has_kinds(torch::ones({0})));
  CHECK_FALSE(has_kinds(torch::ones({2}, torch::kMeta)));
}

TEST_CASE("Tensors with a storage and no memory behind it count as finite") {
  auto freed = torch::ones({2});
  freed.storage().unsafeGetStorageImpl()->reset();

  CHECK(freed.numel() == 2);
  CHECK_FALSE(has_kinds(freed));
  CHECK_FALSE(has_kinds(at::_efficientzerotensor({2})));  // of forward-mode derivatives
}

TEST_CASE("The largest finite magnitude is that of any sign, and of a part of complex numbers") {
  CHECK(largest_finite(torch::tensor({1.F, -3.F, 2.F})) == 3);
  CHECK(largest_finite(torch::tensor({1.F, inf, not_a_number}).to(torch::kHalf)) == 1);
  CHECK(largest_finite(torch::tensor({inf})) == 0);
  CHECK(largest_finite(torch::complex(torch::tensor({1.F}), torch::tensor({-4.F}))) == 4);
  CHECK(largest_finite(torch::tensor({8.F}).to(torch::kFloat8_e5m2)) == 8);
  const auto indices = torch::tensor({{0, 2}});
  CHECK(largest_finite(torch::sparse_coo_tensor(indices, torch::tensor({1.F, 5.F}), {3})) == 5);
  CHECK(largest_finite(torch::zeros({3}).to_sparse()) == 0);
}

TEST_CASE("On a CPU nothing is allocated to look at a tensor") {
  const auto x = torch::ones({64, 64}).slice(1, 0, 63);
  const torchamp::MemoryProbe probe(torch::kCPU);

  kinds_of(x);

  CHECK(probe.usage().allocations == 0);
}
