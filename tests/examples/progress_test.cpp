// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/progress.h"

#include "support/doctest.h"

#include <sstream>
#include <string>

using examples::Progress;

TEST_CASE("Progress writes a line every 20 steps and at the end where there is no terminal") {
  std::ostringstream out;
  Progress progress(out, "FP32", /*steps=*/21, /*terminal=*/false);

  for (int step = 0; step < 21; ++step) progress.advance(0.5);

  CHECK(out.str() == "FP32  step 20/21  loss 0.5000\nFP32  step 21/21  loss 0.5000\n");
}

TEST_CASE("Progress draws over one line on a terminal and ends it at the end") {
  std::ostringstream out;
  Progress progress(out, "FP32", /*steps=*/2, /*terminal=*/true);

  progress.advance(0.5);
  progress.advance(0.25);

  CHECK(out.str() ==
        "\rFP32  [###############...............]  1/2  loss 0.5000  "
        "\rFP32  [##############################]  2/2  loss 0.2500  \n");
}
