// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/cuda_features.h>

#include "support/doctest.h"

TEST_CASE("Nothing is claimed of a CUDA device unless it was asked") {
  const torchamp::detail::CudaFeatures features;

  CHECK_FALSE(features.float16);
  CHECK_FALSE(features.bfloat16);
}

TEST_CASE("A CUDA device with tensor cores for bfloat16 has those for float16 too") {
  if (!torch::cuda::is_available()) {
    MESSAGE("there is no CUDA device to ask");
    return;
  }
  const auto features = torchamp::detail::cuda_features();

  if (features.bfloat16) CHECK(features.float16);
}
