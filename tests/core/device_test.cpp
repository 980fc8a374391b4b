// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/device.h>

#include "support/doctest.h"

#include <string>

namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("The default device is the accelerator if there is one, else the CPU") {
  const bool cuda = torch::cuda::is_available();

  if (cuda) CHECK(torchamp::default_device().is_cuda());
  if (!torchamp::detail::usable_accelerator()) CHECK(torchamp::default_device().is_cpu());
}

TEST_CASE("The default dtype is bfloat16 on a CPU and float16 on CUDA") {
  CHECK(torchamp::default_dtype(torch::kCPU) == torch::kBFloat16);
  CHECK(torchamp::default_dtype(torch::kCUDA) == torch::kHalf);
}

TEST_CASE("On a CPU without bfloat16 arithmetic the advice is that AMP is slower, and why") {
  const auto advice = torchamp::detail::advise_cpu({});

  CHECK_FALSE(advice.pays);
  CHECK(advice.dtype == torch::kBFloat16);
  CHECK_FALSE(advice.needs_scaling);
  CHECK(says(advice.text, "slower than float32"));
  CHECK(says(advice.text, "converts every operand"));
}

TEST_CASE("On a CPU with bfloat16 arithmetic the advice names the unit and no scaling") {
  torchamp::detail::CpuFeatures cpu;
  cpu.amx_bf16 = true;

  const auto advice = torchamp::detail::advise_cpu(cpu);

  CHECK(advice.pays);
  CHECK_FALSE(advice.needs_scaling);
  CHECK(says(advice.text, "AMX"));
}

TEST_CASE("Advice for this CPU follows what the CPU can do") {
  CHECK(torchamp::advise(torch::kCPU).pays == torchamp::detail::cpu_features().native_bf16());
}

TEST_CASE("On a device that cannot be asked the advice is to measure") {
  const auto advice = torchamp::advise(torch::kXPU);

  CHECK(says(advice.text, "xpu"));
  CHECK(says(advice.text, "measure"));
}
