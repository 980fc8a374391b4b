// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/scale_echo.h>

#include "support/doctest.h"
#include "support/operators.h"

// On a GPU, where the answer comes later, it is tested in cuda/amp_on_cuda_test.cpp.

TEST_CASE("The echo is the scale at the time of the question, and how often it may have moved") {
  const auto scale = torch::full({}, 8.0);
  torchamp::ScaleEcho echo;
  HostReadCounter reads;

  CHECK_FALSE(echo.is_asked());
  echo.ask(scale);
  CHECK(echo.is_asked());
  scale.fill_(4.0);
  const auto answer = echo.poll();

  CHECK(answer->scale == 8);
  CHECK(answer->moves_since == 1);
  CHECK_FALSE(echo.is_asked());
  CHECK(reads.more() == 0);
}
