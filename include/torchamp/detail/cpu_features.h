// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Half-precision arithmetic that the CPU has in hardware. LibTorch converts to float32 and back
/// where it is missing. All false on a processor that this header cannot ask.
struct CpuFeatures {
  bool avx512_bf16 = false;
  bool amx_bf16 = false;
  bool arm_bf16 = false;

  bool native_bf16() const { return avx512_bf16 || amx_bf16 || arm_bf16; }
};

/// Asks the processor itself, since LibTorch's own question changed with nearly every release.
inline CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    features.amx_bf16 = ((edx >> 22) & 1U) != 0;
    const unsigned deepest_subleaf = eax;
    if (deepest_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) {
      features.avx512_bf16 = ((eax >> 5) & 1U) != 0;
    }
  }
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long hwcap2_bf16 = 1UL << 14;
  features.arm_bf16 = (getauxval(AT_HWCAP2) & hwcap2_bf16) != 0;
#endif
  return features;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
