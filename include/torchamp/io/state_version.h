// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <cstdint>
#include <string>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The number that torchamp's own part carries in files. A layout that older readers would
/// misunderstand gets the next.
inline constexpr int64_t state_version = 1;

/// Throws: [E17] unless this torchamp can read a state of `layout`; `where` begins the text.
inline void check_state_version(int64_t layout, const std::string& where) {
  TORCHAMP_CHECK(E17, layout <= state_version, where, " was written by a newer torchamp (version ",
                 layout, " of the state, and this one knows ", state_version,
                 "); update torchamp here");
  TORCHAMP_CHECK(E17, layout == state_version, where, " has a state of version ", layout,
                 ", which never was; write the file again");
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
