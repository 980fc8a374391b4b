# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# torchamp_find_torch_python(<out>) sets <out> to a Python that can import the torch whose LibTorch this build
# uses, for tests that compare both. It is the first of these that imports that version:
#
#   1. the Python that the LibTorch belongs to,
#   2. the active venv's, or one on PATH,
#   3. one of ours, beside the LibTorch that torchamp fetches: TORCHAMP_LIBTORCH_DIR/<version>-full.
#
# Others' Pythons are taken as they are and never changed. If there is none, <out> is empty and <out>_missing
# says why. Must come after torchamp_find_libtorch().

set(TORCHAMP_PARITY "AUTO" CACHE STRING
    "Tests against Python's torch.amp: AUTO (with a Python that has this torch, fetched if need be, about 2.5 GB; \
skipped if that fails), ON (failing is an error), OFF (skipped)")

# <out>: "" if <python> imports torch <version>, else why not.
function(_torchamp_import_problem python version out)
  # Not from a folder that may hold something called torch.
  execute_process(COMMAND "${python}" -c "import torch; print(torch.__version__)" WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
                  OUTPUT_VARIABLE answer ERROR_VARIABLE error RESULT_VARIABLE failed)
  string(STRIP "${error}" error)
  string(REGEX MATCH "[^\n]+$" error "${error}")
  string(REGEX MATCH "[0-9][0-9.]+" found "${answer}")
  if(failed)
    set(${out} "it can't import torch (${error})" PARENT_SCOPE)
  elseif(NOT found VERSION_EQUAL version)
    set(${out} "its torch is ${found}, not ${version}" PARENT_SCOPE)
  else()
    set(${out} "" PARENT_SCOPE)
  endif()
endfunction()

function(torchamp_find_torch_python out)
  get_property(version GLOBAL PROPERTY torchamp_libtorch_version)
  set(root "${_TORCHAMP_CHOICE_root}")

  # All that the choice depends on, as for the LibTorch: asking again takes seconds.
  string(SHA256 key "${version}|${root}|${TORCHAMP_PARITY}|${TORCHAMP_LIBTORCH_DIR}|$ENV{VIRTUAL_ENV}|$ENV{CONDA_PREFIX}|$ENV{PATH}|${Python3_EXECUTABLE}")
  if("${_TORCHAMP_PYTHON_KEY}" STREQUAL "${key}" AND (NOT _TORCHAMP_PYTHON OR EXISTS "${_TORCHAMP_PYTHON}"))
    set(${out} "${_TORCHAMP_PYTHON}" PARENT_SCOPE)
    set(${out}_missing "${_TORCHAMP_PYTHON_MISSING}" PARENT_SCOPE)
    return()
  endif()

  set(python "")
  set(missing "")
  set(cure "")
  set(maker "")
  if(TORCHAMP_PARITY STREQUAL "OFF")
    set(missing "TORCHAMP_PARITY is OFF")
  else()
    set(candidates "")
    if(root MATCHES "^(.+)/lib(64)?/python[0-9.]+/(site|dist)-packages/torch$")  # 1.
      set(candidates "${CMAKE_MATCH_1}/bin/python3")
    endif()
    _torchamp_pythons(others)  # 2.
    list(APPEND candidates ${others})
    list(REMOVE_DUPLICATES candidates)
    foreach(candidate IN LISTS candidates)
      execute_process(COMMAND "${candidate}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/libtorch_wheel.py" inspect
                      OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed)
      if(failed OR NOT answer MATCHES "^{")
        continue()
      endif()
      string(JSON lacks GET "${answer}" missing)
      if(NOT lacks AND NOT maker)
        set(maker "${candidate}")
      endif()
      string(JSON has GET "${answer}" torch)
      if(has)
        _torchamp_import_problem("${candidate}" "${version}" problem)
        if(NOT problem)
          set(python "${candidate}")
          break()
        endif()
        message(STATUS "torchamp: tests against Python pass over ${candidate}: ${problem}")
      endif()
    endforeach()
    if(NOT python AND NOT maker AND NOT EXISTS "${TORCHAMP_LIBTORCH_DIR}/${version}-full")
      set(missing "no Python here imports torch ${version}, nor can one be made: there is no Python 3 with venv and pip")
      set(cure "install one (Debian, Ubuntu: apt install python3-venv).")
    elseif(NOT python)  # 3.
      _torchamp_fetch_venv("${version}" full "about 2.5 GB, so that Python can import it" "${maker}" venv)
      set(missing "no Python here imports torch ${version}, and making one failed: ${venv_problem}")
      set(cure "${venv_cure}")
      if(venv)
        set(python "${venv}/bin/python3")
        _torchamp_import_problem("${python}" "${version}" problem)
        if(problem)
          set(python "")
          set(missing "of the Python that pip made at ${venv}: ${problem}")
          set(cure "remove that folder and configure again.")
        endif()
      endif()
    endif()
  endif()

  if(python)
    set(missing "")
  elseif(TORCHAMP_PARITY STREQUAL "AUTO")
    # Not tried again by itself: without a network every configure would wait for it.
    string(APPEND missing "; once that is mended, try again with cmake --fresh, or -DTORCHAMP_PARITY=ON")
  elseif(NOT TORCHAMP_PARITY STREQUAL "OFF")
    _torchamp_fail("TORCHAMP_PARITY is ${TORCHAMP_PARITY}, and the tests against Python's torch.amp can't run."
                   "${missing}" "${cure} Or leave them out: -DTORCHAMP_PARITY=OFF")
  endif()
  set(_TORCHAMP_PYTHON_KEY "${key}" CACHE INTERNAL "")
  set(_TORCHAMP_PYTHON "${python}" CACHE INTERNAL "")
  set(_TORCHAMP_PYTHON_MISSING "${missing}" CACHE INTERNAL "")
  set(${out} "${python}" PARENT_SCOPE)
  set(${out}_missing "${missing}" PARENT_SCOPE)
endfunction()
