// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/metric.h>

#include "support/doctest.h"

#include <limits>
#include <string>

using torchamp::format;
using torchamp::Metric;
using torchamp::Unit;

TEST_CASE("A metric reads as its value with its unit") {
  CHECK(Metric{"a", "a", Unit::Seconds, 0.0123}.text() == "12.3 ms");
  CHECK(Metric{"a", "a", Unit::Bytes, 27300000}.text() == "27.3 MB");
  CHECK(Metric{"a", "a", Unit::Count, 60000}.text() == "60,000");
  CHECK(Metric{"a", "a", Unit::PerSecond, 1234.4}.text() == "1,234/s");
  CHECK(Metric{"a", "a", Unit::Ratio, 0.62}.text() == "0.62x");
  CHECK(Metric{"a", "a", Unit::Fraction, 0.914}.text() == "91.4 %");
  CHECK(Metric{"a", "a", Unit::Plain, 0.42126}.text() == "0.4213");
  CHECK(Metric{"a", "a", Unit::Plain, 65536}.text() == "65,536");
}

TEST_CASE("A metric without a value says why, and zero is a value") {
  Metric scale{"final_scale", "final loss scale"};

  CHECK(scale.text() == "not measured");

  scale.absent = "no scaling";
  CHECK(scale.text() == "no scaling");

  scale.value = 0;
  CHECK(scale.text() == "0");
}

TEST_CASE("NaN and infinity have no unit") {
  const double infinity = std::numeric_limits<double>::infinity();

  for (const Unit unit : {Unit::Plain, Unit::Seconds, Unit::Bytes, Unit::Count, Unit::PerSecond,
                          Unit::Ratio, Unit::Fraction}) {
    CAPTURE(torchamp::unit_name(unit));
    CHECK(format(infinity, unit) == "inf");
    CHECK(format(-infinity, unit) == "-inf");
    CHECK(format(infinity - infinity, unit) == "NaN");
  }
}

TEST_CASE("Numbers too large or too small for a unit's usual digits still read as what they are") {
  CHECK(format(1e20, Unit::Bytes) == "1e+20 B");
  CHECK(format(1e9, Unit::Seconds) == "1,000,000,000 s");
  CHECK(format(1.5e-15, Unit::Seconds) == "1.5e-15 s");
  CHECK(format(0.5, Unit::PerSecond) == "0.5/s");
  CHECK(format(12.34, Unit::PerSecond) == "12.3/s");
  CHECK(format(0.002, Unit::Ratio) == "0.002x");
  CHECK(format(1e7, Unit::Ratio) == "10,000,000x");
  CHECK(format(0, Unit::Ratio) == "0.00x");
  CHECK(format(0.0000123, Unit::Fraction) == "0.00123 %");
  CHECK(format(0, Unit::Fraction) == "0.0 %");
  CHECK(format(2.5, Unit::Count) == "2.5");
  CHECK(torchamp::format_number(-1e300) == "-1e+300");
  CHECK(torchamp::format_number(5.9604644775390625e-8) == "5.96e-08");
  CHECK(torchamp::format_number(999999999999999) == "999,999,999,999,999");
}

TEST_CASE("Units have names for programs") {
  CHECK(std::string(torchamp::unit_name(Unit::Plain)) == "plain");
  CHECK(std::string(torchamp::unit_name(Unit::Seconds)) == "seconds");
  CHECK(std::string(torchamp::unit_name(Unit::Bytes)) == "bytes");
  CHECK(std::string(torchamp::unit_name(Unit::Count)) == "count");
  CHECK(std::string(torchamp::unit_name(Unit::PerSecond)) == "per_second");
  CHECK(std::string(torchamp::unit_name(Unit::Ratio)) == "ratio");
  CHECK(std::string(torchamp::unit_name(Unit::Fraction)) == "fraction");
}
