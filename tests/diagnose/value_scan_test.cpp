// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/value_scan.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <cmath>
#include <limits>
#include <vector>

using torchamp::detail::number_of;
using torchamp::detail::scan_on_cpu;
using torchamp::detail::scan_on_device;
using torchamp::detail::scannable;
using torchamp::detail::ValueScan;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const std::vector<torch::ScalarType> real_dtypes = {torch::kHalf, torch::kBFloat16, torch::kFloat,
                                                    torch::kDouble};

ValueScan scanned(const torch::Tensor& tensor) {
  return scan_on_cpu(scannable(tensor), tensor.is_complex() ? 2 : 1);
}

ValueScan scanned_by_operators(const torch::Tensor& tensor) {
  const auto scan = scan_on_device(scannable(tensor), tensor.is_complex() ? 2 : 1);
  const auto* const numbers = scan.const_data_ptr<int64_t>();
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

}  // namespace

TEST_CASE("Inf, NaN, the largest finite number and the first bad place are found in every dtype") {
  for (const auto dtype : real_dtypes) {
    CAPTURE(dtype);
    const auto values =
        torch::tensor({1.0, -8.0, 2.0, -infinity, not_a_number, 4.0, infinity}).to(dtype);
    for (const auto& scan : {scanned(values), scanned_by_operators(values)}) {
      CHECK(scan.inf_count == 2);
      CHECK(scan.nan_count == 1);
      CHECK(number_of(scan.largest_bits, dtype) == 8);
      CHECK(scan.first == 3);
    }
  }
}

TEST_CASE("The largest number of a dtype is finite, and what follows it is inf") {
  const auto half = torch::tensor({65504.0, -65504.0}).to(torch::kHalf);
  CHECK(scanned(half).finite());
  CHECK(number_of(scanned(half).largest_bits, torch::kHalf) == 65504);
  CHECK(scanned(half * 2).inf_count == 2);
  const auto largest = torch::full({1}, (std::numeric_limits<double>::max)(), torch::kDouble);
  CHECK(scanned(largest).finite());
  CHECK(number_of(scanned(largest).largest_bits, torch::kDouble) ==
        (std::numeric_limits<double>::max)());
  CHECK(scanned_by_operators(largest).finite());
}

TEST_CASE("Zeros and subnormal numbers are finite") {
  const auto values = torch::tensor({0.0F, -0.0F, 1e-45F});
  for (const auto& scan : {scanned(values), scanned_by_operators(values)}) {
    CHECK(scan.finite());
    CHECK(number_of(scan.largest_bits, torch::kFloat) == 1.401298464324817e-45);
  }
}

TEST_CASE("A complex number is NaN if a part is, else inf if a part is") {
  const auto parts = torch::tensor(
      {{1.0, -3.0}, {not_a_number, infinity}, {infinity, 0.0}, {0.0, -infinity}, {2.0, 0.0}});
  for (const auto dtype : {torch::kFloat, torch::kDouble}) {
    CAPTURE(dtype);
    const auto values = torch::view_as_complex(parts.to(dtype));
    for (const auto& seen : {values, values.conj()}) {
      for (const auto& scan : {scanned(seen), scanned_by_operators(seen)}) {
        CHECK(scan.nan_count == 1);
        CHECK(scan.inf_count == 2);
        CHECK(scan.first == 1);
        CHECK(number_of(scan.largest_bits, dtype) == 3);
      }
    }
  }
}

TEST_CASE("Dtypes of one byte are scanned as float32") {
  const auto values = torch::tensor({1.0, 57344.0, infinity, not_a_number}).to(torch::kFloat8_e5m2);
  const auto wide = scannable(values);
  CHECK(wide.scalar_type() == torch::kFloat);
  CHECK(scanned(values).inf_count == 1);
  CHECK(scanned(values).nan_count == 1);
  CHECK(number_of(scanned(values).largest_bits, torch::kFloat) == 57344);
}

TEST_CASE("Places are counted row by row in what is not contiguous") {
  auto values = torch::zeros({2, 3});
  values[0][2] = infinity;  // place 4 of the transposed one
  for (const auto& scan : {scanned(values.t()), scanned_by_operators(values.t())}) {
    CHECK(scan.first == 4);
    CHECK(scan.inf_count == 1);
  }
}

TEST_CASE("Random bits are told apart as isinf and isnan tell them") {
  torch::manual_seed(7);
  for (const auto dtype : real_dtypes) {
    CAPTURE(dtype);
    const auto bytes = torch::randint(0, 256, {4096 * 8}, torch::kByte);
    const auto values = bytes.view(dtype);
    const auto finite = values.isfinite();
    const auto largest = values.masked_select(finite).to(torch::kDouble).abs().max();
    for (const auto& scan : {scanned(values), scanned_by_operators(values)}) {
      CHECK(scan.inf_count == values.isinf().sum().item<int64_t>());
      CHECK(scan.nan_count == values.isnan().sum().item<int64_t>());
      CHECK(number_of(scan.largest_bits, dtype) == largest.item<double>());
      if (!scan.finite()) {
        CHECK(scan.first == finite.logical_not().nonzero()[0].item<int64_t>());
      }
    }
  }
}

TEST_CASE("A scan on a CPU calls no operator, and one by operators reads nothing on the host") {
  const auto values = torch::tensor({1.0F, 2.0F});
  OperatorCounter operators;
  (void)scan_on_cpu(values, 1);
  CHECK(operators.more() == 0);

  HostReadCounter reads;
  (void)scan_on_device(values, 1);
  CHECK(reads.more() == 0);
}
