// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/io/byte_reader.h>
#include <torchamp/io/pickle_tree.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Where a pickle's operations build its values: a stack with marks in it, and a memo of values
/// that come again. Refuses what would reach below the stack or a mark.
class PickleStack {
 public:
  using Index = PickleTree::Index;
  using Kind = PickleTree::Kind;
  using Value = PickleTree::Value;

  /// No state, nor a checkpoint beside its tensors, has as many values as this.
  static constexpr std::size_t most_values = std::size_t{1} << 23;

  /// Errors, all [E18], tell the position in `in`, whose bytes are those of `tree`.
  PickleStack(PickleTree& tree, const ByteReader& in) : tree_(tree), in_(in) {}

  void push(Value value);
  void push_number(Kind kind, int64_t integer, double number = 0);
  void push_text(std::string_view text);
  void push_sequence(Kind kind, std::vector<Index> items = {});
  void push_again(Index index) {
    check_size();
    stack_.push_back(index);
  }

  Index top() const {
    in_.check(above_mark() > 0, "asks for a value that is not there");
    return stack_.back();
  }
  Index pop() {
    const Index index = top();
    stack_.pop_back();
    return index;
  }

  void mark() {
    check_size();
    marks_.push_back(stack_.size());
  }
  std::vector<Index> pop_to_mark();

  /// Pops a value, or the mark if it is on top.
  void discard();

  /// Adds to the list on top, or pairs of key and value to the dict; in an object they vanish.
  void add_items(const std::vector<Index>& items);
  void add_pairs(const std::vector<Index>& items);

  /// The value on top is the one of this number from now on; without one, of the next.
  void remember(uint64_t number) {
    check_size();
    memo_[number] = top();
  }
  void remember() { remember(memo_.size()); }
  void recall(uint64_t number);

 private:
  std::size_t above_mark() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  void check_size() const {
    in_.check(stack_.size() < most_values && marks_.size() < most_values &&
                  memo_.size() < most_values && tree_.size() < most_values,
              "comes after more values than a state has");
  }

  PickleTree& tree_;
  const ByteReader& in_;
  std::vector<Index> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::unordered_map<uint64_t, Index> memo_;
};

inline void PickleStack::push(Value value) {
  check_size();
  stack_.push_back(tree_.add(std::move(value)));
}

inline void PickleStack::push_number(Kind kind, int64_t integer, double number) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  value.number = number;
  push(std::move(value));
}

inline void PickleStack::push_text(std::string_view text) {
  Value value;
  value.kind = Kind::Text;
  value.text_begin = static_cast<uint32_t>(text.data() - tree_.bytes().data());
  value.text_size = static_cast<uint32_t>(text.size());
  push(std::move(value));
}

inline void PickleStack::push_sequence(Kind kind, std::vector<Index> items) {
  Value value;
  value.kind = kind;
  value.items = std::move(items);
  push(std::move(value));
}

inline std::vector<PickleTree::Index> PickleStack::pop_to_mark() {
  in_.check(!marks_.empty(), "ends a list that has no beginning");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Index> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

inline void PickleStack::discard() {
  if (!marks_.empty() && above_mark() == 0) {
    marks_.pop_back();
  } else {
    pop();
  }
}

inline void PickleStack::add_items(const std::vector<Index>& items) {
  Value& list = tree_[top()];
  if (list.kind == Kind::Object) return;
  in_.check(list.kind == Kind::List, "adds items to what is no list");
  list.items.insert(list.items.end(), items.begin(), items.end());
}

inline void PickleStack::add_pairs(const std::vector<Index>& items) {
  in_.check(items.size() % 2 == 0, "has a key without a value");
  Value& dict = tree_[top()];
  if (dict.kind == Kind::Object) return;
  in_.check(dict.kind == Kind::Dict, "adds entries to what is no dict");
  dict.items.insert(dict.items.end(), items.begin(), items.end());
}

inline void PickleStack::recall(uint64_t number) {
  const auto known = memo_.find(number);
  in_.check(known != memo_.end(), "repeats a value that was not there before");
  push_again(known->second);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
