# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# How torchamp's own tests, examples and benchmarks are compiled. Never seen by consumers.

# Strict on our code; LibTorch and the dependencies come in as system headers.
add_library(torchamp_warnings INTERFACE)
target_compile_options(torchamp_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(TORCHAMP_CCACHE ccache)
if(TORCHAMP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the two settings ccache refuses to cache what uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TORCHAMP_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

# <torch/torch.h> costs 20 s of compiling; this is the one place that pays it, and the programs reuse what
# came out. That works only while all are compiled with the same flags: a program that sets a macro or a
# standard of its own can't have the precompiled header (-Winvalid-pch, an error here, would tell).
file(CONFIGURE OUTPUT torchamp_pch.cpp CONTENT "// Exists to be compiled with the precompiled <torch/torch.h>.\n")
add_library(torchamp_pch OBJECT EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/torchamp_pch.cpp")
target_link_libraries(torchamp_pch PRIVATE torchamp::torchamp torchamp_warnings)
target_precompile_headers(torchamp_pch PRIVATE <torch/torch.h>)

# An executable of ours: torchamp, the warnings, the precompiled <torch/torch.h>.
#   torchamp_add_program(name source...)
function(torchamp_add_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE torchamp::torchamp torchamp_warnings)
  target_precompile_headers(${name} REUSE_FROM torchamp_pch)
endfunction()
