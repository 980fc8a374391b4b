// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/report/utf8.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <locale>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// A JSON value to be written: null, bool, number, string, array or object.
///
///     torchamp::Json run = torchamp::Json::object();
///     run.set("name", "AMP bf16").set("step_seconds_median", 0.0123).set("losses", losses);
///     std::ofstream("run.json") << run << '\n';
///
/// Keys keep the order in which they were set. Numbers are written with as few digits as give the
/// same double back, in every locale; JSON has no NaN and infinity, they become null. Strings are
/// UTF-8; a byte that is not becomes U+FFFD, so that what is written is always valid. It does not
/// read JSON.
class Json {
 public:
  /// The implicit constructors let `set("losses", losses)` take any of these.
  Json(std::nullptr_t = nullptr) : text_("null") {}  // NOLINT(google-explicit-constructor)
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Json(Number value) : text_(number_text(value)) {}        // NOLINT(google-explicit-constructor)
  Json(const char* value) : Json(std::string(value)) {}    // NOLINT(google-explicit-constructor)
  Json(const std::string& value) : text_(quote(value)) {}  // NOLINT(google-explicit-constructor)
  template <class Value>
  Json(const std::vector<Value>& values)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::Array), items_(values.begin(), values.end()) {}

  static Json array() { return Json(Kind::Array); }
  static Json object() { return Json(Kind::Object); }

  /// Adds a member to an object.
  /// Throws: [E15] if this is no object or has that key; nothing changes.
  Json& set(const std::string& key, Json value);

  /// Adds an item to an array.   Throws: [E15] if this is no array; nothing changes.
  Json& push_back(Json value);

  /// Indented by two blanks a level; an array of plain values stands on one line.
  friend std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json.str(); }
  std::string str() const { return str("\n"); }

 private:
  enum class Kind { Plain, Array, Object };

  explicit Json(Kind kind) : kind_(kind) {}

  template <class Number>
  static std::string number_text(Number value);
  static std::string double_text(double value);
  static std::string quote(const std::string& value);

  /// `line_break` is a line break and the blanks of the level that this value stands on.
  std::string str(const std::string& line_break) const;
  bool is_flat_array() const;

  Kind kind_ = Kind::Plain;
  std::string text_;               // of a plain value, as it is written
  std::vector<std::string> keys_;  // of an object: as written, one an item
  std::vector<Json> items_;        // of an array or object
};

inline Json& Json::set(const std::string& key, Json value) {
  if (kind_ != Kind::Object) {
    throw std::invalid_argument("[torchamp.E15] Json::set(\"" + key +
                                "\"): this value is no object; begin with Json::object()");
  }
  std::string quoted = quote(key);
  for (const std::string& present : keys_) {
    if (present == quoted) {
      throw std::invalid_argument("[torchamp.E15] Json::set(\"" + key +
                                  "\"): the object has that key; set each key once");
    }
  }
  items_.reserve(items_.size() + 1);  // so that no exception can come between key and item
  keys_.push_back(std::move(quoted));
  items_.push_back(std::move(value));
  return *this;
}

inline Json& Json::push_back(Json value) {
  if (kind_ != Kind::Array) {
    throw std::invalid_argument(
        "[torchamp.E15] Json::push_back(): this value is no array; begin with Json::array()");
  }
  items_.push_back(std::move(value));
  return *this;
}

template <class Number>
std::string Json::number_text(Number value) {
  if constexpr (std::is_same_v<Number, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<Number>) {
    return std::to_string(value);
  } else {
    return double_text(static_cast<double>(value));
  }
}

inline std::string Json::double_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text;
  using Digits = std::numeric_limits<double>;
  for (int digits = Digits::digits10; digits <= Digits::max_digits10; ++digits) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out.precision(digits);
    out << value;
    text = out.str();

    std::istringstream in(text);
    in.imbue(std::locale::classic());
    double back = 0;
    if (in >> back && back == value) break;
  }
  return text;
}

inline std::string Json::quote(const std::string& value) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string text = "\"";
  for (std::size_t i = 0; i < value.size();) {
    const std::size_t bytes = detail::code_point_bytes(value, i);
    const auto byte = static_cast<unsigned char>(value[i]);
    if (bytes == 0) {
      text += "\\ufffd";
    } else if (byte == '"' || byte == '\\') {
      text += {'\\', value[i]};
    } else if (byte < 0x20) {
      text += {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    } else {
      text.append(value, i, bytes);
    }
    i += bytes == 0 ? 1 : bytes;
  }
  return text + "\"";
}

inline std::string Json::str(const std::string& line_break) const {
  if (kind_ == Kind::Plain) return text_;
  const bool is_object = kind_ == Kind::Object;
  const bool flat = is_flat_array();
  const std::string inner = flat ? "" : line_break + "  ";
  std::string text(1, is_object ? '{' : '[');
  for (std::size_t i = 0; i < items_.size(); ++i) {
    if (i > 0) text += flat ? ", " : ",";
    text += inner;
    if (is_object) text += keys_[i] + ": ";
    text += items_[i].str(line_break + "  ");
  }
  if (!flat && !items_.empty()) text += line_break;
  return text + (is_object ? '}' : ']');
}

inline bool Json::is_flat_array() const {
  if (kind_ != Kind::Array) return false;
  for (const Json& item : items_) {
    if (item.kind_ != Kind::Plain) return false;
  }
  return true;
}

}  // namespace v0
}  // namespace torchamp
