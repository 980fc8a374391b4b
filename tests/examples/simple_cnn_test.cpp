// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/simple_cnn.h"

#include "support/doctest.h"

using examples::SimpleCnn;

TEST_CASE("SimpleCnn gives 10 scores an image, for any number of images") {
  SimpleCnn model;

  CHECK(model->forward(torch::zeros({5, 3, 32, 32})).sizes() == torch::IntArrayRef({5, 10}));
  CHECK(model->forward(torch::zeros({1, 3, 32, 32})).sizes() == torch::IntArrayRef({1, 10}));
}

TEST_CASE("SimpleCnn's linear layer fits the feature map of the image size") {
  SimpleCnn model;
  SimpleCnn small(/*image_size=*/28);

  CHECK(model->named_parameters()["linear.weight"].size(1) == 64 * 8 * 8);
  CHECK(small->named_parameters()["linear.weight"].size(1) == 64 * 7 * 7);
  CHECK(small->forward(torch::zeros({2, 3, 28, 28})).sizes() == torch::IntArrayRef({2, 10}));
}

TEST_CASE("SimpleCnn has the parameters of its three layers, all of them trained") {
  SimpleCnn model;
  int64_t count = 0;
  for (const auto& parameter : model->parameters()) {
    CHECK(parameter.requires_grad());
    count += parameter.numel();
  }

  CHECK(count == (3 * 9 + 1) * 32 + (32 * 9 + 1) * 64 + (4096 + 1) * 10);
}
