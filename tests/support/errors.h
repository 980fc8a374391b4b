// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <c10/util/Exception.h>

#include <string>

/// What a call complains about, as a user reads it; "" if it does not complain.
template <class Function>
std::string complaint_of(Function&& function) {
  try {
    function();
  } catch (const c10::ValueError& error) {
    return error.what_without_backtrace();
  }
  return "";
}

/// Checks that `expression` throws a c10::ValueError that begins with the id.
#define CHECK_ERROR(id, ...) \
  CHECK(complaint_of([&] { (void)(__VA_ARGS__); }).substr(0, 15) == "[torchamp." #id "] ")

/// Checks that `expression` throws a c10::ValueError with this text in it.
#define CHECK_ERROR_SAYS(text, ...) \
  CHECK(complaint_of([&] { (void)(__VA_ARGS__); }).find(text) != std::string::npos)
