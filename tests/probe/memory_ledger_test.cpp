// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/memory_ledger.h>

#include "support/doctest.h"

#include <vector>

using torchamp::detail::AllocatorBytes;
using torchamp::detail::MemoryLedger;

namespace {

const torch::Device gpu(torch::kCUDA, 0);

/// Addresses for blocks that nobody looks into.
char memory[9];

class Blocks {
 public:
  explicit Blocks(MemoryLedger& ledger, torch::Device device = torch::kCPU)
      : ledger_(ledger), device_(device) {}
  void make(int block, int64_t bytes) { ledger_.note(&memory[block], bytes, {}, device_); }
  void free(int block, int64_t bytes) { ledger_.note(&memory[block], -bytes, {}, device_); }

 private:
  MemoryLedger& ledger_;
  torch::Device device_;
};

std::vector<int64_t> sizes(const torchamp::MemoryUsage& usage) {
  std::vector<int64_t> sizes;
  for (const auto& allocation : usage.largest) sizes.push_back(allocation.bytes);
  return sizes;
}

}  // namespace

TEST_CASE("Live bytes follow what is made and freed; the peak and the count stay") {
  MemoryLedger ledger(torch::kCPU, 0, false);
  Blocks blocks(ledger);

  blocks.make(1, 10);
  blocks.make(2, 5);
  blocks.free(1, 10);

  CHECK(ledger.usage().live_bytes == 5);
  CHECK(ledger.usage().peak_bytes == 15);
  CHECK(ledger.usage().allocations == 2);
}

TEST_CASE("A block that was made elsewhere counts for nothing when it is freed") {
  MemoryLedger ledger(torch::kCPU, 0, false);
  Blocks blocks(ledger);

  blocks.free(1, 10);

  CHECK(ledger.usage().live_bytes == 0);
}

TEST_CASE("An address that is given out again ends the block that was there") {
  MemoryLedger ledger(torch::kCPU, 0, false);
  Blocks blocks(ledger);

  blocks.make(1, 10);
  blocks.make(1, 4);

  CHECK(ledger.usage().live_bytes == 4);
  CHECK(ledger.usage().peak_bytes == 10);
}

TEST_CASE("The largest blocks are those that were alive at the peak, largest first") {
  MemoryLedger ledger(torch::kCPU, 2, false);
  Blocks blocks(ledger);

  blocks.make(1, 100);
  blocks.free(1, 100);  // the first peak is past
  blocks.make(2, 50);
  blocks.make(3, 70);
  blocks.make(4, 60);  // the second: 180
  CHECK(sizes(ledger.usage()) == std::vector<int64_t>{70, 60});

  blocks.free(3, 70);
  blocks.make(5, 65);  // 175
  CHECK(sizes(ledger.usage()) == std::vector<int64_t>{70, 60});

  blocks.make(6, 90);  // 265
  CHECK(sizes(ledger.usage()) == std::vector<int64_t>{90, 65});
}

TEST_CASE("Two blocks of one size are two of the largest") {
  MemoryLedger ledger(torch::kCPU, 5, false);
  Blocks blocks(ledger);

  blocks.make(1, 8);
  blocks.make(2, 8);

  CHECK(sizes(ledger.usage()) == std::vector<int64_t>{8, 8});
}

TEST_CASE("A reset peak starts from what is held, with its blocks") {
  MemoryLedger ledger(torch::kCPU, 3, false);
  Blocks blocks(ledger);
  blocks.make(1, 10);
  blocks.make(2, 5);
  blocks.free(1, 10);

  ledger.reset_peak();
  CHECK(ledger.usage().peak_bytes == 5);
  CHECK(sizes(ledger.usage()) == std::vector<int64_t>{5});

  blocks.make(3, 2);
  CHECK(ledger.usage().peak_bytes == 7);
}

TEST_CASE("Only the ledger's own device counts") {
  MemoryLedger ledger(gpu, 0, false);

  Blocks(ledger, torch::kCPU).make(1, 10);
  Blocks(ledger, torch::Device(torch::kCUDA, 1)).make(2, 10);
  CHECK_FALSE(ledger.usage().allocations.has_value());

  Blocks(ledger, gpu).make(3, 10);
  CHECK(ledger.usage().allocations == 1);
}

TEST_CASE("What the caching allocator holds comes with a report, and its peaks stay") {
  MemoryLedger ledger(gpu, 0, false);
  CHECK_FALSE(ledger.usage().allocated_bytes.has_value());

  ledger.note(&memory[1], 10, AllocatorBytes{30, 100}, gpu);
  ledger.note(&memory[1], -10, AllocatorBytes{20, 90}, gpu);
  CHECK(ledger.usage().allocated_bytes == 20);
  CHECK(ledger.usage().reserved_bytes == 90);
  CHECK(ledger.usage().peak_allocated_bytes == 30);
  CHECK(ledger.usage().peak_reserved_bytes == 100);

  ledger.note_allocator({25, 95});
  ledger.reset_peak();
  CHECK(ledger.usage().peak_allocated_bytes == 25);
  CHECK(ledger.usage().peak_reserved_bytes == 95);
}

TEST_CASE("On an accelerator bytes are absent until its allocator reports some; on a CPU never") {
  MemoryLedger ledger(gpu, 0, false);
  CHECK_FALSE(ledger.usage().live_bytes.has_value());
  CHECK_FALSE(ledger.usage().allocations.has_value());

  Blocks(ledger, gpu).make(1, 10);

  CHECK(ledger.usage().live_bytes == 10);
  CHECK(MemoryLedger(torch::kCPU, 0, false).usage().live_bytes == 0);
}
