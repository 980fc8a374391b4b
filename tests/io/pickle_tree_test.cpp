// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/pickle_tree.h>

#include "support/doctest.h"

#include <string>
#include <vector>

using torchamp::detail::in_quotes;
using torchamp::detail::PickleTree;
using Kind = PickleTree::Kind;
using Index = PickleTree::Index;

namespace {

/// A tree whose texts are parts of one string.
struct Builder {
  PickleTree tree{"scale model torch._utils _rebuild_tensor_v2 numpy scalar"};

  Index text(const std::string& text) {
    PickleTree::Value value;
    value.kind = Kind::Text;
    value.text_begin = static_cast<uint32_t>(tree.bytes().find(text));
    value.text_size = static_cast<uint32_t>(text.size());
    return tree.add(value);
  }
  Index integer(int64_t number, Kind kind = Kind::Int) {
    PickleTree::Value value;
    value.kind = kind;
    value.integer = number;
    return tree.add(value);
  }
  Index number(double number) {
    PickleTree::Value value;
    value.kind = Kind::Float;
    value.number = number;
    return tree.add(value);
  }
  Index with_items(Kind kind, std::vector<Index> items = {}) {
    PickleTree::Value value;
    value.kind = kind;
    value.items = std::move(items);
    return tree.add(value);
  }
  Index of_class(const std::string& module, const std::string& name) {
    return with_items(Kind::Object, {with_items(Kind::Class, {text(module), text(name)})});
  }
  std::string described(Index index) const { return tree.describe(tree[index]); }
};

}  // namespace

TEST_CASE("An entry of a dict is found by its name or number, and of two the later") {
  Builder b;
  const Index first = b.number(1), second = b.number(2), third = b.number(3);
  const Index dict =
      b.with_items(Kind::Dict, {b.text("scale"), first, b.integer(7), third, b.text("scale"),
                                second, b.with_items(Kind::Tuple), first});

  CHECK(b.tree.find(b.tree[dict], "scale") == second);
  CHECK(b.tree.find(b.tree[dict], "7") == third);
  CHECK_FALSE(b.tree.find(b.tree[dict], "model"));
  CHECK_FALSE(b.tree.find(b.tree[dict], ""));
}

TEST_CASE("An item of a list or tuple is found by its number, and nothing in what has no items") {
  Builder b;
  const Index item = b.number(1);
  for (const Kind kind : {Kind::List, Kind::Tuple}) {
    const Index list = b.with_items(kind, {b.integer(0), item});
    CHECK(b.tree.find(b.tree[list], "1") == item);
    CHECK_FALSE(b.tree.find(b.tree[list], "2"));
    CHECK_FALSE(b.tree.find(b.tree[list], "01"));
  }
  CHECK_FALSE(b.tree.find(b.tree[item], "0"));
  CHECK_FALSE(b.tree.find(b.tree[b.of_class("numpy", "scalar")], "0"));
}

TEST_CASE("Keys are listed for a reader, twenty of them") {
  Builder b;
  CHECK(b.tree.keys(b.tree[b.with_items(Kind::Dict)]).empty());
  const Index few = b.with_items(
      Kind::Dict, {b.text("model"), b.integer(1), b.integer(7), b.integer(1), b.number(1), 0});
  CHECK(b.tree.keys(b.tree[few]) == "\"model\", 7, the number 1.000000");

  std::vector<Index> many;
  for (int i = 0; i < 23; ++i) many.insert(many.end(), {b.integer(i), b.integer(0)});
  const std::string keys = b.tree.keys(b.tree[b.with_items(Kind::Dict, many)]);
  CHECK(keys.substr(0, 7) == "0, 1, 2");
  CHECK(keys.substr(keys.size() - 14) == " 19 and 3 more");
}

TEST_CASE("Every kind of value is described") {
  Builder b;
  CHECK(b.described(b.integer(0, Kind::Nothing)) == "None");
  CHECK(b.described(b.integer(1, Kind::Boolean)) == "True");
  CHECK(b.described(b.integer(0, Kind::Boolean)) == "False");
  CHECK(b.described(b.integer(-3)) == "the integer -3");
  CHECK(b.described(b.number(0.5)) == "the number 0.500000");
  CHECK(b.described(b.text("scale")) == "the text \"scale\"");
  CHECK(b.described(b.with_items(Kind::Dict)) == "a dict");
  CHECK(b.described(b.with_items(Kind::List)) == "a list");
  CHECK(b.described(b.with_items(Kind::Tuple)) == "a tuple");
  CHECK(b.described(b.with_items(Kind::Object)) == "an object");
  CHECK(b.described(b.of_class("numpy", "scalar")) == "an object of \"numpy.scalar\"");
  CHECK(b.described(b.of_class("torch._utils", "_rebuild_tensor_v2")) == "a tensor");
  CHECK(b.described(b.with_items(Kind::Class, {b.text("numpy"), b.text("scalar")})) ==
        "the class or function \"numpy.scalar\"");
}

TEST_CASE("Text from a file is shown short and harmless") {
  CHECK(in_quotes("scale") == "\"scale\"");
  CHECK(in_quotes("a\n\x1B[31m\"b\x7F") == "\"a??[31m?b?\"");
  CHECK(in_quotes(std::string(100, 'x')) == "\"" + std::string(60, 'x') + "...\"");
}
