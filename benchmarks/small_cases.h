// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/autocast.h>
#include <torchamp/probe/timer.h>

#include "case.h"

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <string>

// What is short, and what other cases are compared with: the memory of this machine, the calls
// below an AutocastGuard, and the clock that a Timer reads.
namespace benchmarks {

/// a[i] = b[i] + s * c[i], or in place a[i] = a[i] + s * c[i], by LibTorch's kernel and threads.
/// triad/ELEMENTS/apart, triad/ELEMENTS/in_place
inline Case triad_case(const std::string& name) {
  const auto words = words_of(name);
  if (words.size() != 3) no_such_case(name);
  const auto elements = std::stoll(words[1]);
  auto a = torch::ones({elements});
  const auto c = torch::full({elements}, 0.75F);
  if (words[2] == "in_place") {
    return {[=]() mutable { at::add_out(a, a, c, /*alpha=*/1e-3); }, nullptr};
  }
  if (words[2] != "apart") no_such_case(name);
  const auto b = torch::ones({elements});
  return {[=]() mutable { at::add_out(a, b, c, /*alpha=*/1e-3); }, nullptr};
}

/// Every call to LibTorch that an outermost AutocastGuard makes for its region, in its order.
inline void region_by_hand() {
  namespace autocast = at::autocast;
  if (!autocast::is_autocast_available(at::kCPU)) return;
  const bool enabled = autocast::is_autocast_enabled(at::kCPU);
  const auto dtype = autocast::get_autocast_dtype(at::kCPU);
  autocast::set_autocast_enabled(at::kCPU, true);
  if (autocast::get_autocast_dtype(at::kCPU) != at::kBFloat16) {
    autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    autocast::clear_cache();
  }
  const bool cache = autocast::is_autocast_cache_enabled();
  if (autocast::increment_nesting() == 1) autocast::clear_cache();
  autocast::set_autocast_cache_enabled(cache && !at::tracer::impl::is_dispatch_enabled());
  // Here a region would be.
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
  autocast::set_autocast_enabled(at::kCPU, enabled);
  if (autocast::get_autocast_dtype(at::kCPU) != dtype) {
    autocast::set_autocast_dtype(at::kCPU, dtype);
    autocast::clear_cache();
  }
  autocast::set_autocast_cache_enabled(cache);
}

/// The same without what only makes it safe: the least that opens a region and closes it.
inline void bare_region() {
  namespace autocast = at::autocast;
  const bool enabled = autocast::is_autocast_enabled(at::kCPU);
  const auto dtype = autocast::get_autocast_dtype(at::kCPU);
  autocast::set_autocast_enabled(at::kCPU, true);
  autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  autocast::increment_nesting();
  if (autocast::decrement_nesting() == 0) autocast::clear_cache();
  autocast::set_autocast_enabled(at::kCPU, enabled);
  autocast::set_autocast_dtype(at::kCPU, dtype);
}

/// What is so short that the loop around it would be seen.
template <class Function>
Case repeated(Function function) {
  constexpr int times = 1000;
  return {[=] {
            for (int i = 0; i < times; ++i) function();
          },
          nullptr, times};
}

/// guard/guard, guard/raw, guard/least.
inline Case guard_case(const std::string& name) {
  if (name == "guard/guard") {
    return repeated([] { const torchamp::AutocastGuard region(at::kCPU, at::kBFloat16); });
  }
  if (name == "guard/raw") return repeated(region_by_hand);
  if (name == "guard/least") return repeated(bare_region);
  no_such_case(name);
}

/// timer/lap, a lap of a Timer inside another, as phases of a step are; timer/clock, the two looks
/// at the clock that it takes.
inline Case timer_case(const std::string& name) {
  using Clock = std::chrono::steady_clock;
  if (name == "timer/clock") {
    return repeated([] {
      volatile auto ticks = (Clock::now() - Clock::now()).count();
      static_cast<void>(ticks);
    });
  }
  if (name != "timer/lap") no_such_case(name);
  constexpr int steps = 250;
  return {[] {
            torchamp::Timer timer(at::kCPU);  // a new one, as each lap takes 8 bytes
            for (int i = 0; i < steps; ++i) {
              const auto step = timer.phase("step");
              for (const char* part : {"forward", "backward", "optimizer"}) {
                const auto lap = timer.phase(part);
              }
            }
          },
          nullptr, 4 * steps};
}

}  // namespace benchmarks
