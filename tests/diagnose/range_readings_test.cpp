// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/range_readings.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <cmath>
#include <limits>
#include <utility>

using torchamp::ValueRange;
using torchamp::detail::has_range;
using torchamp::detail::RangeReadings;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

ValueRange range_of(const torch::Tensor& tensor, float factor = 1) {
  RangeReadings readings;
  readings.add(tensor, factor);
  return std::move(readings).read().at(0);
}

/// The same by the operators that devices other than a CPU need.
ValueRange by_operators(const torch::Tensor& tensor, float factor = 1) {
  RangeReadings readings(/*by_operators=*/true);
  readings.add(tensor, factor);
  return std::move(readings).read().at(0);
}

void check_same(const ValueRange& a, const ValueRange& b) {
  CHECK(a.count == b.count);
  CHECK(a.zeros == b.zeros);
  CHECK(a.infs == b.infs);
  CHECK(a.nans == b.nans);
  CHECK(a.above_float16 == b.above_float16);
  CHECK(a.below_normal == b.below_normal);
  CHECK(a.largest == b.largest);
  CHECK(a.smallest == b.smallest);
  CHECK(a.by_exponent == b.by_exponent);
}

double power(int exponent) { return std::ldexp(1.0, exponent); }

/// Random signs, fractions and exponents, from -160 to 160, powers of two, and what is special.
torch::Tensor all_kinds() {
  torch::manual_seed(7);
  const auto random = torch::randn({3000}, torch::kDouble) *
                      torch::pow(2.0, torch::randint(-160, 160, {3000}, torch::kDouble));
  const auto powers = torch::pow(2.0, torch::arange(-150, 128, torch::kDouble));
  const auto special = torch::tensor({0.0, -0.0, 65504.0, 65519.0, 65520.0, 65536.0, double{inf},
                                      -double{inf}, double{not_a_number}},
                                     torch::kDouble);
  return torch::cat({random, powers, special}).to(torch::kFloat);
}

}  // namespace

TEST_CASE("A range knows the largest and the smallest magnitude") {
  const auto range = range_of(torch::tensor({-8.0f, 0.0f, 0.5f, 2.0f}));

  CHECK(range.count == 4);
  CHECK(range.zeros == 1);
  CHECK(range.non_zero() == 3);
  CHECK(range.largest == 8);
  CHECK(range.smallest == 0.5);
}

TEST_CASE("Float16 holds 65519 as 65504, and makes 65520 inf") {
  const auto range = range_of(torch::tensor({65504.0f, 65519.0f, -65520.0f, 1e30f}));

  CHECK(range.above_float16 == 2);
  CHECK(range.largest == doctest::Approx(1e30));
}

TEST_CASE("Values are flushed where float16 rounds them to zero") {
  const float flushes = std::ldexp(1.0f, -25);
  const auto range = range_of(torch::tensor({flushes, std::nextafter(flushes, 1.0f), 1e-9f, 1.0f}));

  CHECK(range.flushed() == 2);
  CHECK(range.flushed(2) == 1);   // 2^-24 stays
  CHECK(range.flushed(64) == 0);  // 6.4e-8 is above 2^-25
}

TEST_CASE("What is counted is what LibTorch's casts do, at any scale") {
  const auto values = all_kinds();
  const auto doubles = values.to(torch::kDouble);
  for (const float scale : {1.0f, 1024.0f, 65536.0f, 0.25f, 3.0f, 1000.1f}) {
    CAPTURE(scale);
    const auto cast = (doubles * scale).to(torch::kHalf);
    const auto range = range_of(values, scale);
    const auto lost = cast.eq(0).logical_and(values.ne(0)).sum().item<int64_t>();
    CHECK(range.flushed() == lost);
    CHECK(range.above_float16 == cast.isinf().logical_and(values.isfinite()).sum().item<int64_t>());
    const auto small = (doubles * scale).abs().lt(power(-14)).logical_and(values.ne(0));
    CHECK(range.below_normal == small.sum().item<int64_t>());
    CHECK(range.subnormal() == range.below_normal - lost);
  }
}

TEST_CASE("What a range says of another scale is what LibTorch's casts do at it") {
  const auto values = all_kinds();
  const auto range = range_of(values, 256);
  for (const double scale : {1.0, 4.0, 1024.0, 1.0 / 64}) {
    const auto cast = (values.to(torch::kDouble) * 256 * scale).to(torch::kHalf);
    CHECK(range.flushed(scale) == cast.eq(0).logical_and(values.ne(0)).sum().item<int64_t>());
  }
}

TEST_CASE("Each number is in the bin of the power of two that is not below it") {
  const auto range = range_of(torch::tensor({1.0f, -1.5f, 2.0f, 0.125f, 0.0f}));

  CHECK(range.in_bin(0) == 1);
  CHECK(range.in_bin(1) == 2);
  CHECK(range.in_bin(-3) == 1);
  CHECK(range_of(torch::tensor({1.0f}), 16).in_bin(4) == 1);
}

TEST_CASE("Subnormal numbers of float16 are counted") {
  const auto normal = static_cast<float>(power(-14));
  const auto range = range_of(torch::tensor({normal, std::nextafter(normal, 0.0f), 0.0f}));

  CHECK(range.below_normal == 1);
  CHECK(range.subnormal() == 1);
}

TEST_CASE("Operators count what the pass over memory counts, and read nothing") {
  for (const auto dtype : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
    CAPTURE(torch::toString(dtype));
    const auto values = all_kinds().to(dtype);
    check_same(by_operators(values), range_of(values));
    // Products that float32 can hold, so that both are the same.
    const auto middle = values.masked_fill(values.abs().gt(1e30).logical_and(values.isfinite()), 1);
    check_same(by_operators(middle, 1024), range_of(middle, 1024));
  }
  check_same(by_operators(torch::tensor({0.0f, inf})), range_of(torch::tensor({0.0f, inf})));

  RangeReadings readings(/*by_operators=*/true);
  HostReadCounter reads;
  readings.add(torch::ones({3}), 2);
  readings.add(torch::ones({2}));
  CHECK(reads.more() == 0);
  OperatorCounter copies("aten::stack");
  CHECK(std::move(readings).read().size() == 2);
  CHECK(copies.more() == 1);
}

TEST_CASE("A product that float32 cannot hold is above float16, and no inf") {
  for (const auto& range :
       {range_of(torch::tensor({1e38f}), 65536), by_operators(torch::tensor({1e38f}), 65536)}) {
    CHECK(range.above_float16 == 1);
    CHECK(range.infs == 0);
    CHECK(range.in_bin(ValueRange::highest_exponent) == 1);
  }
  for (const auto& range :
       {range_of(torch::tensor({1e-45f}), 0.25f), by_operators(torch::tensor({1e-45f}), 0.25f)}) {
    CHECK(range.flushed() == 1);
    CHECK(range.below_normal == 1);
    CHECK(range.zeros == 0);
  }
}

TEST_CASE("Inf and NaN are counted apart and are no magnitudes") {
  const auto range = range_of(torch::tensor({inf, -inf, not_a_number, 3.0f}));

  CHECK(range.infs == 2);
  CHECK(range.nans == 1);
  CHECK(range.zeros == 0);
  CHECK(range.non_zero() == 1);
  CHECK(range.above_float16 == 0);
  CHECK(range.largest == 3);
  CHECK(range.smallest == 3);
}

TEST_CASE("Zeros alone have no smallest magnitude") {
  const auto range = range_of(torch::zeros({5}));

  CHECK(range.zeros == 5);
  CHECK(range.smallest == 0);
  CHECK(range.largest == 0);
}

TEST_CASE("A complex number is two numbers, conjugate and negative views have their magnitudes") {
  const auto complex = torch::full({1}, c10::complex<float>(3, -4));
  CHECK(range_of(complex).count == 2);
  for (const auto& values : {complex, torch::conj(complex), torch::imag(torch::conj(complex))}) {
    CHECK(range_of(values).largest == 4);
  }
  CHECK(range_of(complex).smallest == 3);
}

TEST_CASE("Sparse values count once each, duplicates added up") {
  const auto indices = torch::tensor({0, 0, 2}, torch::kLong).reshape({1, 3});
  const auto sparse =
      torch::sparse_coo_tensor(indices, torch::tensor({40000.0f, 40000.0f, 1.0f}), {1000});
  const auto range = range_of(sparse);

  CHECK(range.count == 2);
  CHECK(range.above_float16 == 1);
  CHECK(range_of(torch::sparse_coo_tensor({1000}, torch::kFloat)).count == 0);
  CHECK(range_of(torch::eye(3).to_sparse_csr()).count == 3);
}

TEST_CASE("Other floating dtypes and strides count as well") {
  CHECK(range_of(torch::full({2}, 3.0, torch::kDouble)).largest == 3);
  CHECK(range_of(torch::full({2}, 3.0, torch::kBFloat16)).largest == 3);
  CHECK(range_of(torch::arange(6.0f).reshape({2, 3}).t()).largest == 5);
  CHECK(range_of(torch::ones({1}).expand({7})).count == 7);
}

TEST_CASE("Exponents below the bins are in the first one") {
  const auto range = range_of(torch::tensor({1e-40f, 1e-37f, 1e30f}));

  CHECK(range.by_exponent.front() == 1);
  CHECK(range.in_bin(-122) == 1);
  CHECK(range.in_bin(100) == 1);
  CHECK(range.flushed() == 2);
}

TEST_CASE("What has no floating values has no range") {
  CHECK(has_range(torch::ones({1})));
  CHECK_FALSE(has_range(torch::Tensor()));
  CHECK_FALSE(has_range(torch::ones({1}, torch::kLong)));
  CHECK_FALSE(has_range(torch::ones({0})));
  CHECK_FALSE(has_range(torch::ones({1}, torch::kMeta)));
}

TEST_CASE("Measuring changes no tensor, and ranges have the numbers of their tensors") {
  const auto x = torch::full({3}, -2.0f, torch::requires_grad());
  const auto version = x._version();
  RangeReadings readings;
  {
    HostReadCounter reads;
    readings.add(x);
    readings.add(x);
    readings.add(x * 2);
    CHECK(reads.more() == 0);
  }

  const auto ranges = std::move(readings).read();
  CHECK(ranges.size() == 3);
  CHECK(ranges[0].largest == 2);
  CHECK(ranges[2].largest == 4);
  CHECK(x._version() == version);
}
