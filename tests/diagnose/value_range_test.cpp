// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/value_range.h>

#include "support/doctest.h"

#include <cmath>

using torchamp::ValueRange;
using torchamp::detail::best_scale_for;
using torchamp::detail::format_magnitude;
using torchamp::detail::format_part;
using torchamp::detail::format_scale;
using torchamp::detail::format_share;
using torchamp::detail::share_of;

namespace {

/// `count` values in (2^(exponent-1), 2^exponent].
ValueRange with(int exponent, int64_t count) {
  ValueRange range;
  range.count = count;
  range.by_exponent[static_cast<std::size_t>(exponent - ValueRange::lowest_exponent)] = count;
  return range;
}

/// One number that is not 0.
ValueRange one(double magnitude) {
  auto range = with(static_cast<int>(std::ceil(std::log2(magnitude))), 1);
  range.largest = range.smallest = magnitude;
  return range;
}

}  // namespace

TEST_CASE("What float16 flushes is what it rounds to zero") {
  CHECK(static_cast<float>(c10::Half(static_cast<float>(torchamp::float16_flushes))) == 0);
  CHECK(static_cast<float>(c10::Half(static_cast<float>(torchamp::float16_flushes * 1.001))) ==
        torchamp::float16_smallest);

  CHECK(with(-25, 3).flushed() == 3);
  CHECK(with(-24, 3).flushed() == 0);
}

TEST_CASE("A scale saves values from being flushed") {
  auto range = with(-30, 4);
  range += with(-25, 1);

  CHECK(range.flushed(1) == 5);
  CHECK(range.flushed(2) == 4);
  CHECK(range.flushed(3.9) == 4);
  CHECK(range.flushed(32) == 4);
  CHECK(range.flushed(64) == 0);
}

TEST_CASE("A scale below 1 flushes more") {
  CHECK(with(-20, 2).flushed(1) == 0);
  CHECK(with(-20, 2).flushed(1.0 / 32) == 2);
}

TEST_CASE("Ranges add up") {
  ValueRange a;
  a.count = 3;
  a.zeros = 1;
  a.largest = 8;
  a.smallest = 2;
  ValueRange b;
  b.count = 4;
  b.infs = 1;
  b.nans = 2;
  b.largest = b.smallest = 1;
  a += b;

  CHECK(a.count == 7);
  CHECK(a.non_zero() == 3);
  CHECK(a.largest == 8);
  CHECK(a.smallest == 1);
}

TEST_CASE("A range without values other than 0 leaves the smallest alone") {
  ValueRange a;
  a.smallest = 2;
  a += ValueRange{};
  CHECK(a.smallest == 2);

  ValueRange b;
  b += a;
  CHECK(b.smallest == 2);
}

TEST_CASE("What is below the normal numbers of float16 is flushed or subnormal") {
  auto range = with(-25, 3);
  range += with(-20, 2);
  range.below_normal = 5;

  CHECK(range.flushed() == 3);
  CHECK(range.subnormal() == 2);
}

TEST_CASE("Bins can be asked one by one and added up, outside of them there is nothing") {
  auto range = with(-126, 1);
  range += with(3, 2);
  range += with(128, 4);

  CHECK(range.in_bin(3) == 2);
  CHECK(range.in_bin(4) == 0);
  CHECK(range.up_to(3) == 3);
  CHECK(range.up_to(-127) == 0);
  CHECK(range.up_to(1000) == 7);
}

TEST_CASE("The usual scale is kept unless another loses less or does not overflow") {
  CHECK(best_scale_for(ValueRange{}, 2) == 65536);
  CHECK(best_scale_for(one(0.1), 2) == 65536);  // 0.1 * 65536 * 2 is 13107
  CHECK(best_scale_for(one(1), 2) == 16384);    // 1 * 32768 * 2 is 65536
  CHECK(best_scale_for(one(1), 1) == 32768);
  CHECK(best_scale_for(one(65504), 1) == 1);
  CHECK(best_scale_for(one(65505), 1) == 0.5);
}

TEST_CASE("A larger scale than usual is taken if it saves gradients, and no larger than needed") {
  CHECK(best_scale_for(one(1e-12), 2) == 65536);   // 6.6e-8: saved already
  CHECK(best_scale_for(one(1e-13), 2) == 524288);  // 2^18 * 1e-13 is 2.6e-8, 2^19 saves it
  CHECK(best_scale_for(one(1e-30), 2) == 65536);   // no scale saves it
}

TEST_CASE("The best scale is within 2^24 of 1") {
  CHECK(best_scale_for(one(1e30), 2) == 1.0 / 16777216);
  CHECK(best_scale_for(one(2e-15), 2) == 16777216);
  CHECK(best_scale_for(one(1e-15), 2) == 65536);  // 2^25 would save it
}

TEST_CASE("The best scale is the same, at whatever scale the gradients were measured") {
  for (const double gradient : {1.0, 1e-13, 1e-30, 1e30}) {
    CAPTURE(gradient);
    for (const double scale : {1024.0, 1073741824.0, 1.0 / 1073741824}) {
      CAPTURE(scale);
      CHECK(best_scale_for(one(gradient * scale), 2, scale) == best_scale_for(one(gradient), 2));
    }
  }
  CHECK(best_scale_for(one(3), 1, 3) == 49152);  // 3 * 2^14, times 1 is below 65504
}

TEST_CASE("Magnitudes are short and exact enough") {
  CHECK(format_magnitude(0) == "0");
  CHECK(format_magnitude(1) == "1");
  CHECK(format_magnitude(0.25) == "0.25");
  CHECK(format_magnitude(65504) == "65504");
  CHECK(format_magnitude(100000) == "1e5");
  CHECK(format_magnitude(120000) == "1.2e5");
  CHECK(format_magnitude(1e-9) == "1e-9");
  CHECK(format_magnitude(3.4e38) == "3.4e38");
  CHECK(format_magnitude(1.5e-20) == "1.5e-20");
}

TEST_CASE("bfloat16 overflows where it would round up beyond its largest") {
  // Its largest is (2 - 2^-7) * 2^127, and the next would be 2^128.
  CHECK(torchamp::bfloat16_overflows == std::ldexp(2 - 1.0 / 256, 127));
  const auto limit = static_cast<float>(torchamp::bfloat16_overflows);
  CHECK(std::isinf(static_cast<float>(c10::BFloat16(limit))));
  CHECK(std::isfinite(static_cast<float>(c10::BFloat16(std::nextafter(limit, 0.0F)))));
}

TEST_CASE("Scales are written out, to be copied into a program") {
  CHECK(format_scale(4194304) == "4194304");
  CHECK(format_scale(16777216) == "16777216");
  CHECK(format_scale(65536) == "65536");
  CHECK(format_scale(0.5) == "0.5");
}

TEST_CASE("Shares are in percent") {
  CHECK(format_share(1, 2) == "50 %");
  CHECK(format_share(1, 40) == "2.5 %");
  CHECK(format_share(1, 100000) == "less than 0.1 %");
}

TEST_CASE("Parts are a count, of how many, and a share") {
  CHECK(format_part(0, 0) == "none");
  CHECK(format_part(3, 1000) == "3 of 1,000 (0.3 %)");
  CHECK(share_of(1, 4) == 0.25);
  CHECK(share_of(0, 0) == 0);
}
