// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>

// LibTorch's own profiler, as a program beside torchamp may use it.

/// A profiler of one thread, with memory events.
inline torch::profiler::impl::ProfilerConfig profiling_memory(
    const torch::profiler::impl::ExperimentalConfig& experimental = {}) {
  using torch::profiler::impl::ProfilerConfig;
  return ProfilerConfig(torch::profiler::impl::ProfilerState::KINETO, /*report_input_shapes=*/false,
                        /*profile_memory=*/true, /*with_stack=*/false, /*with_flops=*/false,
                        /*with_modules=*/false, experimental);
}

template <class Experimental, class = void>
struct AllThreads {
  static std::optional<torch::profiler::impl::ProfilerConfig> config() { return std::nullopt; }
};
template <class Experimental>
struct AllThreads<Experimental, std::void_t<decltype(Experimental::profile_all_threads)>> {
  static std::optional<torch::profiler::impl::ProfilerConfig> config() {
    Experimental experimental;
    experimental.profile_all_threads = true;
    return profiling_memory(experimental);
  }
};

/// The same of all threads, which older LibTorch does not have.
inline std::optional<torch::profiler::impl::ProfilerConfig> profiling_all_threads() {
  return AllThreads<torch::profiler::impl::ExperimentalConfig>::config();
}

inline void start_profiler(const torch::profiler::impl::ProfilerConfig& config) {
  using torch::profiler::impl::ActivityType;
  torch::autograd::profiler::prepareProfiler(config, {ActivityType::CPU});
  torch::autograd::profiler::enableProfiler(config, {ActivityType::CPU});
}

/// Stops it; returns how many events of this name it has.
inline std::ptrdiff_t stop_profiler(const std::string& name) {
  const auto result = torch::autograd::profiler::disableProfiler();
  return std::count_if(result->events().begin(), result->events().end(),
                       [&](const auto& event) { return event.name() == name; });
}
