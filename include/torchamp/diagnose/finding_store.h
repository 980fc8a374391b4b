// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/memory_marks.h>
#include <torchamp/diagnose/non_finite_finding.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Findings, and those that may still come to nothing: see Note [Which call is blamed] in
/// diagnose/non_finite_judge.h. A finding belongs to a root, which is the number of the
/// outermost operator around it, and to a backward node or to none, which is -1.   Threads: one at
/// a time.
class FindingStore {
 public:
  /// Returns the finding's number; later ones have larger numbers.
  int64_t add(NonFiniteFinding finding, int64_t root, int64_t node) {
    all_.emplace(++numbers_, Entry{std::move(finding), root, node, false, false, false});
    return numbers_;
  }

  /// An operator, which no other called, has ended with a bad result.
  void operator_ended_badly(int64_t root, int64_t node) {
    for (auto& item : all_) {
      Entry& entry = item.second;
      if (entry.root != root) continue;
      entry.left_operator = true;
      if (node < 0) entry.confirmed = true;
    }
  }

  /// A backward node has ended: findings in it count if something bad outlives it.
  void node_ended(int64_t node, const MemoryMarks& marks) {
    for (auto& [number, entry] : all_) {
      if (entry.node != node || !entry.left_operator || entry.confirmed) continue;
      entry.confirmed = marks.any_with(number);
    }
    sweep_if_many(marks);
  }

  /// Keeps the store small. Not between add() and the marks that go with it.
  void sweep_if_many(const MemoryMarks& marks) {
    if (all_.size() >= sweep_at_) sweep(marks);
  }

  /// A call has read what the finding is about: it counts, if the call is outside of where it was
  /// found.
  void read(int64_t number, int64_t root, int64_t node) {
    const auto found = all_.find(number);
    if (found == all_.end()) return;
    Entry& entry = found->second;
    const bool inside = entry.node >= 0 ? entry.node == node : entry.root == root;
    if (!inside) entry.confirmed = true;
  }

  /// Those that count, in the order in which they came about.
  std::vector<NonFiniteFinding> findings() const {
    std::vector<NonFiniteFinding> found;
    for (const auto& item : all_) {
      if (item.second.confirmed) found.push_back(item.second.finding);
    }
    return found;
  }

  /// How many there are, with those that do not count.
  std::size_t size() const { return all_.size(); }

  /// How many count.
  int64_t confirmed() const {
    int64_t count = 0;
    for (const auto& item : all_) count += item.second.confirmed ? 1 : 0;
    return count;
  }

  /// Those that count since the last time.
  std::vector<NonFiniteFinding> take_fresh() {
    std::vector<NonFiniteFinding> fresh;
    for (auto& item : all_) {
      Entry& entry = item.second;
      if (!entry.confirmed || entry.taken) continue;
      entry.taken = true;
      fresh.push_back(entry.finding);
    }
    return fresh;
  }

 private:
  struct Entry {
    NonFiniteFinding finding;
    int64_t root;
    int64_t node;
    bool left_operator;
    bool confirmed;
    bool taken;
  };

  /// Forgets what can no longer count, since nothing bad is left of it.
  void sweep(const MemoryMarks& marks) {
    for (auto it = all_.begin(); it != all_.end();) {
      const bool gone = !it->second.confirmed && !marks.any_with(it->first);
      it = gone ? all_.erase(it) : std::next(it);
    }
    sweep_at_ = 2 * all_.size() + 64;
  }

  std::map<int64_t, Entry> all_;
  int64_t numbers_ = 0;
  std::size_t sweep_at_ = 64;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
