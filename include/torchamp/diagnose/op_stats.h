// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/op_stats_observer.h>
#include <torchamp/diagnose/op_stats_report.h>
#include <torchamp/diagnose/operator_scope.h>

#include <cstddef>
#include <memory>
#include <ostream>

namespace torchamp {
inline namespace v0 {

/// While it lives, counts what operators run, in which dtype, and what autocast does: which casts
/// it makes, how often its cache saves one, and how much of the time is in lower precision.
///
///     torchamp::OpStats stats;
///     train_step();
///     std::cout << stats;
///
/// | what               | is                                                                   |
/// |--------------------|----------------------------------------------------------------------|
/// | an operator        | called by the program or a backward node; what it calls is part of it |
/// | its dtype          | that of its first floating-point result; else of such an input       |
/// | its bytes          | of the tensors that it made or changed; a view makes nothing         |
/// | a cast by autocast | `aten::to` that autocast called for an input; not in the table       |
/// | a cast back        | of a gradient, by the backward node of such a cast; not in the table |
/// | another cast       | the program's own `to()`, or one in an operator; part of the table   |
/// | a cached cast      | an input that an operator got in another dtype, without such a cast  |
/// | time               | the host's, each moment once: in the innermost operator that ran     |
/// | lower precision    | float16, bfloat16, and what is smaller                               |
///
/// An operator that throws counts, without bytes, in the dtype of its inputs. Several threads may
/// each have an OpStats of their own; scopes nest, and the outer one counts what the inner one
/// does.
///
/// Caveats: it sees what its thread runs and the backward passes that it starts, as
/// `OperatorScope`. Not seen: bytes of sparse and nested tensors; casts that an operator makes in
/// its own kernel, as CUDA's softmax if autocast asks it for float32, and recurrent layers of
/// cuDNN. Casts of an `AutocastFunction`, which calls `to()` itself, are other casts. On an
/// accelerator the host's time is not the device's, so nothing is said of time: see
/// `OpStatsReport::on_accelerator`. Watching takes some of the time that it measures, about a
/// microsecond a call, those inside of operators too.
class OpStats {
 public:
  /// Host sync: none.   Threads: ends on the thread that began, innermost first.
  [[nodiscard]] OpStats() : OpStats(std::make_shared<detail::OpStatsObserver>()) {}

  /// What was counted until now; calls that still run are not in it.
  /// Host sync: none.   Threads: any.
  OpStatsReport report() const { return observer_->report(); }
  friend std::ostream& operator<<(std::ostream& out, const OpStats& stats) {
    return out << stats.report();
  }

  // A scope of one thread.
  OpStats(const OpStats&) = delete;
  OpStats& operator=(const OpStats&) = delete;
  OpStats(OpStats&&) = delete;
  OpStats& operator=(OpStats&&) = delete;
  static void* operator new(std::size_t) = delete;

 private:
  explicit OpStats(std::shared_ptr<detail::OpStatsObserver> observer)
      : observer_(observer), scope_(observer) {}

  const std::shared_ptr<detail::OpStatsObserver> observer_;
  const OperatorScope scope_;
};

}  // namespace v0
}  // namespace torchamp
