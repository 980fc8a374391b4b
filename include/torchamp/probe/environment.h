// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/cpu_features.h>
#include <torchamp/detail/cuda_features.h>
#include <torchamp/detail/libtorch.h>
#include <torchamp/version.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/Device.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// An accelerator that this program can use. What LibTorch does not tell is absent.
struct DeviceFacts {
  std::string name;                               ///< "cuda:0"
  std::optional<std::string> model;               ///< "NVIDIA H200", as the driver tells it
  std::optional<std::string> compute_capability;  ///< at least: "8.0 or newer"
  /// Half precision that it multiplies in hardware.
  std::optional<std::vector<c10::ScalarType>> native_dtypes;
  std::optional<int64_t> total_bytes;  ///< of its memory; LibTorch 2.10 and newer
  std::optional<int64_t> free_bytes;   ///< of that, what nobody holds now
};

/// Where a program runs and with what: the first thing that a measurement should print, and that a
/// bug report should have.
struct Environment {
  std::string torchamp;  ///< "0.1.0"
  std::string libtorch;  ///< the version of the headers
  /// Of std::string, as LibTorch was built; absent where the standard library has only one.
  std::optional<bool> cxx11_abi;
  long cpp_standard = 0;  ///< of this program: 17, 20, …
  std::string compiler;
  bool optimized = false;            ///< by the compiler; where it doesn't say so: with NDEBUG
  bool assertions = false;           ///< compiled without NDEBUG
  std::string cpu;                   ///< "unknown" where it cannot be asked
  std::string cpu_capability;        ///< the instructions that LibTorch's kernels take: "AVX2"
  bool cpu_native_bf16 = false;      ///< else bfloat16 is converted to float32 and back, and slow
  int threads = 0;                   ///< for one operator
  int interop_threads = 0;           ///< for operators side by side
  std::string accelerator;           ///< "cuda"; empty if LibTorch is built for none
  std::vector<DeviceFacts> devices;  ///< accelerators that are there

  /// Label and value of each line, in this order, for a table or a report.
  std::vector<std::pair<std::string, std::string>> lines() const;

  /// The same as text: a line each, ended by a line break.
  std::string text() const;
};

namespace detail {

/// What stands behind "`label`:" on the first such line of a file of Linux; empty if nothing does.
inline std::string value_in_file(const std::filesystem::path& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(label, 0) != 0) continue;
    const auto colon = line.find_first_not_of(" \t", label.size());
    if (colon == std::string::npos || line[colon] != ':') continue;
    const auto begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string::npos) continue;
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  return "";
}

/// The processor's name as Linux gives it; "unknown" elsewhere.
inline std::string cpu_name() {
  const auto name = value_in_file("/proc/cpuinfo", "model name");
  return name.empty() ? "unknown" : name;
}

/// The model of the GPUs that NVIDIA's driver for Linux lists in `folder`. Absent if they are of
/// different models, since which of them is cuda:0 the driver does not say there.
inline std::optional<std::string> nvidia_model(const std::filesystem::path& folder) {
  std::optional<std::string> model;
  std::error_code error;  // no such folder: no such driver
  for (const auto& gpu : std::filesystem::directory_iterator(folder, error)) {
    const auto found = value_in_file(gpu.path() / "information", "Model");
    if (found.empty() || (model && *model != found)) return std::nullopt;
    model = found;
  }
  return model;
}

inline std::string compiler_name() {
#if defined(__clang__)
  return __VERSION__;  // begins with the compiler's name
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "unknown";
#endif
}

inline DeviceFacts device_facts(c10::Device device) {
  DeviceFacts facts;
  facts.name = device.str();
  try {
    const c10::DeviceGuard guard(device);
    if (device.is_cuda()) {
      const auto gpu = cuda_features();
      if (gpu.float16) {
        facts.compute_capability = gpu.bfloat16 ? "8.0 or newer" : "7.0 or newer";
        facts.native_dtypes.emplace(1, at::kHalf);
        if (gpu.bfloat16) facts.native_dtypes->push_back(at::kBFloat16);
      }
    }
    if (const auto memory = device_memory(device)) {
      facts.total_bytes = memory->total;
      facts.free_bytes = memory->free;
    }
    if (device.is_cuda()) facts.model = nvidia_model("/proc/driver/nvidia/gpus");
  } catch (const std::exception&) {
    // A device that is there and does not answer: a bug report should still have the rest.
  }
  return facts;
}

inline std::vector<DeviceFacts> accelerators(c10::DeviceType type) {
  std::vector<DeviceFacts> devices;
  const auto count = c10::impl::VirtualGuardImpl(type).deviceCount();
  for (c10::DeviceIndex index = 0; index < count; ++index) {
    devices.push_back(device_facts(c10::Device(type, index)));
  }
  return devices;
}

}  // namespace detail

/// Looks at this program, the processor and every accelerator; begins to use the latter.
/// Host sync: none.
inline Environment environment() {
  Environment found;
  found.torchamp = version;
  found.libtorch = detail::libtorch_version;
#if defined(_GLIBCXX_USE_CXX11_ABI)
  found.cxx11_abi = _GLIBCXX_USE_CXX11_ABI != 0;
#endif
#if defined(_MSVC_LANG)
  found.cpp_standard = _MSVC_LANG / 100 % 100;  // its __cplusplus stays at C++98
#else
  found.cpp_standard = __cplusplus / 100 % 100;
#endif
  found.compiler = detail::compiler_name();
#ifndef NDEBUG
  found.assertions = true;
#endif
#if defined(__OPTIMIZE__)
  found.optimized = true;
#elif !defined(__GNUC__)
  found.optimized = !found.assertions;
#endif
  found.cpu = detail::cpu_name();
  found.cpu_capability = at::get_cpu_capability();
  found.cpu_native_bf16 = detail::cpu_features().native_bf16();
  found.threads = at::get_num_threads();
  found.interop_threads = at::get_num_interop_threads();
  if (const auto type = at::getAccelerator(/*checked=*/false)) {
    found.accelerator = c10::DeviceTypeName(*type, /*lower_case=*/true);
    if (detail::has_device(*type)) found.devices = detail::accelerators(*type);
  }
  return found;
}

inline std::vector<std::pair<std::string, std::string>> Environment::lines() const {
  const char* abi = "";
  if (cxx11_abi) abi = *cxx11_abi ? ", cxx11 ABI" : ", pre-cxx11 ABI";
  std::vector<std::pair<std::string, std::string>> lines{
      {"torchamp", torchamp},
      {"LibTorch", libtorch + abi},
      {"compiler", compiler + ", C++" + std::to_string(cpp_standard) +
                       (optimized ? "" : ", not optimized") +
                       (assertions ? ", with assertions (no NDEBUG)" : "")},
      {"CPU", cpu + ", " + cpu_capability +
                  (cpu_native_bf16 ? ", bfloat16 in hardware" : ", no bfloat16 in hardware")},
      {"threads", std::to_string(threads) + " for an operator, " + std::to_string(interop_threads) +
                      " for operators side by side"}};
  if (devices.empty()) {
    lines.emplace_back("accelerator", accelerator.empty()
                                          ? "none, LibTorch is built without"
                                          : "none found, LibTorch is built for " + accelerator);
  }
  for (const auto& device : devices) {
    std::string text = device.name;
    if (device.model) text += ", " + *device.model;
    if (device.compute_capability) text += ", compute capability " + *device.compute_capability;
    if (device.native_dtypes) {
      const char* separator = ", in hardware ";
      for (const auto dtype : *device.native_dtypes) {
        text += std::string(separator) + (dtype == at::kHalf ? "float16" : "bfloat16");
        separator = " and ";
      }
    }
    if (device.total_bytes) {
      text += ", " + std::to_string(*device.total_bytes / 1'000'000) + " MB";
      if (device.free_bytes) {
        text += ", of which " + std::to_string(*device.free_bytes / 1'000'000) + " MB free";
      }
    }
    lines.emplace_back("accelerator", std::move(text));
  }
  return lines;
}

inline std::string Environment::text() const {
  std::string text;
  for (const auto& [label, value] : lines()) {
    text +=
        label + std::string(label.size() < 12 ? 12 - label.size() : 0, ' ') + " " + value + "\n";
  }
  return text;
}

}  // namespace v0
}  // namespace torchamp
