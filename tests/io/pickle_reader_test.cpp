// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/pickle_reader.h>
#include <torchamp/io/zip_file.h>

#include "io/files.h"
#include "support/doctest.h"
#include "support/errors.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

using torchamp::detail::PickleReader;
using torchamp::detail::PickleTree;
using torchamp::detail::ZipFile;
using namespace std::string_literals;  // pickles have zeros in them

namespace {

/// What a pickle holds, in a line: lists as [...], tuples as (...), dicts as {...}.
std::string shown(const PickleTree& tree, PickleTree::Index index) {
  const auto& value = tree[index];
  std::string items;
  for (const auto item : value.items) items += (items.empty() ? "" : ", ") + shown(tree, item);
  switch (value.kind) {
    case PickleTree::Kind::Text:
      return std::string(tree.text(value));
    case PickleTree::Kind::Int:
      return std::to_string(value.integer);
    case PickleTree::Kind::Float:
      return std::to_string(value.number).substr(0, 4);
    case PickleTree::Kind::List:
      return "[" + items + "]";
    case PickleTree::Kind::Tuple:
      return "(" + items + ")";
    case PickleTree::Kind::Dict:
      return "{" + items + "}";
    default:
      return tree.describe(value);
  }
}

std::string shown(const std::string& pickle) {
  const auto [tree, root] = PickleReader::read(pickle, "read()");
  return shown(tree, root);
}

PickleTree read(const std::string& pickle) { return PickleReader::read(pickle, "read()").first; }

std::string pickle_in(const std::string& name) {
  return ZipFile(golden(name), "read").read("data.pkl");
}

}  // namespace

TEST_CASE("Numbers of every size are read, with their signs") {
  CHECK(shown("N."s) == "None");
  CHECK(shown("\x88."s) == "True");
  CHECK(shown("\x89."s) == "False");
  CHECK(shown("K\xFF."s) == "255");
  CHECK(shown("M\x01\x02."s) == "513");
  CHECK(shown("J\xFE\xFF\xFF\xFF."s) == "-2");
  CHECK(shown("\x8A\x00."s) == "0");
  CHECK(shown("\x8A\x01\xFF."s) == "-1");
  CHECK(shown("\x8A\x03\x00\x00\x01."s) == "65536");
  CHECK(shown("\x8A\x08\0\0\0\0\0\0\0\x80."s) == "-9223372036854775808");
  CHECK(shown("\x8B\x01\0\0\0\x07."s) == "7");
  CHECK(shown("G?\xE0\0\0\0\0\0\0."s) == "0.50");
}

TEST_CASE("An integer beyond 64 bits is an object, not another number") {
  CHECK(shown("\x8A\x09\0\0\0\0\0\0\0\0\x01."s) == "an object");
}

TEST_CASE("Text is read, and bytes are objects") {
  CHECK(shown("X\x02\0\0\0ab."s) == "ab");
  CHECK(shown("\x8C\x02"s + "ab."s) == "ab");
  CHECK(shown("\x8D\x02\0\0\0\0\0\0\0ab."s) == "ab");
  for (const auto& pickle : {"B\x01\0\0\0b."s, "T\x01\0\0\0b."s, "C\x01"s + "b."s, "U\x01"s + "b."s,
                             "\x8E\x01\0\0\0\0\0\0\0b."s, "\x96\x01\0\0\0\0\0\0\0b."s}) {
    CHECK(shown(pickle) == "an object");
  }
}

TEST_CASE("Lists, tuples and dicts are read in every form") {
  CHECK(shown("]."s) == "[]");
  CHECK(shown("]K\x01"s + "a."s) == "[1]");
  CHECK(shown("](K\x01K\x02"s + "e."s) == "[1, 2]");
  CHECK(shown("(K\x01K\x02l."s) == "[1, 2]");
  CHECK(shown(")."s) == "()");
  CHECK(shown("K\x01\x85."s) == "(1)");
  CHECK(shown("K\x01K\x02\x86."s) == "(1, 2)");
  CHECK(shown("K\x01K\x02K\x03\x87."s) == "(1, 2, 3)");
  CHECK(shown("(K\x01K\x02t."s) == "(1, 2)");
  CHECK(shown("}."s) == "{}");
  CHECK(shown("}K\x01K\x02s."s) == "{1, 2}");
  CHECK(shown("}(K\x01K\x02K\x03K\x04u."s) == "{1, 2, 3, 4}");
  CHECK(shown("(K\x01K\x02"s + "d."s) == "{1, 2}");
  CHECK(shown("\x8F(K\x01\x90."s) == "an object");
  CHECK(shown("(K\x01\x91."s) == "an object");
}

TEST_CASE("Values that come again are the same") {
  CHECK(shown("K\x07q\x05h\x05\x86."s) == "(7, 7)");
  CHECK(shown("K\x07r\x05\x01\0\0j\x05\x01\0\0\x86."s) == "(7, 7)");
  CHECK(shown("K\x07\x94K\x08\x94h\x00h\x01\x86."s) == "(7, 8)");
  CHECK(shown("K\x07"s + "2\x86."s) == "(7, 7)");
  CHECK(shown("K\x07K\x08"s + "0."s) == "7");
  CHECK(shown("K\x07(K\x08"s + "1."s) == "7");
}

TEST_CASE("Classes are names, what they would have made is an object, and nothing is run") {
  CHECK(shown("cos\nsystem\n."s) == "the class or function \"os.system\"");
  CHECK(shown("cos\nsystem\nX\x02\0\0\0ls\x85R."s) == "an object of \"os.system\"");
  CHECK(shown("X\x02\0\0\0osX\x06\0\0\0system\x93)\x81."s) == "an object of \"os.system\"");
  CHECK(shown("cos\nsystem\n)}\x92."s) == "an object of \"os.system\"");
  CHECK(shown("cos\nsystem\n)R}b."s) == "an object of \"os.system\"");
  CHECK(shown("K\x01)R."s) == "an object");
  CHECK(shown("K\x01Q."s) == "an object");
}

TEST_CASE("An ordered or a default dict is a dict") {
  CHECK(shown("ccollections\nOrderedDict\n)R(K\x01K\x02u."s) == "{1, 2}");
  CHECK(shown("ccollections\ndefaultdict\ncbuiltins\nint\n\x85R(K\x01K\x02u."s) == "{1, 2}");
  CHECK(shown("ccollections\nOrderedDict\n]\x85R."s) == "an object of \"collections.OrderedDict\"");
}

TEST_CASE("A checkpoint among tensors, in the protocols that torch.save writes, is read") {
  for (const auto* name : {"checkpoint.pt", "checkpoint5.pt"}) {
    CAPTURE(name);
    const auto [tree, root] = PickleReader::read(pickle_in(name), "read()");
    const auto& dict = tree[root];
    CHECK(shown(tree, *tree.find(dict, "epoch")) == "7");
    CHECK(shown(tree, *tree.find(dict, "best")) == "None");
    CHECK(shown(tree, *tree.find(dict, "seed")) == "an object");
    CHECK(shown(tree, *tree.find(dict, "small")) == std::to_string(-(int64_t{1} << 40)));
    CHECK(shown(tree, *tree.find(dict, "half")) == "a tensor");
    CHECK(shown(tree, *tree.find(dict, "counts")) == "{seen, 3}");
    CHECK(shown(tree, *tree.find(tree[*tree.find(dict, "model")], "1.weight")) == "a tensor");
  }
}

TEST_CASE("A pickle that ends too early is refused wherever that is") {
  for (const auto* name : {"scaler.pt", "protocol5.pt", "checkpoint.pt", "checkpoint5.pt"}) {
    const std::string pickle = pickle_in(name);
    for (std::size_t size = 0; size < pickle.size(); ++size) {
      CAPTURE(size);
      CHECK_ERROR(E18, read(pickle.substr(0, size)));
    }
  }
}

TEST_CASE("Lengths beyond the end are refused before anything is allocated for them") {
  for (const auto& start :
       {"X\xFF\xFF\xFF\xFF"s, "B\xFF\xFF\xFF\xFF"s, "\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s,
        "\x8E\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s, "\x8B\xFF\xFF\xFF\x7F"s, "\x8A\xFF"s}) {
    CHECK_ERROR_SAYS("beyond the end", read("\x80\x02" + start + "x."));
  }
}

TEST_CASE("Operations that a pickle of torch.save has not are refused") {
  for (const auto* pickle : {"I1\n.", "L1L\n.", "F1\n.", "S'a'\n.", "Va\n.", "Pa\n.", "g0\n.",
                             "(ios\nsystem\n.", "(cos\nsystem\no.", "\x82\x01.", "\xFF."}) {
    CHECK_ERROR_SAYS("operation", read(pickle));
  }
  CHECK_ERROR_SAYS("protocol", read("\x80\x06N."));
  CHECK_ERROR_SAYS("protocol", read("\x80\x01N."));
}

TEST_CASE("Operations without their operands are refused") {
  for (const auto& pickle : {"."s,
                             "a."s,
                             "K\x01"s + "a."s,
                             "]e."s,
                             "s."s,
                             "}u."s,
                             "}(K\x01u."s,
                             "K\x01K\x01K\x01s."s,
                             "t."s,
                             "l."s,
                             "d."s,
                             "\x85."s,
                             "(K\x01\x86."s,
                             "R."s,
                             ")R."s,
                             "\x81."s,
                             "\x92."s,
                             "b."s,
                             "Nb."s,
                             "Q."s,
                             "q\x01."s,
                             "h\x01."s,
                             "j\x01\0\0\0."s,
                             "\x94."s,
                             "0."s,
                             "1."s,
                             "2."s,
                             "(."s,
                             "\x93."s,
                             "NN\x93."s,
                             "cos\nsystem"s,
                             "(K\x01"s + "d."s}) {
    CAPTURE(pickle);
    CHECK_ERROR(E18, read(pickle));
  }
}

TEST_CASE("Values within each other a million deep, or within themselves, are read") {
  const std::size_t depth = 1000000;
  CHECK(read(std::string(depth, ']') + std::string(depth - 1, 'a') + ".").size() == depth);
  CHECK(read(")" + std::string(depth, '\x85') + ".").size() == depth + 1);

  const auto [tree, root] = PickleReader::read("]q\x01h\x01"s + "a."s, "read()");
  CHECK(tree[root].items == std::vector<PickleTree::Index>{root});
}

TEST_CASE("Too many values for a state are refused") {
  for (const char op : {'N', '('}) {
    CAPTURE(op);
    std::string pickle(10000000, op);
    pickle += "N.";
    CHECK_ERROR_SAYS("more values than a state has", read(pickle));
  }
}

TEST_CASE("Random bytes, and random changes to good pickles, are read or refused") {
  const unsigned seed = 4;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> good = {pickle_in("scaler.pt"), pickle_in("protocol5.pt"),
                                         pickle_in("checkpoint.pt"), pickle_in("checkpoint5.pt")};
  int refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string pickle = good[i % good.size()];
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      pickle[random() % pickle.size()] = static_cast<char>(random());
    }
    const std::string complaint = complaint_of([&] { read(pickle); });
    CHECK((complaint.empty() || complaint.substr(0, 15) == "[torchamp.E18] "));
    refused += complaint.empty() ? 0 : 1;

    std::string noise(random() % 200, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    CHECK_NOTHROW(complaint_of([&] { read(noise); }));
  }
  CHECK(refused > 500);
}
