// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/tf32.h>

#include "support/doctest.h"

#include <stdexcept>
#include <type_traits>

using torchamp::Tf32Guard;

static_assert(!std::is_copy_constructible_v<Tf32Guard>);
static_assert(!std::is_move_constructible_v<Tf32Guard>);

namespace {

bool products() { return at::globalContext().allowTF32CuBLAS(); }
bool convolutions() { return at::globalContext().allowTF32CuDNN(); }

}  // namespace

TEST_CASE("A TF32 guard sets products and convolutions, and restores each as it was") {
  REQUIRE_FALSE(products());  // as LibTorch begins
  REQUIRE(convolutions());
  {
    const Tf32Guard strict(false);
    CHECK_FALSE(products());
    CHECK_FALSE(convolutions());
    {
      const Tf32Guard allowed(true);
      CHECK(products());
      CHECK(convolutions());
    }
    CHECK_FALSE(products());
    CHECK_FALSE(convolutions());
  }
  CHECK_FALSE(products());
  CHECK(convolutions());
}

TEST_CASE("A TF32 guard restores after an exception") {
  try {
    const Tf32Guard allowed(true);
    throw std::runtime_error("step failed");
  } catch (const std::runtime_error&) {
  }

  CHECK_FALSE(products());
}

TEST_CASE("The third setting of products, medium, is restored too") {
  at::globalContext().setFloat32MatmulPrecision("medium");
  { const Tf32Guard strict(false); }

  CHECK(at::globalContext().float32MatmulPrecision() == at::Float32MatmulPrecision::MEDIUM);
  at::globalContext().setFloat32MatmulPrecision("highest");
}

TEST_CASE("A CPU has no TF32, and a GPU has it if it has bfloat16 convolutions") {
  CHECK_FALSE(torchamp::has_tf32(torch::kCPU));
  if (!torch::cuda::is_available()) CHECK_FALSE(torchamp::has_tf32(torch::kCUDA));
}
