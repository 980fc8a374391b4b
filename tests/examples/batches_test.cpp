// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/batches.h"

#include "support/doctest.h"

using examples::Batches;
using examples::FashionMnist;

TEST_CASE("Batches go on epoch after epoch, each with every image once, but for the last ones") {
  const auto data = FashionMnist::synthetic(5, /*seed=*/1);
  Batches batches(data, 2, torch::kCPU);
  CHECK(batches.batches_per_epoch() == 2);

  for (int epoch = 0; epoch < 3; ++epoch) {
    batches.advance();
    const auto first = batches.images;
    CHECK(first.size(0) == 2);
    CHECK(batches.labels.size(0) == 2);
    batches.advance();
    CHECK(batches.images.size(0) == 2);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) CHECK_FALSE(torch::equal(first[i], batches.images[j]));
    }
  }
}

TEST_CASE("The order of the images comes from the random generator") {
  const auto data = FashionMnist::synthetic(8, /*seed=*/1);
  const auto images_of = [&](int seed) {
    torch::manual_seed(static_cast<std::uint64_t>(seed));
    Batches batches(data, 4, torch::kCPU);
    batches.advance();
    return batches.images;
  };

  CHECK(torch::equal(images_of(1), images_of(1)));
  CHECK_FALSE(torch::equal(images_of(1), images_of(2)));
}

TEST_CASE("A batch has at most all images") {
  Batches batches(FashionMnist::synthetic(3, /*seed=*/1), 64, torch::kCPU);

  CHECK(batches.batch_size() == 3);
  CHECK(batches.batches_per_epoch() == 1);
}
