// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/state_version.h>

#include "support/doctest.h"
#include "support/errors.h"

using torchamp::detail::check_state_version;
using torchamp::detail::state_version;

TEST_CASE("This version of a state is read") {
  CHECK_NOTHROW(check_state_version(state_version, "read()"));
}

TEST_CASE("A newer version asks for a newer torchamp, and one that never was is refused") {
  CHECK_ERROR(E17, check_state_version(state_version + 1, "read()"));
  CHECK_ERROR_SAYS("newer torchamp", check_state_version(state_version + 1, "read()"));
  CHECK_ERROR_SAYS("never was", check_state_version(0, "read()"));
  CHECK_ERROR(E17, check_state_version(-1, "read()"));
}
