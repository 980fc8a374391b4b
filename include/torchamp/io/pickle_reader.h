// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/io/byte_reader.h>
#include <torchamp/io/pickle_stack.h>
#include <torchamp/io/pickle_tree.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Reads a pickle of protocol 2 to 5, as `torch.save` writes, without ever running what is in it:
/// a class or function is a name, and what it would have made an object without content. Takes time
/// and memory in proportion to the pickle's size.
class PickleReader {
 public:
  /// The values and the one that all others are in. `where` begins the text of errors.
  /// Throws: [E18] if `bytes` are no pickle, or not one to its end.
  static std::pair<PickleTree, PickleTree::Index> read(std::string bytes,
                                                       const std::string& where) {
    PickleReader reader(std::move(bytes), where);
    const Index root = reader.run();
    return {std::move(reader.tree_), root};
  }

 private:
  using Index = PickleTree::Index;
  using Kind = PickleTree::Kind;

  PickleReader(std::string bytes, const std::string& where)
      : tree_(std::move(bytes)), in_(tree_.bytes(), where), stack_(tree_, in_) {}

  Index run();

  // Each knows some of the operations, and returns false for another's.
  bool run_number(unsigned char op);
  bool run_text(unsigned char op);
  bool run_container(unsigned char op);
  bool run_items(unsigned char op);
  bool run_object(unsigned char op);
  bool run_memo(unsigned char op);

  int64_t take_signed(std::size_t bytes);
  void make_object();

  PickleTree tree_;
  ByteReader in_;
  PickleStack stack_;
};

inline PickleTree::Index PickleReader::run() {
  in_.check(tree_.bytes().size() <= (std::numeric_limits<uint32_t>::max)(), "begins too many");
  while (true) {
    const auto op = static_cast<unsigned char>(in_.take(1)[0]);
    if (op == '.') return stack_.top();
    if (op == 0x80) {
      const uint64_t protocol = in_.take_number(1);
      in_.check(protocol >= 2 && protocol <= 5, "names a protocol that is not 2 to 5");
    } else if (op == 0x95) {
      in_.take(8);  // the size of the part that follows: no need to know
    } else {
      in_.check(run_number(op) || run_text(op) || run_container(op) || run_items(op) ||
                    run_object(op) || run_memo(op),
                "is an operation that torch.save does not write");
    }
  }
}

inline bool PickleReader::run_number(unsigned char op) {
  switch (op) {
    case 'N':
      stack_.push_number(Kind::Nothing, 0);
      return true;
    case 0x88:
    case 0x89:
      stack_.push_number(Kind::Boolean, op == 0x88 ? 1 : 0);
      return true;
    case 'J':
      stack_.push_number(Kind::Int, take_signed(4));
      return true;
    case 'K':
    case 'M':
      stack_.push_number(Kind::Int, static_cast<int64_t>(in_.take_number(op == 'K' ? 1 : 2)));
      return true;
    case 'G': {  // the highest byte first
      uint64_t bits = 0;
      for (const char byte : in_.take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
      double number = 0;
      std::memcpy(&number, &bits, sizeof number);
      stack_.push_number(Kind::Float, 0, number);
      return true;
    }
    case 0x8A:    // an integer of as many bytes as the first byte says
    case 0x8B: {  // or the first four
      const uint64_t size = in_.take_number(op == 0x8A ? 1 : 4);
      if (size <= 8) {
        stack_.push_number(Kind::Int, take_signed(static_cast<std::size_t>(size)));
      } else {  // no number of a state is as large
        in_.take(size);
        stack_.push_sequence(Kind::Object);
      }
      return true;
    }
    default:
      return false;
  }
}

inline bool PickleReader::run_text(unsigned char op) {
  switch (op) {
    case 'X':
      stack_.push_text(in_.take(in_.take_number(4)));
      return true;
    case 0x8C:
      stack_.push_text(in_.take(in_.take_number(1)));
      return true;
    case 0x8D:
      stack_.push_text(in_.take(in_.take_number(8)));
      return true;
    // Bytes, and strings of Python 2: no part of a state.
    case 'C':
    case 'U':
    case 'B':
    case 'T':
    case 0x8E:
    case 0x96: {
      const std::size_t width = op == 'C' || op == 'U' ? 1 : op == 'B' || op == 'T' ? 4 : 8;
      in_.take(in_.take_number(width));
      stack_.push_sequence(Kind::Object);
      return true;
    }
    default:
      return false;
  }
}

inline bool PickleReader::run_container(unsigned char op) {
  switch (op) {
    case '}':
      stack_.push_sequence(Kind::Dict);
      return true;
    case ']':
      stack_.push_sequence(Kind::List);
      return true;
    case ')':
      stack_.push_sequence(Kind::Tuple);
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<Index> items(op - 0x84U);
      for (auto item = items.rbegin(); item != items.rend(); ++item) *item = stack_.pop();
      stack_.push_sequence(Kind::Tuple, std::move(items));
      return true;
    }
    case 't':
      stack_.push_sequence(Kind::Tuple, stack_.pop_to_mark());
      return true;
    case 'l':
      stack_.push_sequence(Kind::List, stack_.pop_to_mark());
      return true;
    case 'd': {
      const std::vector<Index> pairs = stack_.pop_to_mark();
      stack_.push_sequence(Kind::Dict);
      stack_.add_pairs(pairs);
      return true;
    }
    case 0x8F:  // a set
      stack_.push_sequence(Kind::Object);
      return true;
    case 0x91:  // a set that stays as it is
      stack_.pop_to_mark();
      stack_.push_sequence(Kind::Object);
      return true;
    default:
      return false;
  }
}

inline bool PickleReader::run_items(unsigned char op) {
  switch (op) {
    case '(':
      stack_.mark();
      return true;
    case 's': {
      const Index value = stack_.pop();
      const Index key = stack_.pop();
      stack_.add_pairs({key, value});
      return true;
    }
    case 'u':
      stack_.add_pairs(stack_.pop_to_mark());
      return true;
    case 'a':
      stack_.add_items({stack_.pop()});
      return true;
    case 'e':
    case 0x90:  // to a set
      stack_.add_items(stack_.pop_to_mark());
      return true;
    default:
      return false;
  }
}

inline bool PickleReader::run_object(unsigned char op) {
  switch (op) {
    case 'c':  // a class or function, whose module and name follow on a line each
      stack_.push_text(in_.take_line());
      stack_.push_text(in_.take_line());
      [[fallthrough]];
    case 0x93: {  // or are on the stack
      const Index name = stack_.pop();
      const Index module = stack_.pop();
      in_.check(tree_[name].kind == Kind::Text && tree_[module].kind == Kind::Text,
                "wants a class by a name that is no text");
      stack_.push_sequence(Kind::Class, {module, name});
      return true;
    }
    case 0x92:  // what a class makes of arguments, here of named ones too
      stack_.pop();
      [[fallthrough]];
    case 'R':
    case 0x81:
      make_object();
      return true;
    case 'b':  // members of the object below: of no use here
      stack_.pop();
      stack_.top();
      return true;
    case 'Q':  // a tensor's storage
      stack_.pop();
      stack_.push_sequence(Kind::Object);
      return true;
    default:
      return false;
  }
}

inline bool PickleReader::run_memo(unsigned char op) {
  switch (op) {
    case 'q':
    case 'r':
      stack_.remember(in_.take_number(op == 'q' ? 1 : 4));
      return true;
    case 0x94:
      stack_.remember();
      return true;
    case 'h':
    case 'j':
      stack_.recall(in_.take_number(op == 'h' ? 1 : 4));
      return true;
    case '0':
      stack_.discard();
      return true;
    case '1':
      stack_.pop_to_mark();
      return true;
    case '2':
      stack_.push_again(stack_.top());
      return true;
    default:
      return false;
  }
}

/// An integer with a sign, the lowest byte first; none at all is 0.
inline int64_t PickleReader::take_signed(std::size_t bytes) {
  uint64_t number = in_.take_number(bytes);
  const bool negative = bytes > 0 && (number >> (8 * bytes - 1) & 1) != 0;
  if (negative && bytes < 8) number |= ~uint64_t{0} << (8 * bytes);
  return static_cast<int64_t>(number);
}

/// A class and its arguments become what they would have made, as far as it matters here.
inline void PickleReader::make_object() {
  const Index arguments = stack_.pop();
  const Index its_class = stack_.pop();
  const std::string name = tree_.class_name(tree_[its_class]);
  const bool is_dict = name == "collections.defaultdict" ||
                       (name == "collections.OrderedDict" && tree_[arguments].items.empty());
  if (is_dict) {
    stack_.push_sequence(Kind::Dict);
  } else {
    stack_.push_sequence(Kind::Object, {its_class});
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
