// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/pickle_reader.h>
#include <torchamp/io/python_state_reader.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cmath>
#include <map>
#include <string>

using torchamp::GradScalerState;
using torchamp::detail::PickleReader;
using torchamp::detail::PythonStateReader;
using namespace std::string_literals;  // pickles have zeros in them

namespace {

// Parts of pickles.
const std::string none = "N", yes = "\x88", no = "\x89", zero = "K\x00"s, one = "K\x01",
                  half = "G?\xE0\0\0\0\0\0\0"s, two = "G@\0\0\0\0\0\0\0"s, a_list = "]",
                  not_a_number = "G\x7F\xF8\0\0\0\0\0\0"s, an_object = "cnumpy\nfloat64\n)R",
                  a_tensor = "ctorch._utils\n_rebuild_tensor_v2\n)R",
                  huge = "\x8A\x09\0\0\0\0\0\0\0\0\x01"s;

std::string text(const std::string& text) {
  return "\x8C" + std::string(1, static_cast<char>(text.size())) + text;
}

using Entries = std::map<std::string, std::string>;

std::string dict(const Entries& entries) {
  std::string pickle = "}";
  for (const auto& [key, value] : entries) pickle += text(key) + value + "s";
  return pickle;
}

/// Scale 2, growth 2, backoff 0.5, interval 1, tracker 0.
Entries state_entries() {
  return {{"scale", two},
          {"growth_factor", two},
          {"backoff_factor", half},
          {"growth_interval", one},
          {"_growth_tracker", zero}};
}
Entries own_entries() {
  return {{"version", one},    {"hysteresis", one}, {"hysteresis_tracker", zero},
          {"min_scale", half}, {"max_scale", two},  {"consecutive_hysteresis", yes}};
}

/// The entries with one more, or another value for one.
Entries with(Entries entries, const std::string& key, const std::string& value) {
  entries[key] = value;
  return entries;
}
Entries without(Entries entries, const std::string& key) {
  entries.erase(key);
  return entries;
}

GradScalerState read(const std::string& value, const std::string& key = "") {
  const auto [tree, root] = PickleReader::read(value + ".", "read()");
  const PythonStateReader reader(tree, "read()");
  return reader.read(reader.follow(tree[root], key));
}

}  // namespace

TEST_CASE("The five numbers of Python's state are read, and torchamp's own are absent") {
  const GradScalerState state = read(dict(state_entries()));

  CHECK_FALSE(state.empty);
  CHECK(state.scale == 2);
  CHECK(state.growth_factor == 2);
  CHECK(state.backoff_factor == 0.5);
  CHECK(state.growth_interval == 1);
  CHECK(state.growth_tracker == 0);
  CHECK(state == state.python_part());
}

TEST_CASE("torchamp's own part is read where it is there, in full or in part") {
  const GradScalerState state = read(dict(with(state_entries(), "torchamp", dict(own_entries()))));
  CHECK(state.hysteresis == 1);
  CHECK(state.hysteresis_tracker == 0);
  CHECK(state.consecutive_hysteresis == true);
  CHECK(state.min_scale == 0.5);
  CHECK(state.max_scale == 2);

  const auto part = dict({{"version", one}, {"consecutive_hysteresis", no}});
  const GradScalerState less = read(dict(with(state_entries(), "torchamp", part)));
  CHECK_FALSE(less.hysteresis);
  CHECK_FALSE(less.min_scale);
  CHECK(less.consecutive_hysteresis == false);
}

TEST_CASE("An empty dict is the state of a disabled scaler") { CHECK(read("}").empty); }

TEST_CASE("A number may be an integer or not a number, which load_state_dict() then refuses") {
  CHECK(read(dict(with(state_entries(), "scale", one))).scale == 1);
  CHECK(std::isnan(read(dict(with(state_entries(), "scale", not_a_number))).scale));
}

TEST_CASE("A missing key is named, together with those that are there") {
  for (const auto& [key, value] : state_entries()) {
    CAPTURE(key);
    const auto pickle = dict(without(state_entries(), key));
    CHECK_ERROR(E17, read(pickle));
    CHECK_ERROR_SAYS("it lacks \"" + key + "\", and its keys are \"", read(pickle));
  }
  CHECK_ERROR_SAYS("its keys are \"model\"", read(dict({{"model", "}"}})));
  CHECK_ERROR_SAYS("in a larger checkpoint, name the entry", read(dict({{"model", "}"}})));
}

TEST_CASE("A key that no state has is refused by its name") {
  CHECK_ERROR(E17, read(dict(with(state_entries(), "decay", one))));
  CHECK_ERROR_SAYS("the key \"decay\"", read(dict(with(state_entries(), "decay", one))));
  CHECK_ERROR_SAYS("the key 1", read(dict(state_entries()) + one + one + "s"));
  CHECK_ERROR_SAYS(
      "the key \"decay\"",
      read(dict(with(state_entries(), "torchamp", dict(with(own_entries(), "decay", one))))));
}

TEST_CASE("A value of a wrong kind is refused with its name and what it is") {
  for (const auto* key : {"scale", "growth_factor", "backoff_factor"}) {
    for (const auto& [wrong, said] : {std::pair{text("2"), "the text \"2\""},
                                      {yes, "True"},
                                      {none, "None"},
                                      {a_list, "a list"},
                                      {a_tensor, "a tensor"},
                                      {huge, "an object"},
                                      {an_object, "an object of \"numpy.float64\""}}) {
      const auto pickle = dict(with(state_entries(), key, wrong));
      CHECK_ERROR(E17, read(pickle));
      CHECK_ERROR_SAYS("\"" + std::string(key) + "\" is " + said, read(pickle));
    }
  }
  for (const auto* key : {"growth_interval", "_growth_tracker"}) {
    for (const auto& wrong : {text("2"), two, yes, none, huge}) {
      const auto pickle = dict(with(state_entries(), key, wrong));
      CHECK_ERROR_SAYS("\"" + std::string(key) + "\" is ", read(pickle));
    }
  }
}

TEST_CASE("A value of a wrong kind in torchamp's own part is refused") {
  const auto own = [](const std::string& key, const std::string& value) {
    return dict(with(state_entries(), "torchamp", dict(with(own_entries(), key, value))));
  };
  CHECK_ERROR_SAYS("\"hysteresis\" is ", read(own("hysteresis", two)));
  CHECK_ERROR_SAYS("\"hysteresis_tracker\" is ", read(own("hysteresis_tracker", yes)));
  CHECK_ERROR_SAYS("\"min_scale\" is ", read(own("min_scale", none)));
  CHECK_ERROR_SAYS("\"max_scale\" is ", read(own("max_scale", text("2"))));
  CHECK_ERROR_SAYS("\"consecutive_hysteresis\" is ", read(own("consecutive_hysteresis", one)));
  CHECK_ERROR_SAYS("\"version\" is ", read(own("version", text("1"))));
  CHECK_ERROR_SAYS("newer torchamp", read(own("version", "K\x02")));
  CHECK_ERROR_SAYS("\"torchamp\" is a list", read(dict(with(state_entries(), "torchamp", a_list))));
  CHECK_ERROR_SAYS(
      "lacks \"version\"",
      read(dict(with(state_entries(), "torchamp", dict(without(own_entries(), "version"))))));
}

TEST_CASE("What is no dict is refused with what it is") {
  CHECK_ERROR_SAYS("holds a list", read(a_list));
  CHECK_ERROR_SAYS("holds an object of \"numpy.float64\"", read(an_object));
  CHECK_ERROR_SAYS("save scaler.state_dict()", read(one));
}

TEST_CASE("A key leads through dicts, lists and tuples, and names with dots") {
  const auto state = dict(state_entries());
  CHECK(read(dict({{"scaler", state}}), "scaler").scale == 2);
  CHECK(read(dict({{"a", dict({{"b", state}})}}), "a.b").scale == 2);
  CHECK(read(dict({{"a.b", state}}), "a.b").scale == 2);
  CHECK(read(dict({{"a", dict({{"b.c", dict({{"d", state}})}})}}), "a.b.c.d").scale == 2);
  CHECK(read(dict({{"all", "]}a" + state + "a"}}), "all.1").scale == 2);
  CHECK(read("}" + state + "\x86", "1").scale == 2);
  CHECK(read(dict({{"all", "]}a" + state + "a"}}), "all.0").empty);
  CHECK(read(dict({{"a", "}"}, {"a.b", state}}), "a.b").scale == 2);  // the longest name
}

TEST_CASE("A key that leads nowhere is refused with the names that are there") {
  const auto file = dict({{"model", "}"}, {"trainer", dict({{"scaler", "}"}})}});
  CHECK_ERROR(E17, read(file, "scaler"));
  CHECK_ERROR_SAYS("no entry \"scaler\"", read(file, "scaler"));
  CHECK_ERROR_SAYS("\"model\", \"trainer\"", read(file, "scaler"));
  CHECK_ERROR_SAYS("\"scale\" is not in a dict with the keys \"scaler\"",
                   read(file, "trainer.scale"));
  CHECK_ERROR_SAYS("is not in the integer 1", read(one, "scale"));
  for (const auto* key : {".", "..", "trainer.", ".trainer", "trainer..scaler"}) {
    CAPTURE(key);
    CHECK_ERROR(E17, read(file, key));
  }
}

TEST_CASE("A dict that is its own entry is followed as far as the key goes") {
  const auto circle = "}q\x01" + text("me") + "h\x01s";
  CHECK_ERROR_SAYS("it lacks", read(circle, "me.me.me"));
}
