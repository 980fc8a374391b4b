// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A lap without a name ends at its own semicolon, and times nothing.
// expect: nodiscard

#include <torchamp/probe/timer.h>

void unnamed_timer_lap();
void unnamed_timer_lap() {
  torchamp::Timer timer(at::kCPU);
#ifdef TORCHAMP_RIGHT_WAY
  const auto lap = timer.phase("step");
#else
  timer.phase("step");
#endif
}
