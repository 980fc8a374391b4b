# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# Compares the macros after including everything else (BEFORE) with those after including our headers as
# well (AFTER): ours are few, and all are called TORCHAMP_.
set(limit 5)

list(REMOVE_DUPLICATES INCLUDES)
list(TRANSFORM INCLUDES PREPEND "-isystem")
foreach(unit IN ITEMS BEFORE AFTER)
  execute_process(COMMAND "${COMPILER}" -std=gnu++${STANDARD} ${INCLUDES} -dM -E "${${unit}}"
                  OUTPUT_VARIABLE macros ERROR_VARIABLE error RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "preprocessing ${${unit}} failed: ${error}")
  endif()
  string(REGEX MATCHALL "#define [A-Za-z0-9_]+" ${unit} "${macros}")
endforeach()
list(REMOVE_ITEM AFTER ${BEFORE})
list(TRANSFORM AFTER REPLACE "#define " "")
list(SORT AFTER)
message(STATUS "macros of torchamp: ${AFTER}")

set(foreign ${AFTER})
list(FILTER foreign EXCLUDE REGEX "^TORCHAMP_")
list(LENGTH AFTER count)
if(foreign)
  message(FATAL_ERROR "macros that are not called TORCHAMP_: ${foreign}")
elseif(count EQUAL 0)
  message(FATAL_ERROR "no macro at all, not even the version: this test does not look at our headers")
elseif(count GREATER limit)
  message(FATAL_ERROR "${count} macros; ${limit} are allowed")
endif()
