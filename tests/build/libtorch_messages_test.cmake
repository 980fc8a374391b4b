# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# Configures a bare project against made-up LibTorches and Pythons, and compares what the user reads.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
file(WRITE "${WORK}/project/CMakeLists.txt" "
cmake_minimum_required(VERSION 3.25)
project(messages LANGUAGES NONE)  # quick; what a compiler would have said:
set(CMAKE_CXX_COMPILE_FEATURES cxx_std_17 \${more_features})
set(CMAKE_CXX_COMPILER /made/up/c++)
set(CMAKE_SHARED_LIBRARY_PREFIX lib)
set(CMAKE_SHARED_LIBRARY_SUFFIX .so)
set(TORCHAMP_OLDEST_LIBTORCH 2.4)
set(TORCHAMP_NEWEST_LIBTORCH 2.15)
include(\"${SOURCE}/cmake/TorchampLibTorch.cmake\")
torchamp_find_libtorch()
")

# A LibTorch of <version> at ${WORK}/<version>, as far as the messages go.
function(make_libtorch version)
  string(REPLACE "." ";" numbers "${version}")
  list(POP_FRONT numbers major minor patch)
  file(WRITE "${WORK}/${version}/include/torch/csrc/api/include/torch/version.h"
       "#define TORCH_VERSION_MAJOR ${major}\n#define TORCH_VERSION_MINOR ${minor}\n#define TORCH_VERSION_PATCH ${patch}\n")
  file(WRITE "${WORK}/${version}/share/cmake/Torch/TorchConfig.cmake" "message(FATAL_ERROR \"should not be run\")\n")
  file(WRITE "${WORK}/${version}/lib/libtorch_cpu.so" "")
  file(WRITE "${WORK}/${version}/lib/libc10.so" "_ZN3c105ErrorC1ENS_14SourceLocationESs")
endfunction()
foreach(version IN ITEMS 2.3.1 2.4.1 2.15.0 2.99.0)
  make_libtorch(${version})
endforeach()

# A Python at ${WORK}/<name>/python3 that answers `inspect` with <answer>, and runs <script> for `fetch`.
function(make_python name answer script)
  file(WRITE "${WORK}/${name}/python3" "#!/bin/sh\nif [ \"$2\" = inspect ]; then echo '${answer}'; exit; fi\n${script}\n")
  file(CHMOD "${WORK}/${name}/python3" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

set(ENV{VIRTUAL_ENV} "")
set(ENV{CONDA_PREFIX} "")
set(ENV{CMAKE_PREFIX_PATH} "")
set(ENV{Torch_DIR} "")
set(usual_path "$ENV{PATH}")

# check(<name> <path> <expected regex> <option...>): what configuring with PATH=<path> says, spaces apart.
function(check name path expected)
  set(ENV{PATH} "${path}")
  execute_process(COMMAND ${CMAKE_COMMAND} -S "${WORK}/project" -B "${WORK}/build/${name}" -G "${GENERATOR}"
                          "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" -DTORCHAMP_WITH_CUDA=OFF
                          "-DTORCHAMP_LIBTORCH_DIR=${WORK}/fetched" ${ARGN}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(NOT said MATCHES "${expected}")
    message(SEND_ERROR "${name}: expected \"${expected}\", but it said \"${said}\"")
  elseif(NOT failed)
    message(SEND_ERROR "${name}: said so, and went on all the same")
  endif()
  message(STATUS "${name}")
endfunction()

check(too_old "/none" "LibTorch 2.3.1 is too old; torchamp needs 2.4 or newer.*seen: .*2.3.1.*cure: point to a newer"
      "-DCMAKE_PREFIX_PATH=${WORK}/2.3.1")
check(too_old_by_torch_dir "/none" "LibTorch 2.3.1 is too old" "-DTorch_DIR=${WORK}/2.3.1/share/cmake/Torch")
check(too_old_to_fetch "/none" "LibTorch 2.0.0 is too old" -DTORCHAMP_TORCH_VERSION=2.0.0)
check(too_new "/none" "Warning.*LibTorch 2.99.0 .* is newer than the newest that torchamp is tested with, 2.15"
      "-DCMAKE_PREFIX_PATH=${WORK}/2.99.0" -Dmore_features=cxx_std_20)
check(no_cxx20 "/none" "LibTorch 2.15.0 needs C..20, which this compiler hasn't got.*seen: /made/up/c.*cure: use GCC 11"
      "-DCMAKE_PREFIX_PATH=${WORK}/2.15.0")
check(wrong_abi "/none" "wrong ABI.*built with _GLIBCXX_USE_CXX11_ABI=0, this project sets _GLIBCXX_USE_CXX11_ABI=1"
      "-DCMAKE_PREFIX_PATH=${WORK}/2.4.1" -DCMAKE_CXX_FLAGS=-D_GLIBCXX_USE_CXX11_ABI=1)
check(nothing_there "/none" "Torch_DIR leads to no TorchConfig.cmake.*seen: /nowhere" -DTorch_DIR=/nowhere)
file(WRITE "${WORK}/empty/share/cmake/Torch/TorchConfig.cmake" "")
check(no_libtorch_there "/none" "no LibTorch around the TorchConfig.cmake that was pointed to"
      "-DTorch_DIR=${WORK}/empty/share/cmake/Torch")
check(no_python "/none" "no LibTorch here, and no Python to fetch one with. seen: no python3 on PATH cure: install Python 3"
      -Dmore_features=cxx_std_20)

make_python(no_venv [[{"missing": "venv and ensurepip", "torch": ""}]] "exit 1")
check(no_venv "${WORK}/no_venv" "no Python to fetch one with. seen: [^ ]*/no_venv/python3 .lacks venv and ensurepip"
      -Dmore_features=cxx_std_20)

# A torch package that is too old is passed over; fetching fails; nothing is left, nor what was there before.
make_python(old_torch "{\"missing\": \"\", \"torch\": \"${WORK}/2.3.1\"}"
            "/bin/mkdir -p $4/lib && echo 'Traceback' >&2 && printf 'something broke\\ncure: mend it.\\n' >&2 && exit 1")
file(WRITE "${WORK}/fetched/2.15.0-light.partial-abc/lib/half" "what an interrupted download left")
check(passed_over "${WORK}/old_torch" "passing over torch 2.3.1 of .*: torchamp is tested with 2.4 to 2.15.*fetching LibTorch 2.15.0 failed; nothing half-done was left behind. seen: something broke cure: mend it."
      -Dmore_features=cxx_std_20)
file(GLOB left "${WORK}/fetched/2.15.0*")
if(left)
  message(SEND_ERROR "passed_over: the failed download left something behind")
endif()
make_python(other_torch "{\"missing\": \"\", \"torch\": \"${WORK}/2.15.0\"}" "exit 1")
check(not_asked_for "${WORK}/other_torch" "passing over torch 2.15.0 of .*: TORCHAMP_TORCH_VERSION asks for 2.4.1.*fetching LibTorch 2.4.1 failed"
      -DTORCHAMP_TORCH_VERSION=2.4.1)

# The real script and a real pip, with no index that could answer.
set(ENV{PIP_INDEX_URL} "http://127.0.0.1:9/simple")
set(ENV{PIP_EXTRA_INDEX_URL} "")
set(ENV{PIP_FIND_LINKS} "")
set(ENV{PIP_RETRIES} 0)
check(no_network "${usual_path}" "torchamp: fetching LibTorch 2.5.1 failed.* seen: pip install .*: no network.* cure: connect"
      -DTORCHAMP_TORCH_VERSION=2.5.1)
file(GLOB left "${WORK}/fetched/2.5.1*")
if(left)
  message(SEND_ERROR "no_network: the failed download left something behind")
endif()
