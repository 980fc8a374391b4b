// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>

static_assert(__cplusplus > 201703L, "torchamp must not force this project's C++20 down");

int main() {
  const torchamp::AutocastGuard autocast(at::kCPU, at::kBFloat16);
  return at::autocast::is_autocast_enabled(at::kCPU) ? 0 : 1;
}
