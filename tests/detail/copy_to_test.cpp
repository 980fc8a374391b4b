// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/copy_to.h>

#include "support/doctest.h"

TEST_CASE("A tensor that is on the device already is not copied") {
  const auto tensor = torch::ones({2});

  CHECK(torchamp::detail::copy_to(tensor, torch::kCPU).is_same(tensor));
}

TEST_CASE("A copy for another device stands there, with the same shape and dtype") {
  const auto copy = torchamp::detail::copy_to(torch::ones({2}), torch::kMeta);

  CHECK(copy.is_meta());
  CHECK(copy.sizes() == torch::IntArrayRef{2});
  CHECK(copy.scalar_type() == torch::kFloat);
}
