// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace torchamp {
inline namespace v0 {

/// Where a scaler is.
struct ScaleReading {
  double scale;
  int64_t skipped_steps;  ///< since the scaler was made
};

/// What a step that is measured gets: it marks its phases, and shows its scaler.
///
///     [&](torchamp::StepContext& context) {
///       optimizer.zero_grad();
///       torch::Tensor loss;
///       {
///         const auto forward = context.phase("forward");
///         const torchamp::AutocastGuard autocast(device);
///         loss = F::cross_entropy(model->forward(images), labels);
///       }
///       context.phase("backward", [&] { scaler.scale(loss).backward(); });
///       context.phase("step", [&] { scaler.step(optimizer); scaler.update(); });
///       context.watch(scaler);
///       return loss;
///     }
///
/// Phases nest; what belongs to none counts for the step alone. Steps work with any context, so a
/// training program may use one outside of a comparison, where it does nothing.
class StepContext {
 public:
  /// A phase from here to the end of the scope.
  class Phase {
   public:
    ~Phase() { context_.end_phase(); }
    // A phase is a scope.
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;
    Phase(Phase&&) = delete;
    Phase& operator=(Phase&&) = delete;
    static void* operator new(std::size_t) = delete;

   private:
    friend class StepContext;
    explicit Phase(StepContext& context) : context_(context) {}
    StepContext& context_;
  };

  StepContext() = default;
  virtual ~StepContext() = default;
  // Phases refer to it.
  StepContext(const StepContext&) = delete;
  StepContext& operator=(const StepContext&) = delete;

  /// Begins a phase. The same name twice in a step adds up.   Host sync: as a lap of a `Timer`.
  /// Throws: [E13] for a name that is empty or has a '/'; a context that measures nothing does not.
  [[nodiscard]] Phase phase(const char* name) {
    begin_phase(name);
    return Phase(*this);
  }
  /// Calls `function` as a phase, and returns what it returns.
  template <class Function>
  decltype(auto) phase(const char* name, Function&& function) {
    const Phase scope = phase(name);
    return std::forward<Function>(function)();
  }

  /// The scale and the skipped steps of `scaler` are read after each step, when its time has been
  /// taken; a disabled scaler has none. `scaler` has to live as long as the step.
  /// Host sync: none here; the reading reads the device.
  template <class Scaler>
  void watch(const Scaler& scaler) {
    if (!scaler.is_enabled()) return;
    read_scale_ = [&scaler] { return ScaleReading{scaler.get_scale(), scaler.skipped_steps()}; };
  }

  /// Where the watched scaler is now, if one is watched.   Host sync: reads the device.
  std::optional<ScaleReading> scale() const {
    return read_scale_ ? std::optional<ScaleReading>(read_scale_()) : std::nullopt;
  }

 private:
  virtual void begin_phase(const char* /*name*/) {}
  virtual void end_phase() noexcept {}

  std::function<ScaleReading()> read_scale_;
};

}  // namespace v0
}  // namespace torchamp
