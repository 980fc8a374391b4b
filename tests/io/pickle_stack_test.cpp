// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/pickle_stack.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

using torchamp::detail::ByteReader;
using torchamp::detail::PickleStack;
using torchamp::detail::PickleTree;
using Kind = PickleTree::Kind;
using Indices = std::vector<PickleTree::Index>;

namespace {

struct Stack {
  PickleTree tree{"some text"};
  ByteReader in{tree.bytes(), "read()"};
  PickleStack stack{tree, in};

  PickleStack* operator->() { return &stack; }
  const PickleTree::Value& top() const { return tree[stack.top()]; }
};

}  // namespace

TEST_CASE("Values are pushed, popped and repeated") {
  Stack s;
  s->push_number(Kind::Int, 3);
  s->push_number(Kind::Float, 0, 0.5);
  CHECK(s.top().number == 0.5);
  s->push_text(std::string_view(s.tree.bytes()).substr(5, 4));
  CHECK(s.tree.text(s.top()) == "text");

  s->pop();
  s->push_again(s->top());
  s->pop();

  CHECK(s.top().number == 0.5);
  s->pop();
  CHECK(s.top().integer == 3);
}

TEST_CASE("An empty stack, and one that is empty above its mark, refuses to be popped") {
  Stack s;
  CHECK_ERROR(E18, s->pop());
  CHECK_ERROR(E18, s->pop_to_mark());
  CHECK_ERROR(E18, s->discard());
  CHECK_ERROR(E18, s->remember());

  s->push_number(Kind::Int, 3);
  s->mark();
  CHECK_ERROR(E18, s->pop());
  CHECK_ERROR(E18, s->top());
}

TEST_CASE("All values above a mark are taken at once, and the mark with them") {
  Stack s;
  s->push_number(Kind::Int, 1);
  s->mark();
  s->push_number(Kind::Int, 2);
  s->push_number(Kind::Int, 3);

  CHECK(s->pop_to_mark() == Indices{1, 2});
  CHECK(s.top().integer == 1);
  s->mark();
  CHECK(s->pop_to_mark().empty());
}

TEST_CASE("What is discarded is a value, or the mark if that is on top") {
  Stack s;
  s->push_number(Kind::Int, 1);
  s->mark();
  s->push_number(Kind::Int, 2);

  s->discard();
  CHECK_ERROR(E18, s->top());
  s->discard();

  CHECK(s.top().integer == 1);
}

TEST_CASE("Items go to lists, pairs to dicts, and both vanish in objects") {
  Stack s;
  s->push_sequence(Kind::List, {0});
  s->add_items({5, 6});
  CHECK(s.top().items == Indices{0, 5, 6});
  CHECK_ERROR(E18, s->add_pairs({5, 6}));

  s->push_sequence(Kind::Dict);
  s->add_pairs({5, 6});
  CHECK(s.top().items == Indices{5, 6});
  CHECK_ERROR(E18, s->add_pairs({5}));
  CHECK_ERROR(E18, s->add_items({5}));

  s->push_sequence(Kind::Object, {7});
  s->add_pairs({5, 6});
  s->add_items({5});
  CHECK(s.top().items == Indices{7});
}

TEST_CASE("Remembered values come again by their number") {
  Stack s;
  s->push_number(Kind::Int, 1);
  s->remember();
  s->push_number(Kind::Int, 2);
  s->remember();
  s->remember(4000000000);

  s->recall(0);
  CHECK(s.top().integer == 1);
  s->recall(1);
  CHECK(s.top().integer == 2);
  s->recall(4000000000);
  CHECK(s.top().integer == 2);
  CHECK_ERROR(E18, s->recall(3));
}

TEST_CASE("The stack, its marks and its memo are limited") {
  const auto repeat = [](auto&& action) {
    for (std::size_t i = 0; i <= PickleStack::most_values; ++i) action();
  };
  Stack s;
  s->push_number(Kind::Int, 1);

  CHECK_ERROR_SAYS("more values than", repeat([&] { s->push_again(0); }));
  Stack marks;
  CHECK_ERROR_SAYS("more values than", repeat([&] { marks->mark(); }));
  Stack values;
  CHECK_ERROR_SAYS("more values than", repeat([&] {
                     values->push_number(Kind::Int, 1);
                     values->pop();
                   }));
  Stack memo;
  memo->push_number(Kind::Int, 1);
  CHECK_ERROR_SAYS("more values than", repeat([&] { memo->remember(); }));
}
