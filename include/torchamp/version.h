// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

// The one place that says which version this is: CMake reads the numbers from here.
#define TORCHAMP_VERSION_MAJOR 0
#define TORCHAMP_VERSION_MINOR 1
#define TORCHAMP_VERSION_PATCH 0

namespace torchamp {
inline namespace v0 {

/// torchamp's own version, "major.minor.patch".
inline constexpr char version[] = "0.1.0";

/// The LibTorch releases that torchamp is tested with, both ends included ("major.minor").
inline constexpr char oldest_libtorch[] = "2.4";
inline constexpr char newest_libtorch[] = "2.15";

}  // namespace v0
}  // namespace torchamp
