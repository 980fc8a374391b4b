// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Where the default random generators of the CPU and of a device are in their streams.
///
/// Several trainings that take turns, each going on from its own state, draw the random numbers
/// that each would draw alone.
class RandomState {
 public:
  /// The state now.   Host sync: what the device's generator needs; a GPU's state is on the host.
  explicit RandomState(c10::Device device) : device_(device) {
    for (auto& generator : generators(device_)) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      states_.push_back(generator.get_state());
    }
  }

  /// Goes back to that state.   Host sync: as above.
  void restore() const {
    auto state = states_.begin();
    for (auto& generator : generators(device_)) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(*state++);
    }
  }

  /// Begins anew from a seed, as `at::manual_seed` does, but on the CPU and on `device` alone: the
  /// generators of other devices, which no state of these two brings back, go on.
  /// Host sync: as above.
  static void seed(c10::Device device, uint64_t seed) {
    for (auto& generator : generators(device)) {
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_current_seed(seed);
    }
  }

 private:
  static std::vector<at::Generator> generators(c10::Device device) {
    std::vector<at::Generator> all{at::globalContext().defaultGenerator(c10::kCPU)};
    if (!device.is_cpu()) all.push_back(at::globalContext().defaultGenerator(device));
    return all;
  }

  c10::Device device_;
  std::vector<at::Tensor> states_;
};

/// Goes back, at the end of a scope, to the random numbers from before it.
class RandomStateGuard {
 public:
  /// Host sync: as RandomState.
  [[nodiscard]] explicit RandomStateGuard(c10::Device device) : state_(device) {}
  ~RandomStateGuard() {
    try {
      state_.restore();
    } catch (...) {  // a destructor may not throw; a device that is lost says so at its next use
    }
  }
  // A guard is a scope.
  RandomStateGuard(const RandomStateGuard&) = delete;
  RandomStateGuard& operator=(const RandomStateGuard&) = delete;
  RandomStateGuard(RandomStateGuard&&) = delete;
  RandomStateGuard& operator=(RandomStateGuard&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  RandomState state_;
};

}  // namespace v0
}  // namespace torchamp
