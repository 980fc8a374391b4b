// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <c10/util/Exception.h>

/// Throws a `c10::ValueError` whose text begins with "[torchamp.<id>] " unless `condition` holds.
/// The remaining arguments are streamed into the text: what happened, the value seen, the cure.
/// Ids are stable, and listed with cause and cure in README.md; a check comes before any change.
#define TORCHAMP_CHECK(id, condition, ...) \
  TORCH_CHECK_VALUE(condition, "[torchamp." #id "] ", __VA_ARGS__)
