# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# What tests, examples and benchmarks need beside LibTorch; consumers of torchamp need none of it.
#
#   torchamp_find_dependency(NAME)
#
# makes the target named below from the first of: an installed package (find_package); the distribution's
# package, unpacked into the build tree (Debian, Ubuntu; no root, nothing installed); the pinned release.
# Downloads are kept in build/_dependencies/, one for all presets.

# NAME: target, Debian package, release and its SHA-256, the target it builds where that has another name.
set(_torchamp_dependency_doctest doctest::doctest doctest-dev
    "https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz"
    632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186)
set(_torchamp_dependency_nlohmann_json nlohmann_json::nlohmann_json nlohmann-json3-dev
    "https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz"
    d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
set(_torchamp_dependency_CLI11 CLI11::CLI11 libcli11-dev
    "https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.5.0.tar.gz"
    17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55)
set(_torchamp_dependency_ZLIB ZLIB::ZLIB zlib1g-dev
    "https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz"
    9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23 zlibstatic)
set(_torchamp_dependency_benchmark benchmark::benchmark libbenchmark-dev
    "https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz"
    6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7)

set(TORCHAMP_DEPENDENCY_DIR "${PROJECT_SOURCE_DIR}/build/_dependencies" CACHE PATH
    "Where the dependencies of tests, examples and benchmarks are downloaded to")

# Unpacks the Debian package <package> into <folder>; <out>: "" or why not.
function(_torchamp_unpack_deb package folder out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS "${folder}")  # it gets this name only when it is whole
    return()
  endif()
  find_program(TORCHAMP_APT_GET apt-get)
  find_program(TORCHAMP_DPKG_DEB dpkg-deb)
  mark_as_advanced(TORCHAMP_APT_GET TORCHAMP_DPKG_DEB)
  if(NOT TORCHAMP_APT_GET OR NOT TORCHAMP_DPKG_DEB)
    set(${out} "no apt-get and dpkg-deb here" PARENT_SCOPE)
    return()
  endif()
  set(partial "${folder}.partial")
  file(REMOVE_RECURSE "${partial}")
  file(MAKE_DIRECTORY "${partial}")
  set(own "")
  execute_process(COMMAND "${TORCHAMP_APT_GET}" -qq download ${package} WORKING_DIRECTORY "${partial}"
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE error)
  if(failed)
    # No package lists, or old ones, as on a fresh machine. Fetching lists of our own takes no root.
    set(apt "${TORCHAMP_DEPENDENCY_DIR}/apt")
    file(MAKE_DIRECTORY "${apt}/state/lists/partial" "${apt}/cache/archives/partial")
    set(own -o "Dir::State=${apt}/state" -o Dir::State::status=/var/lib/dpkg/status -o "Dir::Cache=${apt}/cache"
            -o APT::Sandbox::User=root)
    message(STATUS "torchamp: fetching the package lists of this distribution, for ${package}")
    execute_process(COMMAND "${TORCHAMP_APT_GET}" -qq ${own} update OUTPUT_QUIET ERROR_QUIET)
    execute_process(COMMAND "${TORCHAMP_APT_GET}" -qq ${own} download ${package} WORKING_DIRECTORY "${partial}"
                    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE error)
  endif()
  # A shared library is in a package of its own, of the very same version: "Depends: libx1 (= 1.7.1-1)".
  if(NOT failed)
    file(GLOB deb "${partial}/*.deb")
    execute_process(COMMAND "${TORCHAMP_DPKG_DEB}" -f "${deb}" Depends OUTPUT_VARIABLE needs ERROR_QUIET)
    if(needs MATCHES "(^| )(lib[^ ]+) \\(= ")
      set(library "${CMAKE_MATCH_2}")
      execute_process(COMMAND "${TORCHAMP_APT_GET}" -qq ${own} download ${library} WORKING_DIRECTORY "${partial}"
                      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE error)
    endif()
  endif()
  file(GLOB debs "${partial}/*.deb")
  foreach(deb IN LISTS debs)
    if(NOT failed)
      execute_process(COMMAND "${TORCHAMP_DPKG_DEB}" -x "${deb}" "${partial}"
                      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE error)
    endif()
  endforeach()
  if(failed)
    file(REMOVE_RECURSE "${partial}")
    string(STRIP "${error}" error)
    string(REGEX MATCH "[^\n]+$" error "${error}")
    set(${out} "apt-get download ${package} failed (${error})" PARENT_SCOPE)
    return()
  endif()
  file(REMOVE ${debs})
  file(RENAME "${partial}" "${folder}")
endfunction()

function(torchamp_find_dependency name)
  if(NOT DEFINED _torchamp_dependency_${name})
    message(FATAL_ERROR "torchamp: TorchampDependency.cmake knows no dependency ${name}.")
  endif()
  list(POP_FRONT _torchamp_dependency_${name} target deb url sha256 built)
  if(TARGET ${target})
    return()
  endif()
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)  # found once, for examples and tests

  find_package(${name} QUIET)
  if(TARGET ${target})
    message(STATUS "torchamp: ${name}: installed")
    return()
  endif()

  file(MAKE_DIRECTORY "${TORCHAMP_DEPENDENCY_DIR}")
  file(LOCK "${TORCHAMP_DEPENDENCY_DIR}/lock" GUARD FUNCTION TIMEOUT 600)
  _torchamp_unpack_deb(${deb} "${TORCHAMP_DEPENDENCY_DIR}/${deb}" no_deb)
  if(NOT no_deb)
    # Not by the package's own CMake files: Debian's say /usr, wherever they are.
    file(GLOB libraries "${TORCHAMP_DEPENDENCY_DIR}/${deb}/usr/lib/*/*.a")
    list(FILTER libraries EXCLUDE REGEX "_main\\.a$")  # a main() for programs that bring none
    if(NOT libraries)
      file(GLOB libraries "${TORCHAMP_DEPENDENCY_DIR}/${deb}/usr/lib/*/*.so")
    endif()
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} SYSTEM INTERFACE "${TORCHAMP_DEPENDENCY_DIR}/${deb}/usr/include")
    target_link_libraries(${target} INTERFACE ${libraries})
    message(STATUS "torchamp: ${name}: ${deb}, unpacked into ${TORCHAMP_DEPENDENCY_DIR}")
    return()
  endif()

  # Downloaded here, not by FetchContent, to be able to say what went wrong, and to do it once for all presets.
  get_filename_component(file "${url}" NAME)
  set(archive "${TORCHAMP_DEPENDENCY_DIR}/${name}-${file}")
  if(NOT EXISTS "${archive}")
    message(STATUS "torchamp: fetching ${url}")
    file(DOWNLOAD "${url}" "${archive}.partial" STATUS status TIMEOUT 300)
    list(POP_FRONT status failed error)
    if(NOT failed)
      file(SHA256 "${archive}.partial" got)
      if(got STREQUAL sha256)
        file(RENAME "${archive}.partial" "${archive}")
      else()
        set(failed 1)
        set(error "its SHA-256 is ${got}, not ${sha256}")
      endif()
    endif()
    if(failed)
      file(REMOVE "${archive}.partial")
      message(FATAL_ERROR "torchamp: ${name} is needed for tests, examples or benchmarks, and none of three ways led to it.\n"
                          "  seen: find_package(${name}): not installed; ${no_deb}; ${url}: ${error}\n"
                          "  cure: install it (Debian, Ubuntu: apt install ${deb}), or leave out what needs it: "
                          "-DTORCHAMP_BUILD_TESTS=OFF -DTORCHAMP_BUILD_EXAMPLES=OFF -DTORCHAMP_BUILD_BENCHMARKS=OFF")
    endif()
  endif()
  include(FetchContent)
  foreach(off IN ITEMS DOCTEST_WITH_TESTS JSON_BuildTests JSON_Install CLI11_BUILD_TESTS CLI11_BUILD_EXAMPLES ZLIB_BUILD_EXAMPLES
                     BENCHMARK_ENABLE_TESTING BENCHMARK_ENABLE_INSTALL)
    set(${off} OFF CACHE INTERNAL "")
  endforeach()
  FetchContent_Declare(${name} URL "${archive}" URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON
                       SYSTEM EXCLUDE_FROM_ALL)
  FetchContent_MakeAvailable(${name})
  if(built)
    string(TOLOWER ${name} lower)
    add_library(torchamp_${lower} INTERFACE)
    target_link_libraries(torchamp_${lower} INTERFACE ${built})
    target_include_directories(torchamp_${lower} SYSTEM INTERFACE ${${lower}_SOURCE_DIR} ${${lower}_BINARY_DIR})
    add_library(${target} ALIAS torchamp_${lower})
  endif()
  message(STATUS "torchamp: ${name}: ${url}")
endfunction()
