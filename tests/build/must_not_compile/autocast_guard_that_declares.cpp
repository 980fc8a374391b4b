// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// `AutocastGuard(device);` declares a variable called device; the message says how to write it.
// expect: declares a variable called device

#include <torchamp/core/autocast.h>

void autocast_guard_that_declares();
void autocast_guard_that_declares() {
#ifdef TORCHAMP_RIGHT_WAY
  const c10::Device device(at::kCPU);
  torchamp::AutocastGuard autocast(device);
#else
  torchamp::AutocastGuard device;  // what AutocastGuard(device); means, without a warning of GCC's
#endif
}
