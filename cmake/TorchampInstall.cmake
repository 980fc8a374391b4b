# SPDX-FileCopyrightText: 2026 The torchamp authors
# SPDX-License-Identifier: MIT

# `cmake --install`: the headers, and a package that find_package(torchamp) finds. The package finds LibTorch
# the same way as the build does, on the machine and at the time where it is used.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_package ${CMAKE_INSTALL_DATADIR}/cmake/torchamp)
install(TARGETS torchamp EXPORT torchampTargets FILE_SET HEADERS)
install(EXPORT torchampTargets NAMESPACE torchamp:: DESTINATION ${_package})
configure_package_config_file(cmake/torchampConfig.cmake.in "${PROJECT_BINARY_DIR}/torchampConfig.cmake"
                              INSTALL_DESTINATION ${_package})
# Headers alone: the same on every machine, whatever its word size.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/torchampConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/torchampConfig.cmake" "${PROJECT_BINARY_DIR}/torchampConfigVersion.cmake"
              cmake/TorchampLibTorch.cmake cmake/libtorch_wheel.py
        DESTINATION ${_package})
