// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/memory_marks.h>

#include "support/doctest.h"

using torchamp::detail::MemoryMark;
using torchamp::detail::MemoryMarks;
using Reason = torchamp::detail::MemoryMark::Reason;

TEST_CASE("A mark is that of a memory, whichever tensor shows it") {
  const auto x = torch::ones({4});
  MemoryMarks marks;
  CHECK(marks.empty());
  marks.set(x, {Reason::Found, 7, 3});

  REQUIRE(marks.find(x.view({2, 2})) != nullptr);
  CHECK(marks.find(x.detach())->finding == 7);
  CHECK(marks.find(x)->made_at == 3);
  CHECK(marks.find(torch::ones({4})) == nullptr);
  CHECK(marks.find(torch::Tensor()) == nullptr);

  marks.set(x, {Reason::OnPurpose, -1, 4});
  CHECK(marks.find(x)->reason == Reason::OnPurpose);
}

TEST_CASE("A mark goes when all of the memory was written to, and what was written is finite") {
  const auto x = torch::ones({4});
  MemoryMarks marks;
  marks.set(x, {Reason::Found, 7, 3});

  marks.written(x, /*finite=*/false);
  CHECK(marks.find(x) != nullptr);
  marks.written(x.slice(0, 0, 3), /*finite=*/true);
  CHECK(marks.find(x) != nullptr);
  marks.written(x, /*finite=*/true);
  CHECK(marks.find(x) == nullptr);
}

TEST_CASE("Memory without values has some when all of it was written to") {
  const auto x = torch::ones({4});
  MemoryMarks marks;
  marks.written(x, /*finite=*/true);
  for (const bool finite : {true, false}) {
    CAPTURE(finite);
    marks.set(x, {Reason::Uninitialised, -1, 0});

    marks.written(x.slice(0, 0, 3), finite);
    CHECK(marks.find(x)->reason == Reason::Uninitialised);
    marks.written(x.view({2, 2}), finite);
    CHECK(marks.find(x) == nullptr);
  }
}

TEST_CASE("A freed memory has no mark, nor has the next at its address") {
  const auto kept = torch::ones({4});
  MemoryMarks marks;
  marks.set(kept, {Reason::Found, 1000, 0});
  for (int i = 0; i < 200; ++i) {
    const auto x = torch::ones({4});
    CHECK(marks.find(x) == nullptr);
    marks.set(x, {Reason::Found, i, i});
    CHECK(marks.any_with(i));
  }
  CHECK_FALSE(marks.any_with(199));
  CHECK(marks.find(kept) != nullptr);
}

TEST_CASE("Only a memory in use, with that finding, counts for it") {
  const auto x = torch::ones({4});
  const auto y = torch::ones({4});
  MemoryMarks marks;
  marks.set(x, {Reason::Found, 1, 0});
  marks.set(y, {Reason::OnPurpose, 2, 0});

  CHECK(marks.any_with(1));
  CHECK_FALSE(marks.any_with(2));
}
