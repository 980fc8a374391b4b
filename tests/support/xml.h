// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// An element of a document, with what stands in it directly.
struct XmlElement {
  std::string tag;
  std::map<std::string, std::string> attributes;  // as written, without the quotes
  std::string text;                               // as written

  std::string attribute(const std::string& name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? "" : found->second;
  }
  /// Whether `name` is one of the words of its class.
  bool has_class(const std::string& name) const {
    return (" " + attribute("class") + " ").find(" " + name + " ") != std::string::npos;
  }
};

/// A strict reader of the XML that we write: no comments, no CDATA, no entities of its own.
class Xml {
 public:
  explicit Xml(std::string text) : text_(std::move(text)) {
    read();
    if (error_.empty() && elements_.empty()) fail("no element");
  }

  /// What is wrong; "" if the document is well-formed, no id is there twice, and every reference to
  /// an id has its element.
  const std::string& error() const { return error_; }
  const std::vector<XmlElement>& elements() const { return elements_; }

  std::vector<XmlElement> with_tag(const std::string& tag) const {
    std::vector<XmlElement> found;
    for (const XmlElement& element : elements_) {
      if (element.tag == tag) found.push_back(element);
    }
    return found;
  }
  std::vector<XmlElement> with_class(const std::string& name) const {
    std::vector<XmlElement> found;
    for (const XmlElement& element : elements_) {
      if (element.has_class(name)) found.push_back(element);
    }
    return found;
  }

 private:
  void fail(const std::string& what) {
    if (error_.empty()) error_ = what + " at byte " + std::to_string(at_);
  }
  void read();
  void read_tag(std::vector<std::size_t>& open);
  void read_attributes(XmlElement& element, bool& closed);
  std::string read_name();
  void check_text(const std::string& text);
  void check_ids();

  std::string text_;
  std::size_t at_ = 0;
  std::string error_;
  std::vector<XmlElement> elements_;
};

inline void Xml::read() {
  std::vector<std::size_t> open;
  while (error_.empty() && at_ < text_.size()) {
    if (text_[at_] == '<') {
      read_tag(open);
      continue;
    }
    const std::size_t end = (std::min)(text_.find('<', at_), text_.size());
    const std::string text = text_.substr(at_, end - at_);
    check_text(text);
    if (!open.empty()) {
      elements_[open.back()].text += text;
    } else if (text.find_first_not_of(" \n") != std::string::npos) {
      fail("text outside the document");
    }
    at_ = end;
  }
  if (!open.empty()) fail("<" + elements_[open.back()].tag + "> is not closed");
  if (error_.empty()) check_ids();
}

inline void Xml::read_tag(std::vector<std::size_t>& open) {
  ++at_;
  if (at_ < text_.size() && text_[at_] == '/') {
    ++at_;
    const std::string name = read_name();
    if (open.empty() || elements_[open.back()].tag != name) return fail("stray </" + name + ">");
    if (at_ >= text_.size() || text_[at_] != '>') return fail("no > after </" + name);
    ++at_;
    open.pop_back();
    return;
  }
  XmlElement element;
  element.tag = read_name();
  if (element.tag.empty()) return fail("a < that is no tag");
  if (open.empty() && !elements_.empty()) return fail("a second document");
  bool closed = false;
  read_attributes(element, closed);
  elements_.push_back(element);
  if (!closed) open.push_back(elements_.size() - 1);
}

inline void Xml::read_attributes(XmlElement& element, bool& closed) {
  while (error_.empty()) {
    const bool space = at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n');
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (at_ >= text_.size()) return fail("a tag without end");
    if (text_[at_] == '>') {
      ++at_;
      return;
    }
    if (text_.compare(at_, 2, "/>") == 0) {
      at_ += 2;
      closed = true;
      return;
    }
    const std::string name = read_name();
    if (!space || name.empty()) return fail("no attribute");
    if (text_.compare(at_, 2, "=\"") != 0) return fail("no =\" after " + name);
    at_ += 2;
    const std::size_t end = text_.find('"', at_);
    if (end == std::string::npos) return fail("no \" after " + name);
    const std::string value = text_.substr(at_, end - at_);
    check_text(value);
    if (value.find('<') != std::string::npos) return fail("a < in " + name);
    at_ = end + 1;
    if (!element.attributes.emplace(name, value).second) return fail(name + " is there twice");
  }
}

inline std::string Xml::read_name() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                text_[at_] == '-' || text_[at_] == '_' || text_[at_] == ':')) {
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

/// Control characters, and an & that begins none of the five entities and no number.
inline void Xml::check_text(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\n' && byte != '\t') return fail("a control character");
    if (byte != '&') continue;
    const std::string entity = text.substr(i, text.find(';', i) - i);
    static const std::set<std::string> known{"&amp", "&lt", "&gt", "&quot", "&#39"};
    if (known.count(entity) == 0) return fail("a bare &");
  }
}

inline void Xml::check_ids() {
  std::set<std::string> ids;
  for (const XmlElement& element : elements_) {
    const std::string id = element.attribute("id");
    if (!id.empty() && !ids.insert(id).second) return fail("the id " + id + " is there twice");
  }
  for (const XmlElement& element : elements_) {
    std::string references = element.attribute("aria-labelledby") + " ";
    const std::string fill = element.attribute("fill");
    if (fill.compare(0, 5, "url(#") == 0) references += fill.substr(5, fill.size() - 6) + " ";
    for (std::size_t i = 0; i < references.size();) {
      const std::size_t end = references.find(' ', i);
      const std::string id = references.substr(i, end - i);
      if (!id.empty() && ids.count(id) == 0) return fail("nothing has the id " + id);
      i = end + 1;
    }
  }
}
