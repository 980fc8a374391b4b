// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/cpu_features.h>
#include <torchamp/detail/cuda_features.h>
#include <torchamp/detail/libtorch.h>

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace torchamp {
inline namespace v0 {

/// The accelerator that this program can use, or the CPU.   Host sync: none.
inline c10::Device default_device() {
  return c10::Device(detail::usable_accelerator().value_or(c10::kCPU));
}

/// The dtype that an autocast region on `device` casts to when none is named: LibTorch's setting,
/// out of the box bfloat16 on a CPU and float16 on most accelerators.   Host sync: none.
inline at::ScalarType default_dtype(c10::Device device) {
  return at::autocast::get_autocast_dtype(device.type());
}

/// What mixed precision can be expected to do on a device.
struct Advice {
  /// True if steps are expected to be faster than in float32.
  bool pays;
  /// The dtype to give to AutocastGuard.
  at::ScalarType dtype;
  /// True if `dtype` needs a GradScaler: float16 underflows without one, bfloat16 does not.
  bool needs_scaling;
  /// The same in sentences, with the reason.
  std::string text;
};

namespace detail {

inline Advice advise_cpu(const CpuFeatures& cpu) {
  if (cpu.native_bf16()) {
    const char* unit = cpu.amx_bf16 ? "AMX" : cpu.avx512_bf16 ? "AVX512-BF16" : "Arm BF16";
    return {true, at::kBFloat16, false,
            std::string("This CPU multiplies bfloat16 in hardware (") + unit +
                "): autocast to bfloat16 is expected to be faster than float32 on matrix products"
                " and convolutions that are large enough. bfloat16 has float32's range, so no"
                " loss scaling is needed."};
  }
  return {false, at::kBFloat16, false,
          "This CPU has no bfloat16 or float16 arithmetic (AVX512-BF16, AMX or Arm BF16): LibTorch"
          " converts every operand to float32 and back, so AMP is expected to be several times"
          " slower than float32 here. Use it to check that a model trains in mixed precision and"
          " to see the memory it saves; train in float32, or on a GPU with tensor cores."};
}

inline Advice advise_cuda() {
  const auto gpu = cuda_features();
  if (gpu.bfloat16) {
    return {true, at::kHalf, true,
            "This GPU has tensor cores for float16 and bfloat16: AMP is expected to be faster than"
            " float32 where matrix products and convolutions dominate. float16 needs a"
            " GradScaler; bfloat16 does not, at fewer digits."};
  }
  if (gpu.float16) {
    return {true, at::kHalf, true,
            "This GPU has tensor cores for float16 but not for bfloat16: use float16 with a"
            " GradScaler; bfloat16 would be emulated and slow."};
  }
  return {false, at::kHalf, true,
          "This GPU seems to have no tensor cores: AMP saves memory here, but little or no time."};
}

}  // namespace detail

/// Says what AMP can do on `device` and whether it pays.   Host sync: none.
inline Advice advise(c10::Device device) {
  if (device.is_cpu()) return detail::advise_cpu(detail::cpu_features());
  if (device.is_cuda() && detail::usable_accelerator() == c10::kCUDA) return detail::advise_cuda();
  const auto dtype = default_dtype(device);
  return {true, dtype, dtype == at::kHalf,
          "torchamp cannot ask a " + c10::DeviceTypeName(device.type(), /*lower_case=*/true) +
              " device what it multiplies in hardware: measure a step in float32 and in AMP."};
}

}  // namespace v0
}  // namespace torchamp
