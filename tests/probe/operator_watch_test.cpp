// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/probe/operator_watch.h>

#include "support/doctest.h"

#include <string>
#include <utility>

using torchamp::detail::OperatorWatch;

namespace {

using Names = std::pair<std::string, std::string>;

Names names_now() {
  const auto names = OperatorWatch::names();
  return {std::string(names.innermost), std::string(names.outermost)};
}

/// The names while operators of these names run, the first outermost.
Names names_in() { return names_now(); }
template <class... Rest>
Names names_in(const char* name, Rest... rest) {
  RECORD_FUNCTION(name, {});
  return names_in(rest...);
}

}  // namespace

TEST_CASE("The innermost operator and the outermost around it are known while they run") {
  OperatorWatch watch;

  CHECK(names_in("aten::mm") == Names{"aten::mm", ""});
  CHECK(names_in("aten::linear", "aten::addmm") == Names{"aten::addmm", "aten::linear"});
  CHECK(names_now() == Names{"", ""});
}

TEST_CASE("An operator that is about memory is named only if no other runs, the outermost then") {
  OperatorWatch watch;

  CHECK(names_in("aten::linear", "aten::to", "aten::_to_copy", "aten::empty_strided") ==
        Names{"aten::_to_copy", "aten::linear"});
  CHECK(names_in("aten::empty") == Names{"aten::empty", ""});
  CHECK(names_in("aten::empty_like", "aten::empty") == Names{"aten::empty_like", ""});
}

TEST_CASE("A backward node is named without what the engine puts around it") {
  OperatorWatch watch;

  CHECK(names_in("autograd::engine::evaluate_function: MmBackward0", "MmBackward0", "aten::mm") ==
        Names{"aten::mm", "MmBackward0"});
}

TEST_CASE("Operators that began before the watch are not known, and their end does no harm") {
  RECORD_FUNCTION("before", {});
  OperatorWatch watch;

  CHECK(names_now() == Names{"", ""});
}

TEST_CASE("After the watch nothing is known") {
  { OperatorWatch watch; }

  CHECK(names_in("aten::mm") == Names{"", ""});
}
