# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# Which Python the tests against torch.amp are given, and what the user reads if there is none: a bare project
# is configured with made-up Pythons.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/project/CMakeLists.txt" "
cmake_minimum_required(VERSION 3.25)
project(messages LANGUAGES NONE)
include(\"${SOURCE}/cmake/TorchampLibTorch.cmake\")
include(\"${SOURCE}/cmake/TorchampTorchPython.cmake\")
set_property(GLOBAL PROPERTY torchamp_libtorch_version 2.15.0)
set(_TORCHAMP_CHOICE_root \"\${root}\")
torchamp_find_torch_python(python)
message(STATUS \"python: <\${python}> missing: <\${python_missing}>\")
")

# A Python at ${WORK}/<name>/bin/python3: what it answers to `inspect`; what it says when told to import torch;
# and the script that it runs for `fetch`, to which $4 is the folder and $7 the light venv.
function(make_python name answer import fetch)
  file(WRITE "${WORK}/${name}/bin/python3" "#!/bin/sh\n/bin/echo \"$@\" >>'${WORK}/${name}/asked'\nif [ \"$2\" = inspect ]; then echo '${answer}'\n"
             "elif [ \"$1\" = -c ]; then ${import}\nelse ${fetch}\nfi\n")
  file(CHMOD "${WORK}/${name}/bin/python3" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

set(ENV{VIRTUAL_ENV} "")
set(ENV{CONDA_PREFIX} "")

# check(<name> <path> <succeeds> <expected regex> <option...>): what configuring with PATH=<path> says, spaces apart.
function(check name path succeeds expected)
  set(ENV{PATH} "${path}")
  execute_process(COMMAND ${CMAKE_COMMAND} -S "${WORK}/project" -B "${WORK}/build/${name}" -G "${GENERATOR}"
                          "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DTORCHAMP_LIBTORCH_DIR=${WORK}/fetched" ${ARGN}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(NOT said MATCHES "${expected}")
    message(SEND_ERROR "${name}: expected \"${expected}\", but it said \"${said}\"")
  elseif((succeeds AND failed) OR (NOT succeeds AND NOT failed))
    message(SEND_ERROR "${name}: said so, but CMake's exit status was ${failed}")
  endif()
  message(STATUS "${name}")
endfunction()

set(with_torch [[{"missing": "", "torch": "/a/torch"}]])
set(without_torch [[{"missing": "", "torch": ""}]])
set(broken "echo 'ImportError: libcublas.so.13: cannot open' >&2; exit 1")
set(fails "printf 'something broke\\ncure: mend it.\\n' >&2; exit 1")
make_python(works "${with_torch}" "echo 2.15.0+cu132" "${fails}")
make_python(older "${with_torch}" "echo 2.14.1" "${fails}")
make_python(light "${with_torch}" "${broken}" "${fails}")
make_python(bare "${without_torch}" "${broken}" "${fails}")
make_python(no_venv [[{"missing": "venv", "torch": ""}]] "${broken}" "${fails}")

# One that imports that version is taken: the one that the LibTorch belongs to first.
check(on_path "${WORK}/works/bin" TRUE "python: <${WORK}/works/bin/python3> missing: <>")
file(COPY "${WORK}/works/bin" DESTINATION "${WORK}/owner")
set(its_root "-Droot=${WORK}/owner/lib/python3.11/site-packages/torch")
check(of_the_libtorch "${WORK}/works/bin" TRUE "python: <${WORK}/owner/bin/python3> missing: <>" "${its_root}")

# None is: why each was passed over, that fetching failed, and how to try again. Nothing is left behind.
check(passed_over "${WORK}/older/bin:${WORK}/light/bin" TRUE
      "pass over ${WORK}/older/bin/python3: its torch is 2.14.1, not 2.15.0 .*pass over ${WORK}/light/bin/python3: it can't import torch .ImportError: libcublas.so.13: cannot open. .*python: <> missing: <no Python here imports torch 2.15.0, and making one failed: something broke; once that is mended, try again with cmake --fresh")
file(GLOB left "${WORK}/fetched/2.15.0*")
if(left)
  message(SEND_ERROR "passed_over: the failed download left something behind")
endif()
check(no_venv "${WORK}/no_venv/bin" TRUE "python: <> missing: <no Python here imports torch 2.15.0, nor can one be made: there is no Python 3 with venv and pip")

# A failure is not repeated by every configure, but is by one that is told to.
file(REMOVE "${WORK}/light/asked")
check(passed_over "${WORK}/older/bin:${WORK}/light/bin" TRUE "python: <> missing: <no Python here imports torch 2.15.0")
if(EXISTS "${WORK}/light/asked")
  message(SEND_ERROR "passed_over: asked again")
endif()
check(passed_over "${WORK}/older/bin:${WORK}/light/bin" FALSE
      "TORCHAMP_PARITY is ON, and the tests against Python's torch.amp can't run. seen: no Python here imports torch 2.15.0, and making one failed: something broke cure: mend it. Or leave them out: -DTORCHAMP_PARITY=OFF"
      -DTORCHAMP_PARITY=ON)

# OFF asks nobody.
check(off "${WORK}/works/bin" TRUE "python: <> missing: <TORCHAMP_PARITY is OFF>" -DTORCHAMP_PARITY=OFF)

# One is made, and remembered; the next build finds it there.
set(makes "/bin/mkdir -p \"$4/bin\" && /bin/cp '${WORK}/works/bin/python3' \"$4/bin/python3\" && echo \"$7\" >\"$4/light\"")
make_python(maker "${without_torch}" "${broken}" "${makes}")
foreach(again IN ITEMS 1 2)
  check(made "${WORK}/maker/bin" TRUE "python: <${WORK}/fetched/2.15.0-full/bin/python3> missing: <>")
endforeach()
check(made_already "${WORK}/bare/bin" TRUE "python: <${WORK}/fetched/2.15.0-full/bin/python3> missing: <>")
file(READ "${WORK}/fetched/2.15.0-full/light" light)
string(STRIP "${light}" light)
if(NOT light STREQUAL "${WORK}/fetched/2.15.0-light")
  message(SEND_ERROR "made: it was told to start from \"${light}\"")
endif()
file(STRINGS "${WORK}/maker/asked" fetches REGEX " fetch ")
list(LENGTH fetches count)
if(NOT count EQUAL 1)
  message(SEND_ERROR "made: fetched ${count} times")
endif()

# One of ours that is there, but does not work, is said so.
file(WRITE "${WORK}/fetched/2.15.0-full/bin/python3" "#!/bin/sh\necho 'ImportError: no' >&2\nexit 1\n")
check(ours_is_broken "${WORK}/bare/bin" TRUE "missing: <of the Python that pip made at ${WORK}/fetched/2.15.0-full: it can't import torch .ImportError: no.")
