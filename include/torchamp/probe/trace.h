// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/detail/libtorch.h>
#include <torchamp/detail/trace_file.h>
#include <torchamp/probe/trace_range.h>

#include <ATen/Version.h>
#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/arg.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// What a trace has beside the operators and ranges of the CPU. Each costs time while tracing.
struct TraceOptions {
  /// The kernels of the accelerator, where there is one (CUDA, XPU, MTIA).
  TORCH_ARG(bool, device) = true;
  /// The shapes and dtypes of each operator's inputs: shows what autocast made of them.
  TORCH_ARG(bool, shapes) = false;
  /// Each allocation and each free, as events "[memory]".
  TORCH_ARG(bool, memory) = false;
  /// The lines of TorchScript that an operator was called from; LibTorch knows none of C++.
  TORCH_ARG(bool, stacks) = false;
};

namespace detail {

/// The right to trace, which one TraceGuard in the process has at a time.
///
/// Note [One trace at a time]
/// Kineto is one for the process. A second thread that starts it takes the first one's trace away,
/// and LibTorch crashes when that is saved (2.15), or fails to start (2.4). No version can be asked
/// beforehand, so this is the one state of torchamp that all threads share.
class TraceTurn {
 public:
  /// Throws: [E13] if another has it.
  TraceTurn() {
    TORCHAMP_CHECK(E13, !taken().exchange(true),
                   "TraceGuard: another thread of this process traces; LibTorch has one profiler"
                   " for all of them, so let that end first");
  }
  ~TraceTurn() { taken() = false; }
  TraceTurn(const TraceTurn&) = delete;
  TraceTurn& operator=(const TraceTurn&) = delete;

 private:
  static std::atomic<bool>& taken() {
    static std::atomic<bool> taken{false};
    return taken;
  }
};

}  // namespace detail

/// Writes a trace of a scope for Perfetto (ui.perfetto.dev) or chrome://tracing, by LibTorch's own
/// profiler: every operator of this thread and of the backward passes that it starts, on a time
/// axis, under the names of the TraceRanges around them.
///
///     {
///       torchamp::TraceGuard trace("step.json");
///       torchamp::TraceRange range("training step");
///       train_step();
///     }
///
/// Trace a few steps after the first few, not a whole training: an operator is some hundred bytes
/// of memory and of file, and costs about a microsecond. LibTorch has one profiler for the process:
/// a second TraceGuard is refused, and no other profiler may start on another thread meanwhile.
/// Caveat: ranges and laps that begin in a trace have to end before it does. LibTorch writes to
/// memory that is gone if one ends later, while a MemoryProbe or another trace is alive.
class TraceGuard {
 public:
  /// The file is overwritten at once, with a trace without events, so that a path that cannot be
  /// written to is found now.
  /// Host sync: none.   Threads: stops on the thread that began.
  /// Throws: [E13] if a profiler or a MemoryProbe runs on this thread, a profiler of all threads,
  /// or a TraceGuard on another, [E28] if LibTorch was built without Kineto, [E18] if the file
  /// cannot be written, or the path is that of a folder or a device. Nothing was begun, and no file
  /// changed. If LibTorch itself cannot start, what was in the file is gone.
  [[nodiscard]] explicit TraceGuard(std::string path, const TraceOptions& options = {});

  /// As `stop()`, but an error becomes a warning.
  ~TraceGuard();

  /// Ends the trace and writes the file.
  /// Host sync: waits for the accelerator's records.
  /// Throws: [E13] if it is stopped already, if another profiler runs on this thread, or one of all
  /// threads, which leaves this one as it is, or if one that was started on another thread has
  /// ended it; [E18] if the file was not written whole.
  void stop();

  /// True until it is stopped.
  bool is_running() const { return profiler_ != nullptr; }

  // A trace is a scope of one thread.
  TraceGuard(const TraceGuard&) = delete;
  TraceGuard& operator=(const TraceGuard&) = delete;
  TraceGuard(TraceGuard&&) = delete;
  TraceGuard& operator=(TraceGuard&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  using Activities = std::set<torch::profiler::impl::ActivityType>;

  static c10::DebugInfoBase* running_here() {
    return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  }
  // It would lose what it has recorded: LibTorch ends it in place of ours.
  static bool running_everywhere() {
    return detail::GlobalProfiler<torch::profiler::impl::ProfilerStateBase>::is_running();
  }
  static void check_possible();
  static Activities activities(bool device);

  std::optional<detail::TraceTurn> turn_;
  std::optional<detail::TraceFile> file_;
  c10::DebugInfoBase* profiler_ = nullptr;  // to know ours again; null once it is stopped
  // Keeps it alive, so that none that comes after it can have its address.
  std::shared_ptr<c10::ThreadLocalDebugInfo> alive_;
};

namespace detail {

/// Whether LibTorch was built with Kineto. Only its compiler's flags tell; `flags` are those. Where
/// they are not known, LibTorch itself has to complain.
inline bool has_kineto(const std::string& flags) {
  return flags.empty() || flags.find("-DUSE_KINETO") != std::string::npos;
}

}  // namespace detail

inline void TraceGuard::check_possible() {
  TORCHAMP_CHECK(E13, running_here() == nullptr,
                 "TraceGuard: a profiler or a MemoryProbe runs on this thread already; end it"
                 " first, or measure memory and trace in different steps");
  TORCHAMP_CHECK(E13, !running_everywhere(),
                 "TraceGuard: a profiler of all threads runs already; end it first");
  TORCHAMP_CHECK(E28, detail::has_kineto(at::get_cxx_flags()),
                 "TraceGuard: this LibTorch was built without Kineto, which writes traces; take one"
                 " built with USE_KINETO=1, as all that PyTorch releases are");
}

inline TraceGuard::Activities TraceGuard::activities(bool device) {
  using torch::profiler::impl::ActivityType;
  Activities found{ActivityType::CPU};
  const auto accelerator = detail::usable_accelerator();
  if (!device || !accelerator) return found;
  if (*accelerator == c10::kCUDA) found.insert(ActivityType::CUDA);
  if (*accelerator == c10::kXPU) found.insert(ActivityType::XPU);
  if (*accelerator == c10::kMTIA) found.insert(ActivityType::MTIA);
  return found;
}

inline TraceGuard::TraceGuard(std::string path, const TraceOptions& options) {
  check_possible();
  turn_.emplace();
  file_.emplace(std::move(path));
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO,
                                                     options.shapes(), options.memory(),
                                                     options.stacks());
  const auto recorded = activities(options.device());
  try {
    torch::autograd::profiler::prepareProfiler(config, recorded);
    torch::autograd::profiler::enableProfiler(config, recorded);
  } catch (...) {
    file_->remove();
    throw;
  }
  profiler_ = running_here();
  alive_ = c10::ThreadLocalDebugInfo::current();
}

inline void TraceGuard::stop() {
  TORCHAMP_CHECK(E13, is_running(), "TraceGuard::stop(): the trace is stopped already");
  TORCHAMP_CHECK(E13, running_here() == profiler_,
                 "TraceGuard::stop(): not this profiler runs on this thread now; stop a trace on"
                 " the thread that began it, and after the profilers and probes begun inside");
  TORCHAMP_CHECK(E13, !running_everywhere(),
                 "TraceGuard::stop(): a profiler of all threads was begun inside; end it first");
  profiler_ = nullptr;
  const auto result = torch::autograd::profiler::disableProfiler();
  turn_.reset();
  alive_.reset();
  // Where a trace was taken away there is nothing to save, and LibTorch would crash.
  TORCHAMP_CHECK(E13, result != nullptr && result->trace_start_ns() != 0,
                 "TraceGuard::stop(): a profiler on another thread has taken the trace \"",
                 file_->path(), "\" away; trace one thread at a time");
  result->save(file_->path());
  file_->finish();
}

inline TraceGuard::~TraceGuard() {
  if (!is_running()) return;
  try {
    try {
      stop();
    } catch (const c10::Error& error) {
      TORCH_WARN("torchamp: ", error.what_without_backtrace());
    } catch (const std::exception& error) {
      TORCH_WARN("torchamp: TraceGuard: ", error.what());
    }
  } catch (...) {
    // The handler of warnings may throw; a destructor must not.
  }
}

}  // namespace v0
}  // namespace torchamp
