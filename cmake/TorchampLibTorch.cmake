# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# torchamp_find_libtorch() makes the imported target torchamp::libtorch from the first of these:
#
#   1. the Torch that the project has found already (the target `torch`),
#   2. what the user points to: a TorchConfig.cmake under Torch_DIR or CMAKE_PREFIX_PATH,
#   3. the torch package of the active venv, or of a Python on PATH,
#   4. a TorchConfig.cmake in the system's own folders,
#   5. a torch that pip puts into a venv of ours, at TORCHAMP_LIBTORCH_DIR.
#
# 1 and 2 are the user's word: one that can't be used is an error. 3 and 4 are offers: one that can't be
# used is passed over, and the reason is said.
#
# Note [Why not TorchConfig.cmake]
# Where a LibTorch has the layout of PyTorch's own wheels and zips (include/ and lib/ in one folder) we do
# not run its TorchConfig.cmake, but name its folders and libraries ourselves. That file wants the CUDA
# toolkit at configure time even if nothing here compiles CUDA, and then trips over it: CMake 3.25 with
# nvcc 13 (language dialect "CUDA20"), the toolkit's NCCL found before the wheel's, CUDA::nvToolsExt that
# newer toolkits no longer have.
#
# Reads TORCHAMP_OLDEST_LIBTORCH and TORCHAMP_NEWEST_LIBTORCH ("2.4"), which version.h declares.

set(TORCHAMP_TORCH_VERSION "" CACHE STRING
    "The LibTorch to insist on, fetched if need be (empty: any supported one that is here, else 2.15.0)")
set(TORCHAMP_WITH_CUDA "AUTO" CACHE STRING "Link LibTorch's CUDA half: AUTO (if this machine has an NVIDIA GPU), ON, OFF")
set(_torchamp_default_torch "2.15.0")

function(_torchamp_fail what seen cure)
  message(FATAL_ERROR "torchamp: ${what}\n  seen: ${seen}\n  cure: ${cure}")
endfunction()

# <out>: whether to link LibTorch's CUDA half. Looks for a GPU without any toolkit.
function(_torchamp_want_cuda out)
  set(want ${TORCHAMP_WITH_CUDA})
  if(want STREQUAL "AUTO")
    set(want OFF)
    if(EXISTS /dev/nvidia0 OR EXISTS /proc/driver/nvidia/version)
      set(want ON)
    else()  # WSL has neither, but it has the tool
      execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
      if("${failed}" STREQUAL "0")
        set(want ON)
      endif()
    endif()
  endif()
  set(${out} ${want} PARENT_SCOPE)
endfunction()

# <out>: the version ("2.15.0") of the LibTorch whose include/ and lib/ are in <root>; "" if there is none.
function(_torchamp_version_of root out)
  set(version "")
  foreach(header IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(NOT version AND EXISTS "${root}/include/${header}")
      file(STRINGS "${root}/include/${header}" lines REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
      list(TRANSFORM lines REPLACE "[^0-9]" "")
      list(JOIN lines "." version)
    endif()
  endforeach()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# <out>: -1, 0 or 1 for a version below, in or above the supported range (of which only major.minor counts).
function(_torchamp_compare_to_range version out)
  string(REGEX REPLACE "^([0-9]+\\.[0-9]+).*" "\\1" minor "${version}")
  set(result 0)
  if(minor VERSION_LESS TORCHAMP_OLDEST_LIBTORCH)
    set(result -1)
  elseif(minor VERSION_GREATER TORCHAMP_NEWEST_LIBTORCH)
    set(result 1)
  endif()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

# Stops, or warns, for a version that the user asked for.
function(_torchamp_check_version version where)
  _torchamp_compare_to_range("${version}" place)
  if(place EQUAL -1)
    _torchamp_fail("LibTorch ${version} is too old; torchamp needs ${TORCHAMP_OLDEST_LIBTORCH} or newer."
                   "${where}" "point to a newer one, or to none: torchamp then fetches ${_torchamp_default_torch}.")
  elseif(place EQUAL 1)
    message(WARNING "torchamp: LibTorch ${version} (${where}) is newer than the newest that torchamp is tested "
                    "with, ${TORCHAMP_NEWEST_LIBTORCH}. Trying it.")
  endif()
endfunction()

# <out>: the C++ standard that this version's headers are written in. Stops if the compiler hasn't got it.
function(_torchamp_standard_of version out)
  set(standard 17)
  if(version VERSION_GREATER_EQUAL 2.14)
    set(standard 20)
  endif()
  if(NOT "cxx_std_${standard}" IN_LIST CMAKE_CXX_COMPILE_FEATURES)
    _torchamp_fail("LibTorch ${version} needs C++${standard}, which this compiler hasn't got."
                   "${CMAKE_CXX_COMPILER} (${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION})"
                   "use GCC 11 or Clang 13 or newer (-DCMAKE_CXX_COMPILER=), or an older LibTorch: -DTORCHAMP_TORCH_VERSION=2.13.0")
  endif()
  set(${out} ${standard} PARENT_SCOPE)
endfunction()

# How to use the LibTorch in <root>: sets usage_{includes,definitions,libraries,options,standard,cuda} in the
# caller, and usage_problem, empty if a small program that throws a c10::Error compiles and links with them.
function(_torchamp_usage root version)
  set(lib "${root}/lib/${CMAKE_SHARED_LIBRARY_PREFIX}")
  set(so "${CMAKE_SHARED_LIBRARY_SUFFIX}")
  set(usage_includes "${root}/include" "${root}/include/torch/csrc/api/include")
  set(usage_libraries "${lib}torch_cpu${so}" "${lib}c10${so}")
  _torchamp_standard_of("${version}" usage_standard)

  # Wheels up to 2.6 were built with the old std::string, and everything that talks to them must be too.
  set(usage_definitions "")
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND EXISTS "${lib}c10${so}")
    set(abi 1)
    file(STRINGS "${lib}c10${so}" old_string REGEX "_ZN3c105ErrorC[12]E.*Ss" LIMIT_COUNT 1)
    if(old_string)
      set(abi 0)
    endif()
    set(usage_definitions "_GLIBCXX_USE_CXX11_ABI=${abi}")
    get_directory_property(flags COMPILE_OPTIONS)
    get_directory_property(definitions COMPILE_DEFINITIONS)
    if("${CMAKE_CXX_FLAGS};${flags};${definitions}" MATCHES "_GLIBCXX_USE_CXX11_ABI=([01])"
       AND NOT CMAKE_MATCH_1 EQUAL abi)
      set(cxx11_abi "_GLIBCXX_USE_CXX11_ABI=${CMAKE_MATCH_1}")
      _torchamp_fail("LibTorch ${version} has the wrong ABI for this project."
                     "${root} was built with ${usage_definitions}, this project sets ${cxx11_abi}."
                     "drop ${cxx11_abi} from the project's flags (torchamp passes on the right one), or point to another LibTorch.")
    endif()
  endif()

  # The linker must find what libtorch_cpu.so needs; at run time the library finds it by itself ($ORIGIN).
  set(usage_options "")
  if(NOT APPLE)
    file(GLOB folders LIST_DIRECTORIES true "${root}/../nvidia/*/lib")
    foreach(folder IN LISTS folders)
      file(REAL_PATH "${folder}" folder)
      list(APPEND usage_options "-Wl,-rpath-link,${folder}")
    endforeach()
  endif()

  # Nothing refers to torch_cuda, it registers its kernels as it loads: a linker would drop it as unneeded.
  _torchamp_want_cuda(usage_cuda)
  if(usage_cuda AND EXISTS "${lib}torch_cuda${so}")
    list(APPEND usage_libraries "-Wl,--push-state,--no-as-needed" "${lib}torch_cuda${so}" "${lib}c10_cuda${so}" "-Wl,--pop-state")
  else()
    set(usage_cuda OFF)
  endif()

  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/torchamp_link_check.cpp"
       "#include <c10/util/Exception.h>\n#include <string>\n"
       "namespace at { int get_num_threads(); }\n"
       "int main() { TORCH_CHECK(at::get_num_threads() > 0, std::string(\"text\")); }\n")
  list(TRANSFORM usage_definitions PREPEND "-D" OUTPUT_VARIABLE flags)
  try_compile(links "${CMAKE_CURRENT_BINARY_DIR}/torchamp_link_check"
              SOURCES "${CMAKE_CURRENT_BINARY_DIR}/torchamp_link_check.cpp"
              CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${usage_includes}"
              COMPILE_DEFINITIONS ${flags} LINK_OPTIONS ${usage_options} LINK_LIBRARIES ${usage_libraries}
              CXX_STANDARD ${usage_standard} CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE output)
  set(usage_problem "")
  if(NOT links)
    string(REGEX MATCH "[^\n]*(not found|No such file|cannot find|No rule|undefined reference|error)[^\n]*" line "${output}")
    string(STRIP "${line}" line)
    set(usage_problem "a program with it does not link: ${line}")
  endif()
  unset(links CACHE)  # try_compile's answer: the next LibTorch is to be asked anew

  foreach(part IN ITEMS includes definitions libraries options standard cuda problem)
    set(usage_${part} "${usage_${part}}" PARENT_SCOPE)
  endforeach()
endfunction()

# <out>: the Pythons to ask, best first: what the user set, the active environment's, those on PATH.
function(_torchamp_pythons out)
  set(pythons ${Python3_EXECUTABLE})
  foreach(environment IN ITEMS "$ENV{VIRTUAL_ENV}" "$ENV{CONDA_PREFIX}")
    if(environment)
      list(APPEND pythons "${environment}/bin/python3")
    endif()
  endforeach()
  string(REPLACE ":" ";" path "$ENV{PATH}")
  set(seen "")
  foreach(folder IN LISTS path)
    file(REAL_PATH "${folder}" real)  # /bin is /usr/bin on many systems
    if(NOT real IN_LIST seen)
      list(APPEND seen "${real}")
      list(APPEND pythons "${folder}/python3" "${folder}/python")
    endif()
  endforeach()
  set(existing "")
  foreach(python IN LISTS pythons)
    if(EXISTS "${python}")
      list(APPEND existing "${python}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES existing)
  set(${out} "${existing}" PARENT_SCOPE)
endfunction()

# Fetches <version> with <python> into a venv of ours, unless it is there, and sets <out> to that venv. <set>:
# light, of which C++ programs can be made, or full, which Python can import too. If that fails, <out> is empty,
# and <out>_problem and <out>_cure say why and what helps. The venv gets its name when it is whole, so that what
# an interrupted download leaves is never taken for one. (A venv that was renamed has stale scripts; only its
# Python, libraries and headers are used.)
function(_torchamp_fetch_venv version set size python out)
  set(venv "${TORCHAMP_LIBTORCH_DIR}/${version}-${set}")
  file(MAKE_DIRECTORY "${TORCHAMP_LIBTORCH_DIR}")
  file(LOCK "${TORCHAMP_LIBTORCH_DIR}/lock" GUARD FUNCTION TIMEOUT 0 RESULT_VARIABLE busy)
  if(busy)
    message(STATUS "torchamp: another configure is fetching LibTorch into ${TORCHAMP_LIBTORCH_DIR}; waiting for it")
    file(LOCK "${TORCHAMP_LIBTORCH_DIR}/lock" GUARD FUNCTION TIMEOUT 3600)
  endif()
  set(${out} "${venv}" PARENT_SCOPE)
  if(EXISTS "${venv}")
    return()
  endif()
  message(STATUS "torchamp: fetching LibTorch ${version} (${size}) with ${python} into ${venv}")
  file(GLOB abandoned "${venv}.partial-*")
  if(abandoned)
    file(REMOVE_RECURSE ${abandoned})
  endif()
  string(RANDOM partial)
  set(partial "${venv}.partial-${partial}")
  if(NOT CMAKE_READELF)
    set(CMAKE_READELF readelf)
  endif()
  execute_process(COMMAND "${python}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/libtorch_wheel.py"
                          fetch "${version}" "${partial}" ${set} "${CMAKE_READELF}" "${TORCHAMP_LIBTORCH_DIR}/${version}-light"
                  RESULT_VARIABLE failed ERROR_VARIABLE reason)
  if(NOT failed)
    file(RENAME "${partial}" "${venv}")
    return()
  endif()
  file(REMOVE_RECURSE "${partial}")
  set(cure "mend that and configure again.")
  if(reason MATCHES "\ncure: ([^\n]+)\n*$")
    set(cure "${CMAKE_MATCH_1}")
    string(REGEX REPLACE "\ncure: [^\n]+\n*$" "" reason "${reason}")
  endif()
  string(STRIP "${reason}" reason)
  string(REGEX MATCH "[^\n]+$" reason "${reason}")
  set(${out} "" PARENT_SCOPE)
  set(${out}_problem "${reason}" PARENT_SCOPE)
  set(${out}_cure "${cure}" PARENT_SCOPE)
endfunction()

# Fetches <version> unless it is there, or stops; sets <out> to its torch folder.
function(_torchamp_fetch version python out)
  _torchamp_want_cuda(cuda)
  if(cuda)
    set(what full "about 3 GB, with CUDA")
  else()
    set(what light "about 0.6 GB")
  endif()
  list(GET what 0 set)
  if(NOT python AND NOT EXISTS "${TORCHAMP_LIBTORCH_DIR}/${version}-${set}")
    _torchamp_fail("there is no LibTorch here, and no Python to fetch one with." "${ARGN}"
                   "install Python 3 with venv and pip (Debian, Ubuntu: apt install python3-venv), or point to a LibTorch: -DCMAKE_PREFIX_PATH=/path/to/libtorch")
  endif()
  _torchamp_fetch_venv("${version}" ${what} "${python}" venv)
  if(NOT venv)
    _torchamp_fail("fetching LibTorch ${version} failed; nothing half-done was left behind." "${venv_problem}"
                   "${venv_cure} Or point to a LibTorch that is here already: -DCMAKE_PREFIX_PATH=/path/to/libtorch")
  endif()
  file(GLOB root "${venv}/lib/python*/site-packages/torch")
  set(${out} "${root}" PARENT_SCOPE)
endfunction()

# torchamp::libtorch from the targets that TorchConfig.cmake made.
function(_torchamp_import_found version why)
  _torchamp_standard_of("${version}" standard)
  add_library(torchamp::libtorch INTERFACE IMPORTED GLOBAL)
  target_link_libraries(torchamp::libtorch INTERFACE torch ${TORCH_LIBRARIES})
  target_compile_features(torchamp::libtorch INTERFACE cxx_std_${standard})
  set_property(GLOBAL PROPERTY torchamp_libtorch_version "${version}")
  message(STATUS "torchamp: LibTorch ${version}: ${why}")
endfunction()

# Runs a TorchConfig.cmake, with what is known to go wrong in it put right first.
function(_torchamp_find_package config version why)
  get_filename_component(Torch_DIR "${config}" DIRECTORY)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # else only this folder could link them
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST AND NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
    set(ENV{TORCH_CUDA_ARCH_LIST} "8.0")  # unset, it is found out by compiling CUDA; torchamp compiles none
  endif()
  if(version VERSION_LESS 2.8)
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND AND NOT TARGET CUDA::nvToolsExt)
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED GLOBAL)  # gone since CUDA 12.9, and header-only before
    endif()
  endif()
  message(STATUS "torchamp: running ${config}; an error out of it about CUDA means that it wants the CUDA "
                 "toolkit of its own version: install that (CUDACXX=/path/to/nvcc), or use a wheel of torch instead")
  find_package(Torch CONFIG QUIET PATHS "${Torch_DIR}" NO_DEFAULT_PATH)
  if(NOT Torch_FOUND)
    _torchamp_fail("${config} finds no LibTorch." "${Torch_NOT_FOUND_MESSAGE}"
                   "repair that installation, or remove it from CMAKE_PREFIX_PATH and Torch_DIR: torchamp then finds or fetches another.")
  endif()
  set(TORCH_LIBRARIES ${TORCH_LIBRARIES} PARENT_SCOPE)
  _torchamp_import_found("${version}" "${why}")
endfunction()

function(torchamp_find_libtorch)
  if(TARGET torchamp::libtorch)
    return()
  endif()

  if(NOT DEFINED TORCHAMP_LIBTORCH_DIR)
    # One for all presets, and never in a consumer's source tree.
    set(base "${CMAKE_BINARY_DIR}")
    if(PROJECT_IS_TOP_LEVEL AND PROJECT_NAME STREQUAL "torchamp")
      set(base "${PROJECT_SOURCE_DIR}/build")
    endif()
    set(TORCHAMP_LIBTORCH_DIR "${base}/_libtorch" CACHE PATH "Where a LibTorch is fetched to")
  endif()

  if(TARGET torch)  # 1. the project's own
    set(version "${Torch_VERSION}")
    if(NOT version)
      get_target_property(includes torch INTERFACE_INCLUDE_DIRECTORIES)
      foreach(include IN LISTS includes)
        if(NOT version)
          get_filename_component(root "${include}" DIRECTORY)
          _torchamp_version_of("${root}" version)
        endif()
      endforeach()
    endif()
    _torchamp_check_version("${version}" "the project's target torch")
    _torchamp_import_found("${version}" "the target torch that this project found")
    return()
  endif()

  # All that the choice depends on: while it is the same, so is the answer.
  set(key "${TORCHAMP_TORCH_VERSION}|${TORCHAMP_WITH_CUDA}|${TORCHAMP_LIBTORCH_DIR}|${Torch_DIR}|${CMAKE_PREFIX_PATH}|$ENV{CMAKE_PREFIX_PATH}|$ENV{Torch_DIR}|$ENV{VIRTUAL_ENV}|$ENV{CONDA_PREFIX}|$ENV{PATH}|${Python3_EXECUTABLE}|${CMAKE_CXX_COMPILER}|${CMAKE_CXX_FLAGS}")
  string(SHA256 key "${key}")
  set(why "")
  set(proof "")
  set(proof_hash "")
  set(known OFF)
  set(memory root usage_includes usage_definitions usage_libraries usage_options usage_standard usage_cuda version why)
  if(EXISTS "${_TORCHAMP_CHOICE_PROOF}")
    file(SHA256 "${_TORCHAMP_CHOICE_PROOF}" proof_hash)
  endif()
  if("${_TORCHAMP_CHOICE_KEY}" STREQUAL "${key}${proof_hash}")
    foreach(part IN LISTS memory)
      set(${part} "${_TORCHAMP_CHOICE_${part}}")
    endforeach()
    set(known ON)
  endif()

  unset(config)
  if(NOT known)  # 2. what the user points to
    find_file(config TorchConfig.cmake NO_CACHE NO_DEFAULT_PATH
              PATHS ${Torch_DIR} $ENV{Torch_DIR} ${CMAKE_PREFIX_PATH} ENV CMAKE_PREFIX_PATH
              PATH_SUFFIXES share/cmake/Torch lib/cmake/Torch cmake/Torch Torch)
    if(Torch_DIR AND NOT config)
      _torchamp_fail("Torch_DIR leads to no TorchConfig.cmake." "${Torch_DIR}"
                     "set it to the folder that has that file (in a wheel or zip: share/cmake/Torch), or unset it (-UTorch_DIR).")
    elseif(config)
      get_filename_component(root "${config}" DIRECTORY)
      file(REAL_PATH "${root}/../../.." root)
      _torchamp_version_of("${root}" version)
      set(why "pointed to by Torch_DIR or CMAKE_PREFIX_PATH (${root})")
      if(NOT version)
        _torchamp_fail("there is no LibTorch around the TorchConfig.cmake that was pointed to." "${config}"
                       "point to a whole LibTorch, the folder with include/, lib/ and share/ in it.")
      endif()
      _torchamp_check_version("${version}" "${root}")
      if(NOT EXISTS "${root}/lib/${CMAKE_SHARED_LIBRARY_PREFIX}torch_cpu${CMAKE_SHARED_LIBRARY_SUFFIX}")
        _torchamp_find_package("${config}" "${version}" "${why}")  # a distribution's layout
        return()
      endif()
      _torchamp_usage("${root}" "${version}")
      if(usage_problem)
        _torchamp_fail("the LibTorch that was pointed to can't be used." "${root}: ${usage_problem}"
                       "install what is missing beside it (pip install torch, without --no-deps), or point to none: torchamp then finds or fetches another.")
      endif()
      set(known ON)
      set(proof "${config}")
    endif()
  endif()

  if(NOT known)  # 3. a Python's torch package
    _torchamp_pythons(pythons)
    set(maker "")
    set(looked_at "")
    set(roots "")
    foreach(python IN LISTS pythons)
      execute_process(COMMAND "${python}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/libtorch_wheel.py" inspect
                      OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed)
      if(failed OR NOT answer MATCHES "^{")
        list(APPEND looked_at "${python} (does not run as Python 3.8 or newer)")
        continue()
      endif()
      string(JSON missing GET "${answer}" missing)
      if(missing)
        list(APPEND looked_at "${python} (lacks ${missing})")
      elseif(NOT maker)
        set(maker "${python}")
      endif()
      string(JSON root GET "${answer}" torch)
      if(NOT root OR root IN_LIST roots)  # python and python3 are often one
        continue()
      endif()
      list(APPEND roots "${root}")
      _torchamp_version_of("${root}" version)
      set(passed_over "")
      if(NOT version)
        set(passed_over "it has no C++ headers")
      elseif(TORCHAMP_TORCH_VERSION AND NOT version VERSION_EQUAL TORCHAMP_TORCH_VERSION)
        set(passed_over "TORCHAMP_TORCH_VERSION asks for ${TORCHAMP_TORCH_VERSION}")
      else()
        _torchamp_compare_to_range("${version}" place)
        if(NOT place EQUAL 0)
          set(passed_over "torchamp is tested with ${TORCHAMP_OLDEST_LIBTORCH} to ${TORCHAMP_NEWEST_LIBTORCH}")
        else()
          _torchamp_usage("${root}" "${version}")
          set(passed_over "${usage_problem}")
        endif()
      endif()
      if(passed_over)
        message(STATUS "torchamp: passing over torch ${version} of ${python}: ${passed_over}")
        continue()
      endif()
      set(known ON)
      set(proof "${root}/version.py")
      set(why "the torch package of ${python}")
      break()
    endforeach()
  endif()

  if(NOT known AND NOT TORCHAMP_TORCH_VERSION)  # 4. the system's
    find_file(config TorchConfig.cmake NO_CACHE PATHS /usr /usr/local
              PATH_SUFFIXES share/cmake/Torch lib/cmake/Torch lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/Torch)
    if(config)
      foreach(root IN ITEMS /usr /usr/local)
        _torchamp_version_of("${root}" version)
        _torchamp_compare_to_range("${version}" place)
        if(version AND place EQUAL 0)
          _torchamp_find_package("${config}" "${version}" "the system's (${config})")
          return()
        elseif(version)
          message(STATUS "torchamp: passing over the system's LibTorch ${version} (${config}): torchamp is "
                         "tested with ${TORCHAMP_OLDEST_LIBTORCH} to ${TORCHAMP_NEWEST_LIBTORCH}")
        endif()
      endforeach()
    endif()
  endif()

  if(NOT known)  # 5. fetched
    set(version "${TORCHAMP_TORCH_VERSION}")
    if(NOT version)
      set(version ${_torchamp_default_torch})
    endif()
    _torchamp_check_version("${version}" "TORCHAMP_TORCH_VERSION")
    _torchamp_standard_of("${version}" usage_standard)  # before the download, not after it
    if(NOT looked_at)
      set(looked_at "no python3 on PATH")
    endif()
    list(JOIN looked_at ", " looked_at)
    _torchamp_fetch("${version}" "${maker}" root "${looked_at}")
    _torchamp_usage("${root}" "${version}")
    if(usage_problem)
      _torchamp_fail("the LibTorch that pip installed can't be used." "${root}: ${usage_problem}"
                     "remove ${TORCHAMP_LIBTORCH_DIR} and configure again; if that does not help, please report it.")
    endif()
    set(known ON)
    set(proof "${root}/version.py")
    set(why "fetched by torchamp, since nothing here offered one that fits (${root})")
  endif()

  add_library(torchamp::libtorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(torchamp::libtorch SYSTEM INTERFACE ${usage_includes})
  target_compile_definitions(torchamp::libtorch INTERFACE ${usage_definitions})
  target_link_libraries(torchamp::libtorch INTERFACE ${usage_libraries})
  target_link_options(torchamp::libtorch INTERFACE ${usage_options})
  # A feature, not a property: a project that is at a higher standard stays there.
  target_compile_features(torchamp::libtorch INTERFACE cxx_std_${usage_standard})
  set_property(GLOBAL PROPERTY torchamp_libtorch_version "${version}")

  set(half "CPU")
  if(usage_cuda)
    set(half "CPU and CUDA")
  endif()
  message(STATUS "torchamp: LibTorch ${version} (${half}): ${why}")
  if(proof)
    file(SHA256 "${proof}" proof_hash)
    set(_TORCHAMP_CHOICE_KEY "${key}${proof_hash}" CACHE INTERNAL "")
    set(_TORCHAMP_CHOICE_PROOF "${proof}" CACHE INTERNAL "")
    foreach(part IN LISTS memory)
      set(_TORCHAMP_CHOICE_${part} "${${part}}" CACHE INTERNAL "")
    endforeach()
  endif()
endfunction()
