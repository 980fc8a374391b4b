// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/detail/check.h>
#include <torchamp/io/pickle_tree.h>
#include <torchamp/io/state_version.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Finds the state of a scaler in what a pickle holds. Errors, all [E17], name what is wrong.
class PythonStateReader {
 public:
  using Value = PickleTree::Value;

  /// `where` begins the text of errors. The tree must outlive the reader.
  PythonStateReader(const PickleTree& tree, std::string where)
      : tree_(tree), where_(std::move(where)) {}

  /// The value that `key` leads to: an entry of that name, or at its dots from entry to entry.
  const Value& follow(const Value& from, std::string_view key) const;

  GradScalerState read(const Value& dict) const;

 private:
  using Kind = PickleTree::Kind;

  const Value* find(const Value& dict, std::string_view key) const {
    const auto found = tree_.find(dict, key);
    return found ? &tree_[*found] : nullptr;
  }
  std::string what_is_there(const Value& value) const;
  std::string missing_keys(const Value& dict) const;
  template <std::size_t count>
  void check_has_no_other_keys(const Value& dict, const char* const (&known)[count]) const;
  void read_own_part(const Value& dict, GradScalerState& state) const;

  double number(const Value& value, const char* key) const;
  int64_t integer(const Value& value, const char* key) const;

  // As an entry of `dict`; empty if it has none.
  std::optional<double> own_number(const Value& dict, const char* key) const;
  std::optional<int64_t> own_integer(const Value& dict, const char* key) const;

  const PickleTree& tree_;
  std::string where_;
};

inline const PickleTree::Value& PythonStateReader::follow(const Value& from,
                                                          std::string_view key) const {
  const Value* value = &from;
  std::string_view rest = key;
  while (!rest.empty()) {
    const Value* next = nullptr;
    // An entry may have dots in its name: the longest name that is there is meant.
    std::size_t size = rest.size();
    while ((next = find(*value, rest.substr(0, size))) == nullptr) {
      const auto dot = rest.substr(0, size).rfind('.');
      const bool last = dot == std::string_view::npos;
      TORCHAMP_CHECK(E17, !last, where_, " has no entry ", in_quotes(key), ": ",
                     in_quotes(rest.substr(0, size)), " is not in ", what_is_there(*value));
      size = dot;
    }
    value = next;
    rest = size < rest.size() ? rest.substr(size + 1) : std::string_view();
  }
  return *value;
}

inline GradScalerState PythonStateReader::read(const Value& dict) const {
  TORCHAMP_CHECK(E17, dict.kind == Kind::Dict, where_, " holds ", tree_.describe(dict),
                 " where the dict of a scaler's state is expected; in Python, save"
                 " scaler.state_dict()");
  if (dict.items.empty()) return GradScalerState::of_disabled();
  const std::string missing = missing_keys(dict);
  TORCHAMP_CHECK(E17, missing.empty(), where_, " is no state of a scaler: it lacks ", missing,
                 ", and its keys are ", tree_.keys(dict),
                 "; in a larger checkpoint, name the entry that holds the state, as in"
                 " load_from_python(path, \"scaler\")");
  check_has_no_other_keys(dict, {"scale", "growth_factor", "backoff_factor", "growth_interval",
                                 "_growth_tracker", "torchamp"});
  GradScalerState state;
  state.scale = number(*find(dict, "scale"), "scale");
  state.growth_factor = number(*find(dict, "growth_factor"), "growth_factor");
  state.backoff_factor = number(*find(dict, "backoff_factor"), "backoff_factor");
  state.growth_interval = integer(*find(dict, "growth_interval"), "growth_interval");
  state.growth_tracker = integer(*find(dict, "_growth_tracker"), "_growth_tracker");
  if (const Value* own = find(dict, "torchamp")) read_own_part(*own, state);
  return state;
}

/// A value that lacks what was looked for in it, and the cure.
inline std::string PythonStateReader::what_is_there(const Value& value) const {
  if (value.kind != Kind::Dict) {
    return tree_.describe(value) + "; in Python, save scaler.state_dict()";
  }
  if (value.items.empty()) return "an empty dict, as the state of a disabled scaler is";
  const std::string keys = "a dict with the keys " + tree_.keys(value);
  if (missing_keys(value).empty()) return keys + ": a scaler's state itself; name no entry in it";
  return keys + "; name the entry that holds the scaler's state";
}

inline std::string PythonStateReader::missing_keys(const Value& dict) const {
  std::string missing;
  for (const char* key :
       {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    if (find(dict, key) == nullptr) missing += (missing.empty() ? "" : ", ") + in_quotes(key);
  }
  return missing;
}

template <std::size_t count>
void PythonStateReader::check_has_no_other_keys(const Value& dict,
                                                const char* const (&known)[count]) const {
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    const Value& key = tree_[dict.items[i]];
    bool is_known = false;
    for (const char* name : known) {
      is_known = is_known || (key.kind == Kind::Text && tree_.text(key) == name);
    }
    TORCHAMP_CHECK(E17, is_known, where_, " is no state of a scaler: it has the key ",
                   tree_.key_text(key), ", which none has; check what the file was written from");
  }
}

inline void PythonStateReader::read_own_part(const Value& dict, GradScalerState& state) const {
  TORCHAMP_CHECK(E17, dict.kind == Kind::Dict, where_, ": \"torchamp\" is ", tree_.describe(dict),
                 ", and a dict is expected; write the file again");
  const auto layout = own_integer(dict, "version");
  TORCHAMP_CHECK(E17, layout, where_, ": \"torchamp\" lacks \"version\"; write the file again");
  check_state_version(*layout, where_);
  check_has_no_other_keys(dict, {"version", "hysteresis", "hysteresis_tracker",
                                 "consecutive_hysteresis", "min_scale", "max_scale"});
  state.hysteresis = own_integer(dict, "hysteresis");
  state.hysteresis_tracker = own_integer(dict, "hysteresis_tracker");
  state.min_scale = own_number(dict, "min_scale");
  state.max_scale = own_number(dict, "max_scale");
  if (const Value* value = find(dict, "consecutive_hysteresis")) {
    TORCHAMP_CHECK(E17, value->kind == Kind::Boolean, where_, ": \"consecutive_hysteresis\" is ",
                   tree_.describe(*value), ", and True or False is expected");
    state.consecutive_hysteresis = value->integer != 0;
  }
}

inline double PythonStateReader::number(const Value& value, const char* key) const {
  if (value.kind == Kind::Int) return static_cast<double>(value.integer);
  TORCHAMP_CHECK(E17, value.kind == Kind::Float, where_, ": \"", key, "\" is ",
                 tree_.describe(value), ", and a number is expected; in Python, make it a float");
  return value.number;
}

inline int64_t PythonStateReader::integer(const Value& value, const char* key) const {
  TORCHAMP_CHECK(E17, value.kind == Kind::Int, where_, ": \"", key, "\" is ", tree_.describe(value),
                 ", and an integer of 64 bits is expected; in Python, make it an int");
  return value.integer;
}

inline std::optional<double> PythonStateReader::own_number(const Value& dict,
                                                           const char* key) const {
  const Value* value = find(dict, key);
  return value != nullptr ? std::optional<double>(number(*value, key)) : std::nullopt;
}

inline std::optional<int64_t> PythonStateReader::own_integer(const Value& dict,
                                                             const char* key) const {
  const Value* value = find(dict, key);
  return value != nullptr ? std::optional<int64_t>(integer(*value, key)) : std::nullopt;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
