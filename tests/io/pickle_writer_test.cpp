// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/pickle_reader.h>
#include <torchamp/io/pickle_writer.h>

#include "support/doctest.h"

#include <cstdint>
#include <limits>
#include <string>

using torchamp::detail::PickleReader;
using torchamp::detail::PickleWriter;

TEST_CASE("An empty dict and one with a number are the bytes that Python reads as such") {
  CHECK(PickleWriter().finish() == "\x80\x02}(u.");

  PickleWriter pickle;
  pickle.add("n", int64_t{258});
  CHECK(pickle.finish() == std::string("\x80\x02}(X\x01\0\0\0nJ\x02\x01\0\0u.", 17));
}

TEST_CASE("What is written is read back the same, in dicts within dicts") {
  PickleWriter pickle;
  pickle.add("third", 1.0 / 3);
  pickle.add("largest", std::numeric_limits<int64_t>::max());
  pickle.begin_dict("inner");
  pickle.add("minus", int64_t{-1});
  pickle.add("least", std::numeric_limits<int64_t>::min());
  pickle.add("yes", true);
  pickle.add("no", false);
  pickle.end_dict();
  pickle.add("last", int64_t{1} << 31);

  const auto [tree, root] = PickleReader::read(pickle.finish(), "read()");

  const auto& dict = tree[root];
  CHECK(tree.keys(dict) == "\"third\", \"largest\", \"inner\", \"last\"");
  CHECK(tree[*tree.find(dict, "third")].number == 1.0 / 3);
  CHECK(tree[*tree.find(dict, "largest")].integer == std::numeric_limits<int64_t>::max());
  CHECK(tree[*tree.find(dict, "last")].integer == int64_t{1} << 31);
  const auto& inner = tree[*tree.find(dict, "inner")];
  CHECK(tree[*tree.find(inner, "minus")].integer == -1);
  CHECK(tree[*tree.find(inner, "least")].integer == std::numeric_limits<int64_t>::min());
  CHECK(tree.describe(tree[*tree.find(inner, "yes")]) == "True");
  CHECK(tree.describe(tree[*tree.find(inner, "no")]) == "False");
}
