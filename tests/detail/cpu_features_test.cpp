// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/cpu_features.h>

#include "support/doctest.h"

#include <fstream>
#include <sstream>
#include <string>

namespace {

// The kernel's own list of what the processor can do; empty where there is none.
std::string flags_of_the_kernel() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) return line + " ";
  }
  return "";
}

}  // namespace

TEST_CASE("Any one of the three bfloat16 units makes bfloat16 native") {
  torchamp::detail::CpuFeatures none, avx, amx, arm;
  avx.avx512_bf16 = true;
  amx.amx_bf16 = true;
  arm.arm_bf16 = true;

  CHECK_FALSE(none.native_bf16());
  CHECK(avx.native_bf16());
  CHECK(amx.native_bf16());
  CHECK(arm.native_bf16());
}

TEST_CASE("What the processor says is what the kernel says") {
  const auto features = torchamp::detail::cpu_features();
  const std::string flags = flags_of_the_kernel();
  if (flags.empty()) {
    MESSAGE("this system has no /proc/cpuinfo with flags to compare with");
    return;
  }

  CHECK(features.avx512_bf16 == (flags.find(" avx512_bf16 ") != std::string::npos));
  CHECK(features.amx_bf16 == (flags.find(" amx_bf16 ") != std::string::npos));
}
