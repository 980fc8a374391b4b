// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/probe/lap_clock.h>
#include <torchamp/probe/phase_times.h>
#include <torchamp/probe/phase_tree.h>
#include <torchamp/probe/trace_range.h>

#include <ATen/record_function.h>
#include <c10/core/Device.h>
#include <torch/arg.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

struct TimerOptions {
  /// Laps at the start of each phase that are kept apart: caches fill, memory is first taken,
  /// clocks rise.
  TORCH_ARG(int64_t, warmup) = 3;

  /// False: each lap waits for all streams of the device (before LibTorch 2.7: for the current one)
  /// at both ends, and is read from the clock.
  TORCH_ARG(bool, device_events) = true;
};

/// Measures laps of named phases, which nest, in seconds.
///
///     torchamp::Timer timer(device);
///     for (auto& batch : *loader) {
///       const auto step = timer.phase("step");
///       auto loss = timer.lap("forward", [&] { return loss_of(batch); });
///       timer.lap("backward", [&] { loss.backward(); });
///       timer.lap("optimizer", [&] { optimizer.step(); });
///     }
///     for (const auto& phase : timer.phases()) …  // "step", "step/forward", …: count, median, …
///
/// On a CPU a lap is read from the clock. On a device whose events tell the time it lasts from
/// event to event on the stream that is current at each end: it has the device's work in it and
/// none of what was queued before, and the host waits for nothing until the seconds are read. On
/// other devices, and without `device_events`, the host waits at both ends.
///
/// A lap that is left by an exception is no lap. Seconds are not given out while a lap is running.
/// In a `TraceGuard`, and for any profiler of LibTorch, each lap is a range of its phase's name.
/// A lap costs less than 100 ns beside two looks at the clock, and 8 bytes.
///
/// Threads: one at a time; a lap ends on the thread that began it. `Clock` can be replaced.
/// Caveats: with events, work on streams that the current one does not wait for is not in the lap;
/// time no part of a CUDA graph's capture.
template <class Clock = std::chrono::steady_clock>
class BasicTimer {
 public:
  static_assert(Clock::is_steady, "a clock that can be set would measure laps that never were");

  class Lap;

  /// Host sync: waits once for a device, to see whether its events tell the time.
  /// Throws: [E08] for a negative warm-up.
  explicit BasicTimer(c10::Device device, const TimerOptions& options = {});

  /// Begins a lap of the phase `name` inside the innermost lap that is running; it ends with the
  /// guard's scope. The same name inside another phase is another phase.
  /// Host sync: none with events or on a CPU, else waits for the device.
  /// Throws: [E13] for a new name that is empty or has a '/', which separates the names of a path.
  [[nodiscard]] Lap phase(std::string_view name) { return Lap(*this, phase_of(name)); }

  /// One lap of the phase around a call; returns what that returns.   Host sync, throws: as
  /// phase().
  template <class Function>
  decltype(auto) lap(std::string_view name, Function&& function);

  /// The same for a phase named "lap", an outermost one.   Host sync: as phase().
  /// Throws: [E13] if a lap is running; it goes on.
  template <class Function>
  decltype(auto) lap(Function&& function);

  /// Begins a lap of the phase "lap".   Host sync, throws: as lap() without a name.
  void start();

  /// Ends it and returns its seconds.   Host sync: waits for the device.
  /// Throws: [E13] if start() began no lap, or one inside it is running; nothing changes.
  double stop();

  /// Every phase that has a lap, as they first began, "lap" first; the inner ones after the outer.
  /// Host sync: waits until the device has finished the laps.
  /// Throws: [E13] if a lap is running, or a phase has no lap after its warm-up.
  std::vector<PhaseTimes> phases() const { return settled().all_times(); }

  /// The phase of that path, such as "step/forward".
  /// Host sync: as phases().   Throws: [E13] also if there is no such phase.
  PhaseTimes phase_times(std::string_view path) const {
    return detail::PhaseTree::times(settled().find(path));
  }

  /// Seconds of each lap of a phase after its warm-up, in order.
  /// Host sync: as phases().   Throws: [E13] if a lap is running, or there is no such phase.
  const std::vector<double>& laps(std::string_view path = "lap") const {
    return settled().find(path).laps;
  }
  /// Seconds of each lap of its warm-up, in order.   Host sync, throws: as laps().
  const std::vector<double>& warmup_laps(std::string_view path = "lap") const {
    return settled().find(path).warmup_laps;
  }

  // Laps know their timer by its address.
  BasicTimer(const BasicTimer&) = delete;
  BasicTimer& operator=(const BasicTimer&) = delete;
  BasicTimer(BasicTimer&&) = delete;
  BasicTimer& operator=(BasicTimer&&) = delete;

 private:
  using Index = detail::PhaseTree::Index;

  struct RunningLap {
    Index phase;
    bool lost;  // its guard ended before the lap inside it
    std::unique_ptr<at::RecordFunction> range;
  };

  Index phase_of(std::string_view name);
  void check_idle(const char* function) const;
  void begin(Index phase);
  void end();
  void drop() noexcept;
  auto take() const {
    return [this](Index phase, double seconds) {
      phases_.take(phase, seconds);
      last_seconds_ = seconds;
    };
  }
  void settle(bool may_wait) const { clock_.settle(may_wait, take()); }
  const detail::PhaseTree& settled() const;

  bool started_ = false;             // by start(), and not stopped
  std::vector<RunningLap> running_;  // the innermost last
  std::exception_ptr failure_;       // met by a guard at its end
  // Reading what a device has measured changes nothing that can be seen.
  mutable detail::PhaseTree phases_;
  mutable detail::LapClock<Clock> clock_;
  mutable double last_seconds_ = 0;  // of the lap that was taken last
};

/// A lap that is running: the guard of a scope.
template <class Clock>
class BasicTimer<Clock>::Lap {
 public:
  /// Ends the lap, unless end() has.   Host sync: as phase().
  ~Lap();

  /// Ends the lap before its scope does.   Host sync: as phase().
  /// Throws: [E13] if it has ended, or a lap inside it is running; nothing changes.
  void end();

  Lap(const Lap&) = delete;
  Lap& operator=(const Lap&) = delete;
  Lap(Lap&&) = delete;
  Lap& operator=(Lap&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  friend BasicTimer;
  Lap(BasicTimer& timer, Index phase)
      : timer_(&timer), depth_(timer.running_.size()), exceptions_(std::uncaught_exceptions()) {
    timer.begin(phase);
  }

  BasicTimer* timer_;  // null after end()
  std::size_t depth_;  // how many laps it is inside of
  int exceptions_;     // that were under way when it began
};

using Timer = BasicTimer<>;

template <class Clock>
BasicTimer<Clock>::BasicTimer(c10::Device device, const TimerOptions& options)
    : phases_(options.warmup()), clock_(device, options.device_events()) {
  TORCHAMP_CHECK(E08, options.warmup() >= 0, "Timer: warmup is ", options.warmup(),
                 " laps; choose 0 or more");
  phase_of("lap");
}

template <class Clock>
template <class Function>
decltype(auto) BasicTimer<Clock>::lap(std::string_view name, Function&& function) {
  const Lap lap = phase(name);
  return std::forward<Function>(function)();
}

template <class Clock>
template <class Function>
decltype(auto) BasicTimer<Clock>::lap(Function&& function) {
  check_idle("lap");
  return lap("lap", std::forward<Function>(function));
}

template <class Clock>
void BasicTimer<Clock>::start() {
  check_idle("start");
  begin(phase_of("lap"));
  started_ = true;
}

template <class Clock>
double BasicTimer<Clock>::stop() {
  TORCHAMP_CHECK(E13, started_, "Timer::stop(): start() began no lap; call it first");
  TORCHAMP_CHECK(E13, running_.size() == 1, "Timer::stop(): a lap of \"",
                 phases_[running_.back().phase].path, "\" is running; end it first");
  end();
  started_ = false;
  settle(/*may_wait=*/true);
  return last_seconds_;
}

template <class Clock>
BasicTimer<Clock>::Lap::~Lap() {
  if (timer_ == nullptr) return;
  if (timer_->running_.size() != depth_ + 1) {
    timer_->running_[depth_].lost = true;  // it goes on, as whoever reads will be told
  } else if (std::uncaught_exceptions() > exceptions_) {
    timer_->drop();
  } else {
    try {
      timer_->end();
    } catch (...) {
      timer_->failure_ = std::current_exception();
      timer_->drop();
    }
  }
}

template <class Clock>
void BasicTimer<Clock>::Lap::end() {
  TORCHAMP_CHECK(E13, timer_ != nullptr, "Timer: this lap has ended; end it once");
  TORCHAMP_CHECK(E13, timer_->running_.size() == depth_ + 1, "Timer: the lap of \"",
                 timer_->phases_[timer_->running_.back().phase].path,
                 "\" inside this one is running; end it first");
  timer_->end();
  timer_ = nullptr;
}

template <class Clock>
typename BasicTimer<Clock>::Index BasicTimer<Clock>::phase_of(std::string_view name) {
  const Index outer = running_.empty() ? detail::PhaseTree::root : running_.back().phase;
  return phases_.find_or_add(outer, name);
}

template <class Clock>
void BasicTimer<Clock>::check_idle(const char* function) const {
  TORCHAMP_CHECK(E13, running_.empty(), "Timer::", function, "(): a lap of \"",
                 phases_[running_.back().phase].path, "\" is running",
                 running_.back().lost
                     ? ", since its guard ended before the lap inside it; let guards"
                       " end innermost first, and begin with a new timer"
                     : "; end it first");
}

template <class Clock>
void BasicTimer<Clock>::begin(Index phase) {
  settle(/*may_wait=*/false);  // so that few events wait to be read
  running_.push_back({phase, false, detail::begin_range(phases_[phase].name)});
  try {
    clock_.begin();
  } catch (...) {
    running_.pop_back();
    throw;
  }
}

template <class Clock>
void BasicTimer<Clock>::end() {
  clock_.end(running_.back().phase, take());
  running_.pop_back();
}

template <class Clock>
void BasicTimer<Clock>::drop() noexcept {
  clock_.drop();
  running_.pop_back();
}

template <class Clock>
const detail::PhaseTree& BasicTimer<Clock>::settled() const {
  check_idle("laps");
  if (failure_) std::rethrow_exception(failure_);
  settle(/*may_wait=*/true);
  return phases_;
}

}  // namespace v0
}  // namespace torchamp
