// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/memory_usage.h>

#include "support/doctest.h"

TEST_CASE("What nobody has told is empty rather than 0") {
  const torchamp::MemoryUsage usage;

  for (const auto& bytes :
       {usage.live_bytes, usage.peak_bytes, usage.allocations, usage.allocated_bytes,
        usage.reserved_bytes, usage.peak_allocated_bytes, usage.peak_reserved_bytes}) {
    CHECK_FALSE(bytes.has_value());
  }
  CHECK(usage.largest.empty());
  CHECK_FALSE(torchamp::MemoryAllocation().operator_name.has_value());
}
