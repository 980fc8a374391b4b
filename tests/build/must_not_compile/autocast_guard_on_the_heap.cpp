// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A guard on the heap lives as long as nobody says, not as long as a scope.
// expect: deleted

#include <torchamp/core/autocast.h>

void autocast_guard_on_the_heap();
void autocast_guard_on_the_heap() {
#ifdef TORCHAMP_RIGHT_WAY
  torchamp::AutocastGuard autocast(at::kCPU);
#else
  new torchamp::AutocastGuard(at::kCPU);
#endif
}
