// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The scopes that a call stands in, as a list that calls share, innermost first.
struct ScopePath {
  std::string name;
  std::shared_ptr<const ScopePath> outer;
};

/// The names in a path, outermost first.
inline std::vector<std::string> names_in(const ScopePath* path) {
  std::vector<std::string> names;
  for (; path != nullptr; path = path->outer.get()) names.push_back(path->name);
  std::reverse(names.begin(), names.end());
  return names;
}

/// An operator's call that backward will undo.
struct ForwardCall {
  uint64_t first = 0;                      ///< sequence numbers of the backward nodes that it made
  uint64_t end = 0;                        ///< one behind the last of them
  std::string op;                          ///< "aten::mul"
  const std::string* parameter = nullptr;  ///< registered name of an input, null without one
  std::shared_ptr<const ScopePath> scopes;
};

// Note [Which operator made a node]
// A backward node has a sequence number, the next of its thread when it is made. An operator's call
// has the number that is next when it starts, so many calls have the same: those that make no node,
// and those around the one that does. An operator made a node if the next number is another when it
// ends. Inner calls end first, so what they made is theirs, and those around them make the rest.

/// The operators of one thread that made backward nodes, the last `most` of them.
class ForwardCalls {
 public:
  explicit ForwardCalls(std::size_t most = 65536) : most_(most) {}

  /// True if a call that ends now, and began when the next number was `began_at`, made a node that
  /// no call in it has made.
  bool made_node(uint64_t began_at, uint64_t next) const {
    return next > (std::max)(began_at, recorded_);
  }

  /// To be told of each such call. Its numbers are set here.
  void record(uint64_t began_at, uint64_t next, ForwardCall call) {
    call.first = (std::max)(began_at, recorded_);
    call.end = next;
    recorded_ = next;
    if (calls_.size() == most_) calls_.pop_front();
    calls_.push_back(std::move(call));
  }

  /// The call that made the node with this number, null if that was not seen.
  const ForwardCall* find(uint64_t number) const {
    const auto behind = std::upper_bound(
        calls_.begin(), calls_.end(), number,
        [](uint64_t wanted, const ForwardCall& call) { return wanted < call.first; });
    if (behind == calls_.begin()) return nullptr;
    const ForwardCall& call = *std::prev(behind);
    return number < call.end ? &call : nullptr;
  }

 private:
  std::size_t most_;
  uint64_t recorded_ = 0;  // one behind the last number that has a call
  std::deque<ForwardCall> calls_;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
