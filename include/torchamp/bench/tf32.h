// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/libtorch.h>

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Device.h>

#include <cstddef>

namespace torchamp {
inline namespace v0 {

/// True if `device` is a GPU that can multiply float32 with the 10 bits of TF32.   Host sync: none.
///
/// There, "float32" is two baselines: strict, and with TF32, which is several times as fast and
/// rounds as coarsely as float16. AMP has to be compared with both.
inline bool has_tf32(c10::Device device) {
  // TF32 and bfloat16 convolutions came with the same generation, compute capability 8; for the
  // latter there is a question that needs no CUDA header.
  return device.is_cuda() && detail::usable_accelerator() == c10::kCUDA &&
         at::detail::getCUDAHooks().supportsBFloat16ConvolutionWithCuDNNv8();
}

/// What a variant's float32 products and convolutions are.
enum class Float32Math {
  AsSet,   ///< what the program has set
  Strict,  ///< float32 with all of its digits
  Tf32,    ///< TF32 where the device has it
};

/// Allows or forbids TF32 in matrix products and convolutions of float32, for this scope.
///
///     torchamp::Tf32Guard strict(false);  // out of the box LibTorch takes TF32 for convolutions
///
/// The settings are LibTorch's own and hold for the whole process, backward threads included. They
/// may be set on any machine, and act on GPUs that have TF32.   Host sync: none.
/// Threads: no other thread may change the settings meanwhile.
/// Throws: LibTorch's error if a program has set them by both of LibTorch's interfaces, the old one
/// (`setAllowTF32CuBLAS`) and the newer one (`setFloat32Precision`), to different values.
class Tf32Guard {
 public:
  [[nodiscard]] explicit Tf32Guard(bool allowed)
      : outer_products_(at::globalContext().allowTF32CuBLAS()),
        outer_medium_(at::globalContext().float32MatmulPrecision() ==
                      at::Float32MatmulPrecision::MEDIUM),
        outer_convolutions_(at::globalContext().allowTF32CuDNN()) {
    set(allowed, allowed);
  }
  ~Tf32Guard() {
    set(outer_products_, outer_convolutions_);
    // LibTorch knows a third setting for products, which allows bfloat16 as well.
    if (outer_medium_) at::globalContext().setFloat32MatmulPrecision("medium");
  }

  // A guard is a scope.
  Tf32Guard(const Tf32Guard&) = delete;
  Tf32Guard& operator=(const Tf32Guard&) = delete;
  Tf32Guard(Tf32Guard&&) = delete;
  Tf32Guard& operator=(Tf32Guard&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  static void set(bool products, bool convolutions) {
    at::globalContext().setAllowTF32CuBLAS(products);
    at::globalContext().setAllowTF32CuDNN(convolutions);
  }

  bool outer_products_;
  bool outer_medium_;
  bool outer_convolutions_;
};

}  // namespace v0
}  // namespace torchamp
