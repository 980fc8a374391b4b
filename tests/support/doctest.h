// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

// The one place that includes doctest. LibTorch defines some of doctest's names as macros of its
// own, so it comes first, gives them up, and doctest takes them. clang-format is off: the order is
// the point.

// clang-format off
#include <torch/torch.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT
#undef CHECK_NOTNULL
#undef DCHECK
#undef DCHECK_EQ
#undef DCHECK_NE
#undef DCHECK_LE
#undef DCHECK_LT
#undef DCHECK_GE
#undef DCHECK_GT
#undef DCHECK_NOTNULL
#undef LOG
#undef LOG_IF
#undef VLOG
#undef VLOG_IF

// doctest says toString(value), which for a c10::ScalarType finds LibTorch's function of that name.
#define DOCTEST_STRINGIFY(...) ::doctest::toString(__VA_ARGS__)

#include <doctest/doctest.h>
// clang-format on
