// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/unscaled_gradients.h>

#include "support/doctest.h"

using torchamp::UnscaledGradients;

TEST_CASE("A gradient is known, with who unscaled it, until the iteration ends") {
  UnscaledGradients<const char> unscaled;
  const char somebody = 's';
  const auto gradient = torch::ones({1});
  CHECK(unscaled.empty());

  unscaled.add({gradient}, &somebody);
  CHECK(unscaled.find(gradient) == &somebody);
  CHECK(unscaled.find(torch::ones({1})) == nullptr);

  unscaled.clear();
  CHECK(unscaled.empty());
  CHECK(unscaled.find(gradient) == nullptr);
}

TEST_CASE("A new gradient at a freed one's address is not taken for it") {
  UnscaledGradients<const char> unscaled;
  const char somebody = 's';
  auto gradient = torch::ones({1});
  const auto* const address = gradient.unsafeGetTensorImpl();
  unscaled.add({gradient}, &somebody);

  gradient = torch::Tensor();
  // The weak reference keeps the address from being given out, so no new tensor can stand there.
  for (int i = 0; i < 100; ++i) {
    const auto fresh = torch::ones({1});
    CHECK(fresh.unsafeGetTensorImpl() != address);
    CHECK(unscaled.find(fresh) == nullptr);
  }
}

TEST_CASE("A gradient that was unscaled is not kept alive") {
  UnscaledGradients<const char> unscaled;
  const char somebody = 's';
  auto gradient = torch::ones({1});
  unscaled.add({gradient}, &somebody);

  CHECK(gradient.use_count() == 1);
}
