// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/detail/CUDAHooksInterface.h>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Tensor cores that the current CUDA device is known to have. Both false where it is not known:
/// without cuDNN, and on AMD's devices.
struct CudaFeatures {
  bool float16 = false;   ///< compute capability 7.0 or newer
  bool bfloat16 = false;  ///< compute capability 8.0 or newer
};

/// Only where a CUDA device can be used.   Host sync: none.
inline CudaFeatures cuda_features() {
  // LibTorch's device-generic code has no word for tensor cores. cuDNN's own conditions stand in:
  // grouped convolutions ask for compute capability 7, bfloat16 convolutions for 8.
  const auto& cuda = at::detail::getCUDAHooks();
  const bool bfloat16 = cuda.supportsBFloat16ConvolutionWithCuDNNv8();
  return {bfloat16 || cuda.supportsDepthwiseConvolutionWithCuDNN(), bfloat16};
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
