// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/libtorch.h>

#include "support/doctest.h"

TEST_CASE("libtorch_at_least compares the major version first") {
  CHECK(torchamp::detail::libtorch_at_least(1, 99));
  CHECK(torchamp::detail::libtorch_at_least(2, 4));
  CHECK(torchamp::detail::libtorch_at_least(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR));
  CHECK_FALSE(torchamp::detail::libtorch_at_least(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR + 1));
  CHECK_FALSE(torchamp::detail::libtorch_at_least(TORCH_VERSION_MAJOR + 1, 0));
}

TEST_CASE("The usable accelerator is a CUDA device exactly where LibTorch says one is available") {
  CHECK((torchamp::detail::usable_accelerator() == c10::kCUDA) == torch::cuda::is_available());
}

TEST_CASE("A CPU has nothing to wait for, has float64 and has no caching allocator") {
  CHECK_NOTHROW(torchamp::detail::synchronize(c10::kCPU));
  CHECK(torchamp::detail::has_float64(c10::kCPU));
  CHECK_FALSE(torchamp::detail::has_float64(c10::Device(c10::kMPS)));
  CHECK_FALSE(torchamp::detail::allocator_bytes(c10::kCPU).has_value());
}
