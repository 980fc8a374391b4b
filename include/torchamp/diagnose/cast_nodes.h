// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The backward nodes of casts that autocast made, by their thread and sequence number. Remembers
/// the last `most` of them at least, and at most twice as many: a training run has no end.
class CastNodes {
 public:
  explicit CastNodes(std::size_t most = 65536) : most_(most) {}

  void add(uint64_t thread, int64_t number) {
    if (newer_.size() == most_) {
      older_.swap(newer_);
      newer_.clear();
    }
    newer_.emplace(thread, number);
  }

  bool has(uint64_t thread, int64_t number) const {
    const Node node(thread, number);
    return newer_.count(node) > 0 || older_.count(node) > 0;
  }

 private:
  using Node = std::pair<uint64_t, int64_t>;
  std::size_t most_;
  std::set<Node> newer_;
  std::set<Node> older_;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
