// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/probe/phase_times.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The phases of a timer, each with its laps, by name inside the phase around it.
class PhaseTree {
 public:
  using Index = std::size_t;

  struct Phase {
    std::string name;
    std::string path;
    int64_t depth = -1;
    std::vector<Index> inner;         // in the order in which they were added
    std::vector<double> laps;         // seconds, after the warm-up
    std::vector<double> warmup_laps;  // seconds
  };

  /// What the outermost phases are in. It has no lap.
  static constexpr Index root = 0;

  /// `warmup`: how many laps of each phase are kept apart.
  explicit PhaseTree(int64_t warmup) : warmup_(warmup), phases_(1) {}

  /// Throws: [E13] for a new name that is empty or has a '/', which separates the names of a path.
  Index find_or_add(Index outer, std::string_view name);

  /// Adds a lap.
  void take(Index phase, double seconds);

  const Phase& operator[](Index phase) const { return phases_[phase]; }

  /// Throws: [E13] if there is none.
  const Phase& find(std::string_view path) const;

  /// Throws: [E13] if the phase has no lap after its warm-up.
  static PhaseTimes times(const Phase& phase);

  /// Of each phase that has a lap; what is inside a phase follows it.   Throws: as times().
  std::vector<PhaseTimes> all_times() const;

 private:
  void add_times(Index phase, std::vector<PhaseTimes>& all) const;

  int64_t warmup_;
  std::deque<Phase> phases_;  // laps() gives out references: a phase stays where it is
};

inline PhaseTree::Index PhaseTree::find_or_add(Index outer, std::string_view name) {
  for (const Index index : phases_[outer].inner) {  // a handful
    if (phases_[index].name == name) return index;
  }
  TORCHAMP_CHECK(E13, !name.empty() && name.find('/') == name.npos, "Timer: \"", name,
                 "\" cannot name a phase; give it a name without '/', and nest phases for a path");
  Phase phase;
  phase.name = name;
  phase.path = outer == root ? phase.name : phases_[outer].path + "/" + phase.name;
  phase.depth = phases_[outer].depth + 1;
  // So that the last line can't throw.
  phases_[outer].inner.reserve(phases_[outer].inner.size() + 1);
  phases_.push_back(std::move(phase));
  phases_[outer].inner.push_back(phases_.size() - 1);
  return phases_.size() - 1;
}

inline void PhaseTree::take(Index index, double seconds) {
  Phase& phase = phases_[index];
  const bool warming_up = static_cast<int64_t>(phase.warmup_laps.size()) < warmup_;
  (warming_up ? phase.warmup_laps : phase.laps).push_back(seconds);
}

inline const PhaseTree::Phase& PhaseTree::find(std::string_view path) const {
  const Phase* found = nullptr;
  std::string known;
  for (Index index = root + 1; index < phases_.size(); ++index) {
    if (phases_[index].path == path) found = &phases_[index];
    known += (known.empty() ? "" : ", ") + phases_[index].path;
  }
  TORCHAMP_CHECK(E13, found != nullptr, "Timer: there is no phase \"", path, "\"; there are ",
                 known);
  return *found;
}

inline PhaseTimes PhaseTree::times(const Phase& phase) {
  TORCHAMP_CHECK(
      E13, !phase.laps.empty(), "Timer: \"", phase.path, "\" has ", phase.warmup_laps.size(),
      " laps, and none after the warm-up; run more laps, or set TimerOptions().warmup()");
  PhaseTimes times;
  times.path = phase.path;
  times.name = phase.name;
  times.depth = phase.depth;
  times.warmup_count = static_cast<int64_t>(phase.warmup_laps.size());
  set_times(times, phase.laps);
  return times;
}

inline std::vector<PhaseTimes> PhaseTree::all_times() const {
  std::vector<PhaseTimes> all;
  add_times(root, all);
  return all;
}

inline void PhaseTree::add_times(Index index, std::vector<PhaseTimes>& all) const {
  const Phase& phase = phases_[index];
  if (!phase.laps.empty() || !phase.warmup_laps.empty()) all.push_back(times(phase));
  for (const Index inner : phase.inner) add_times(inner, all);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
