// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/detail/parallel.h>

#include "support/doctest.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using torchamp::detail::for_each_part;

TEST_CASE(
    "Every index is in exactly one part, also if the parts are not equal or more than these") {
  for (const std::size_t parts : {1, 3, 16}) {
    std::vector<std::atomic<int>> visits(10);

    for_each_part(10, parts, [&](std::size_t begin, std::size_t end) {
      for (auto i = begin; i < end; ++i) ++visits[i];
    });

    for (const auto& count : visits) CHECK(count == 1);
  }
}

TEST_CASE("Parts run on as many threads as LibTorch has, whatever this program is compiled with") {
  std::mutex mutex;
  std::set<std::thread::id> threads;

  for_each_part(8, 8, [&](std::size_t /*begin*/, std::size_t /*end*/) {
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });

  CHECK(threads.size() == static_cast<std::size_t>(std::min(8, at::get_num_threads())));
}

TEST_CASE("An exception of a part reaches the caller") {
  const auto fail = [](std::size_t begin, std::size_t /*end*/) {
    if (begin == 2) throw std::runtime_error("part");
  };

  CHECK_THROWS_AS(for_each_part(4, 4, fail), std::runtime_error);
}
