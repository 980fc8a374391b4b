// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What a pickle holds: numbers, text, dicts, lists and tuples. All else, as tensors, is there as
/// an object without content. Values name each other by index, so that a hostile file may nest
/// them as deep as it likes, or in a circle: nothing here follows more than one step.
class PickleTree {
 public:
  enum class Kind : uint8_t {
    Nothing,
    Boolean,
    Int,
    Float,
    Text,
    Dict,
    List,
    Tuple,
    Class,
    Object
  };
  using Index = uint32_t;

  struct Value {
    Kind kind = Kind::Nothing;
    uint32_t text_begin = 0, text_size = 0;  // Text: a part of the bytes
    int64_t integer = 0;                     // Boolean, Int
    double number = 0;                       // Float
    /// List, Tuple: the items. Dict: key, value, key, value. Class: module, name. Object: its
    /// class, if known.
    std::vector<Index> items;
  };

  explicit PickleTree(std::string bytes) : bytes_(std::move(bytes)) {}

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return values_.size(); }
  const Value& operator[](Index index) const { return values_[index]; }
  Value& operator[](Index index) { return values_[index]; }

  Index add(Value value) {
    values_.push_back(std::move(value));
    return static_cast<Index>(values_.size() - 1);
  }

  std::string_view text(const Value& value) const {
    return std::string_view(bytes_).substr(value.text_begin, value.text_size);
  }

  /// "module.name" of a class; "" if `value` is none.
  std::string class_name(const Value& value) const;

  /// The entry of a dict, or the item of a list or tuple, that is called so; numbers in decimal.
  std::optional<Index> find(const Value& container, std::string_view name) const;

  /// The keys of a dict for a reader, as `"model", "scaler"`; the first twenty.
  std::string keys(const Value& dict) const;

  /// A key as a reader sees it.
  std::string key_text(const Value& key) const;

  /// What `value` is for a reader, as "text", "True" or "a tensor".
  std::string describe(const Value& value) const;

 private:
  std::string bytes_;
  std::vector<Value> values_;
};

/// `text` in quotes, shortened, and with nothing in it that would upset a terminal.
inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string result = "\"";
  for (const char letter : text.substr(0, longest)) {
    const auto code = static_cast<unsigned char>(letter);
    result += code < 0x20 || code == 0x7F || letter == '"' ? '?' : letter;
  }
  return result + (text.size() > longest ? "...\"" : "\"");
}

inline std::string PickleTree::class_name(const Value& value) const {
  if (value.kind != Kind::Class) return "";
  constexpr std::size_t longest = 60;
  return std::string(text(values_[value.items[0]]).substr(0, longest)) + "." +
         std::string(text(values_[value.items[1]]).substr(0, longest));
}

inline std::string PickleTree::key_text(const Value& key) const {
  switch (key.kind) {
    case Kind::Text:
      return in_quotes(text(key));
    case Kind::Int:
      return std::to_string(key.integer);
    default:
      return describe(key);
  }
}

inline std::optional<PickleTree::Index> PickleTree::find(const Value& container,
                                                         std::string_view name) const {
  const auto& items = container.items;
  if (container.kind == Kind::Dict) {
    // From the end, as of two equal keys the later counts.
    for (std::size_t i = items.size(); i >= 2; i -= 2) {
      const Value& key = values_[items[i - 2]];
      const bool found = key.kind == Kind::Text  ? text(key) == name
                         : key.kind == Kind::Int ? std::to_string(key.integer) == name
                                                 : false;
      if (found) return items[i - 1];
    }
  } else if (container.kind == Kind::List || container.kind == Kind::Tuple) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (std::to_string(i) == name) return items[i];
    }
  }
  return std::nullopt;
}

inline std::string PickleTree::keys(const Value& dict) const {
  constexpr std::size_t most = 20;
  std::string list;
  for (std::size_t i = 0; i + 1 < dict.items.size() && i < 2 * most; i += 2) {
    list += (list.empty() ? "" : ", ") + key_text(values_[dict.items[i]]);
  }
  const std::size_t count = dict.items.size() / 2;
  return count > most ? list + " and " + std::to_string(count - most) + " more" : list;
}

inline std::string PickleTree::describe(const Value& value) const {
  switch (value.kind) {
    case Kind::Nothing:
      return "None";
    case Kind::Boolean:
      return value.integer != 0 ? "True" : "False";
    case Kind::Int:
      return "the integer " + std::to_string(value.integer);
    case Kind::Float:
      return "the number " + std::to_string(value.number);
    case Kind::Text:
      return "the text " + in_quotes(text(value));
    case Kind::Dict:
      return "a dict";
    case Kind::List:
      return "a list";
    case Kind::Tuple:
      return "a tuple";
    case Kind::Class:
      return "the class or function " + in_quotes(class_name(value));
    case Kind::Object:
      break;
  }
  const std::string name = value.items.empty() ? "" : class_name(values_[value.items[0]]);
  if (name.rfind("torch._utils._rebuild_", 0) == 0) return "a tensor";
  return name.empty() ? "an object" : "an object of " + in_quotes(name);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
