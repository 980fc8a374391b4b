// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/trace_range.h>

#include "support/doctest.h"
#include "support/range_listener.h"

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

using torchamp::TraceRange;

static_assert(!std::is_copy_constructible_v<TraceRange>);
static_assert(!std::is_move_constructible_v<TraceRange>);

namespace {

using Heard = std::vector<std::string>;

}  // namespace

TEST_CASE("A range lasts from its construction to the end of its scope, and ranges nest") {
  const RangeListener listener;
  {
    const TraceRange step("step");
    { const TraceRange forward("forward"); }
    const TraceRange backward("backward");
  }

  CHECK(listener.heard() ==
        Heard{"+step", "+forward", "-forward", "+backward", "-backward", "-step"});
}

TEST_CASE("A range keeps its name when the string that it was given is gone") {
  const RangeListener listener;
  {
    std::string name = "epoch 1, of a name too long for a small string";
    const TraceRange range(name);
    name = "something else that is long enough to be elsewhere";
  }

  CHECK(listener.heard().back() == "-epoch 1, of a name too long for a small string");
}

TEST_CASE("A name is handed over in ASCII") {
  const RangeListener listener;
  { const TraceRange range("say \"\xc3\xa9\""); }

  CHECK(listener.heard().front() == "+say `u0022`u00e9`u0022");
}

TEST_CASE("Where nobody listens there is no range, and one that was begun ends all the same") {
  CHECK(torchamp::detail::begin_range("nobody") == nullptr);

  std::unique_ptr<at::RecordFunction> range;
  {
    const RangeListener listener;
    range = torchamp::detail::begin_range("step");
    REQUIRE(range != nullptr);
  }
  CHECK_NOTHROW(range.reset());
}
