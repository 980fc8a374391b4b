// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/scoped_timer.h>

#include "support/doctest.h"
#include "support/fake_clock.h"
#include "support/fake_device.h"

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <type_traits>

using FakeScopedTimer = torchamp::BasicScopedTimer<FakeClock>;

static_assert(!std::is_copy_constructible_v<FakeScopedTimer>);
static_assert(!std::is_move_constructible_v<FakeScopedTimer>);

TEST_CASE("A scoped timer prints one line when its scope ends, and nothing before") {
  std::ostringstream out;
  {
    const FakeScopedTimer timer{"FP32 training", out, torch::kCPU};
    pass_seconds(2);
    CHECK(out.str().empty());
  }
  CHECK(out.str() == "FP32 training: 2.00 s\n");
}

TEST_CASE("A scoped timer prints to standard output unless told otherwise") {
  std::ostringstream out;
  auto* const before = std::cout.rdbuf(out.rdbuf());
  { const torchamp::ScopedTimer timer{"FP32 training"}; }
  std::cout.rdbuf(before);
  CHECK(out.str().rfind("FP32 training: ", 0) == 0);
}

TEST_CASE("A scoped timer says that an exception ended its scope") {
  std::ostringstream out;
  try {
    const FakeScopedTimer timer{"step", out, torch::kCPU};
    pass_seconds(1);
    throw std::runtime_error("step failed");
  } catch (const std::runtime_error&) {
  }
  CHECK(out.str() == "step: 1.00 s, ended by an exception\n");
}

TEST_CASE("A scoped timer waits for the device at both ends") {
  FakeDevice fake;
  std::ostringstream out;
  {
    const FakeScopedTimer timer{"step", out, fake.device};
    CHECK(fake.waits() == 1);
  }
  CHECK(fake.waits() == 1);
}

TEST_CASE("A scoped timer never throws, not even when the stream does") {
  std::ostringstream out;
  out.exceptions(std::ios::badbit | std::ios::failbit);
  CHECK_NOTHROW([&] {
    const FakeScopedTimer timer{"step", out, torch::kCPU};
    try {
      out.setstate(std::ios::badbit);
    } catch (const std::ios::failure&) {
    }
  }());
  CHECK(out.str().empty());
}
