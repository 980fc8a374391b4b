// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/training.h"

#include "support/doctest.h"

#include <vector>

using examples::Batches;
using examples::FashionMnist;
using examples::Training;

namespace {

/// Losses of a few steps from the seed 1.
std::vector<double> losses_of(torch::ScalarType dtype) {
  torch::manual_seed(1);
  Batches batches(FashionMnist::synthetic(8, /*seed=*/1), 4, torch::kCPU);
  Training training(torch::kCPU, dtype);
  torchamp::StepContext context;
  std::vector<double> losses;
  for (int step = 0; step < 4; ++step) {
    batches.advance();
    losses.push_back(training.step(batches, context).item<double>());
  }
  return losses;
}

}  // namespace

TEST_CASE("FP32 and AMP train from the same weights on the same batches, each in its precision") {
  const auto full = losses_of(torch::kFloat);
  const auto half = losses_of(torch::kBFloat16);

  CHECK(full == losses_of(torch::kFloat));
  CHECK(full != half);
  CHECK(half[0] == doctest::Approx(full[0]).epsilon(0.01));
  CHECK(full[3] < full[0]);
}

TEST_CASE("Only float16 is scaled") {
  Batches batches(FashionMnist::synthetic(4, /*seed=*/1), 4, torch::kCPU);
  batches.advance();
  for (const auto dtype : {torch::kFloat, torch::kBFloat16, torch::kHalf}) {
    Training training(torch::kCPU, dtype);
    torchamp::StepContext context;
    training.step(batches, context);

    CHECK(context.scale().has_value() == (dtype == torch::kHalf));
  }
}

TEST_CASE("Accuracy is a share of the images") {
  Training training(torch::kCPU, torch::kBFloat16);

  const double accuracy = training.accuracy(FashionMnist::synthetic(10, /*seed=*/2));

  CHECK(accuracy >= 0);
  CHECK(accuracy <= 1);
}

TEST_CASE("A training has the name that people read") {
  CHECK(examples::training_name(torch::kFloat) == "FP32");
  CHECK(examples::training_name(torch::kBFloat16) == "AMP bf16");
  CHECK(examples::training_name(torch::kHalf) == "AMP fp16");
}
