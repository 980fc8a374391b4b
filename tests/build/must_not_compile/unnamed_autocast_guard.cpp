// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A guard without a name ends at its own semicolon, before the code that it should cover.
// expect: nodiscard

#include <torchamp/core/autocast.h>

void unnamed_autocast_guard();
void unnamed_autocast_guard() {
#ifdef TORCHAMP_RIGHT_WAY
  torchamp::AutocastGuard autocast(at::kCPU);
#else
  torchamp::AutocastGuard(c10::DeviceType::CPU);
#endif
}
