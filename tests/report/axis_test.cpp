// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/axis.h>

#include "support/doctest.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using torchamp::AxisScale;
using torchamp::Unit;
using torchamp::detail::Axis;
using torchamp::detail::axis_unit;

namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> found;
  for (const Axis::Tick& tick : axis.ticks()) found.push_back(tick.label);
  return found;
}

using Labels = std::vector<std::string>;

Axis::Options with_scale(AxisScale scale) {
  Axis::Options options;
  options.scale = scale;
  return options;
}

}  // namespace

TEST_CASE("An axis has ticks at 1, 2 and 5 times a power of ten, and ends at ticks") {
  CHECK(labels(Axis(0, 10, {})) == Labels{"0", "2", "4", "6", "8", "10"});
  CHECK(labels(Axis(0.3, 2.4, {})) == Labels{"0", "0.5", "1.0", "1.5", "2.0", "2.5"});
  CHECK(labels(Axis(-3, 42000, {})) ==
        Labels{"-10,000", "0", "10,000", "20,000", "30,000", "40,000", "50,000"});
}

TEST_CASE("An axis places its values between 0 and 1") {
  const Axis axis(0, 10, {});

  CHECK(axis.place(0) == 0);
  CHECK(axis.place(5) == 0.5);
  CHECK(axis.place(10) == 1);
  CHECK(axis.ticks()[1].place == doctest::Approx(0.2));
}

TEST_CASE("An axis can end where its values do, with ticks between") {
  Axis::Options options;
  options.round_ends = false;

  const Axis axis(0, 469, options);

  CHECK(axis.place(469) == 1);
  CHECK(labels(axis) == Labels{"0", "100", "200", "300", "400"});
}

TEST_CASE("An axis of whole numbers has ticks at whole numbers alone") {
  Axis::Options options;
  options.whole = true;

  CHECK(labels(Axis(0, 2, options)) == Labels{"0", "1", "2"});
  CHECK(labels(Axis(3, 3, options)) == Labels{"2", "3", "4"});
}

TEST_CASE("An axis from zero shows zero") {
  Axis::Options options;
  options.from_zero = true;

  CHECK(Axis(90, 100, options).place(0) == 0);
  CHECK(Axis(-100, -90, options).place(0) == 1);
  CHECK(Axis(90, 100, {}).place(0) < 0);
}

TEST_CASE("An axis of one value, or of none, has room around it") {
  const Axis five(5, 5, {});
  CHECK(five.place(5) == doctest::Approx(0.5));
  CHECK(five.ticks().size() >= 2);

  const Axis zero(0, 0, {});
  CHECK(zero.place(0) == 0);
  CHECK(zero.place(1) == 1);

  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(Axis(infinity, -infinity, {}).ticks().size() >= 2);
  CHECK(Axis(infinity, -infinity, with_scale(AxisScale::Log2)).ticks().size() >= 2);
}

TEST_CASE("An axis of huge, tiny or nearly equal values has finite places and few ticks") {
  using Limits = std::numeric_limits<double>;
  const double pairs[][2] = {{-(Limits::max)(), (Limits::max)()},
                             {0, (Limits::max)()},
                             {(Limits::max)(), (Limits::max)()},
                             {0, Limits::denorm_min()},
                             {-Limits::denorm_min(), Limits::denorm_min()},
                             {1e-300, 2e-300},
                             {(Limits::min)(), 1},
                             {1, 1 + Limits::epsilon()},
                             {1e15, 1e15 + 1},
                             {-1e-5, 1e9}};
  for (const auto& pair : pairs) {
    for (const AxisScale scale : {AxisScale::Linear, AxisScale::Log2, AxisScale::Log10}) {
      if (scale != AxisScale::Linear && pair[0] <= 0) continue;
      CAPTURE(pair[0]);
      CAPTURE(pair[1]);
      const Axis axis(pair[0], pair[1], with_scale(scale));

      for (const double value : {pair[0], pair[1]}) {
        CHECK(axis.place(value) >= -1e-9);
        CHECK(axis.place(value) <= 1 + 1e-9);
      }
      CHECK(axis.ticks().size() >= 1);
      CHECK(axis.ticks().size() <= 12);
      for (const Axis::Tick& tick : axis.ticks()) {
        CHECK(std::isfinite(tick.place));
        CHECK(tick.label.size() < 24);
      }
    }
  }
}

TEST_CASE("In every unit an axis of the least and the largest doubles has finite places") {
  using Limits = std::numeric_limits<double>;
  const double pairs[][2] = {{Limits::denorm_min(), 1e13},
                             {Limits::denorm_min(), (Limits::max)()},
                             {(Limits::max)(), (Limits::max)()}};
  for (const auto& pair : pairs) {
    for (const Unit unit : {Unit::Bytes, Unit::Seconds, Unit::Fraction}) {
      for (const AxisScale scale : {AxisScale::Linear, AxisScale::Log2, AxisScale::Log10}) {
        CAPTURE(pair[0]);
        CAPTURE(pair[1]);
        CAPTURE(torchamp::unit_name(unit));
        Axis::Options options = with_scale(scale);
        options.unit = axis_unit(unit, pair[1]);
        const Axis axis(pair[0], pair[1], options);

        for (const double value : {pair[0], pair[1]}) {
          CHECK(axis.place(value) >= -1e-9);
          CHECK(axis.place(value) <= 1 + 1e-9);
        }
        CHECK(axis.ticks().size() >= 1);
        CHECK(axis.ticks().size() <= 12);
      }
    }
  }
}

TEST_CASE("Ticks of very large or small values are in powers of ten") {
  CHECK(labels(Axis(0, 4e8, {})) == Labels{"0", "10⁸", "2×10⁸", "3×10⁸", "4×10⁸"});
  CHECK(labels(Axis(0, 5e-7, {})) == Labels{"0", "10⁻⁷", "2×10⁻⁷", "3×10⁻⁷", "4×10⁻⁷", "5×10⁻⁷"});
}

TEST_CASE("On an axis to the base of 2 a doubling is one distance, with room on both sides") {
  const Axis axis(16384, 65536, with_scale(AxisScale::Log2));

  CHECK(labels(axis) == Labels{"8,192", "16,384", "32,768", "65,536", "131,072"});
  CHECK(axis.place(32768) == doctest::Approx(0.5));
  CHECK(axis.place(65536) - axis.place(32768) ==
        doctest::Approx(axis.place(32768) - axis.place(16384)));
}

TEST_CASE("On a logarithmic axis small values are powers") {
  CHECK(labels(Axis(0.3, 3, with_scale(AxisScale::Log2))) ==
        Labels{"2⁻²", "2⁻¹", "2⁰", "2¹", "2²"});
  CHECK(labels(Axis(2e-5, 0.5, with_scale(AxisScale::Log10))) ==
        Labels{"10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"});
}

TEST_CASE("An axis has no place for what is not finite, a logarithmic one none for 0 and below") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Axis linear(0, 1, {});
  const Axis logarithmic(1, 4, with_scale(AxisScale::Log2));

  CHECK(linear.shows(0));
  CHECK(linear.shows(-5));
  CHECK_FALSE(linear.shows(infinity));
  CHECK_FALSE(linear.shows(infinity - infinity));
  CHECK(logarithmic.shows(1e-300));
  CHECK_FALSE(logarithmic.shows(0));
  CHECK_FALSE(logarithmic.shows(-1));
  CHECK_FALSE(logarithmic.shows(infinity));
}

TEST_CASE("An axis is in the unit that gives its largest value few digits") {
  CHECK(axis_unit(Unit::Seconds, 0.0123).name == "ms");
  CHECK(axis_unit(Unit::Seconds, 2).name == "s");
  CHECK(axis_unit(Unit::Seconds, 1e-12).name == "ns");
  CHECK(axis_unit(Unit::Seconds, 0).name == "s");
  CHECK(axis_unit(Unit::Bytes, 27.3e6).name == "MB");
  CHECK(axis_unit(Unit::Bytes, 0).name == "B");
  CHECK(axis_unit(Unit::Fraction, 1).name == "%");
  CHECK(axis_unit(Unit::Fraction, 1e305).name == "");  // in percent it would be inf
  CHECK(axis_unit(Unit::PerSecond, 1).name == "per second");
  CHECK(axis_unit(Unit::Ratio, 1).name == "times");
  CHECK(axis_unit(Unit::Plain, 1).name == "");

  Axis::Options options;
  options.unit = axis_unit(Unit::Seconds, 0.012);
  const Axis axis(0, 0.012, options);
  CHECK(labels(axis) == Labels{"0", "5", "10", "15"});
  CHECK(axis.place(0.0075) == doctest::Approx(0.5));
}

TEST_CASE("Powers are written in superscript") {
  CHECK(torchamp::detail::power_text(2, -14) == "2⁻¹⁴");
  CHECK(torchamp::detail::power_text(10, 0) == "10⁰");
  CHECK(torchamp::detail::power_text(10, 36) == "10³⁶");
}
