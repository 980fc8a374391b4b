// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A region is a scope of one thread: a guard that moves could end it elsewhere, or twice.
// expect: deleted

#include <torchamp/core/autocast.h>

#include <utility>

void moved_autocast_guard();
void moved_autocast_guard() {
  torchamp::AutocastGuard autocast(at::kCPU);
#ifndef TORCHAMP_RIGHT_WAY
  torchamp::AutocastGuard moved(std::move(autocast));
#endif
}
