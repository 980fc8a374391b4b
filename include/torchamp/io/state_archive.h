// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/detail/check.h>
#include <torchamp/io/state_version.h>

#include <ATen/core/ivalue.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The entries of a LibTorch archive that are the state of a scaler. The same list of entries
/// serves writing and reading.
class StateWriter {
 public:
  explicit StateWriter(torch::serialize::OutputArchive& archive) : archive_(archive) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    archive_.write(key, c10::IValue(value));
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }

 private:
  torch::serialize::OutputArchive& archive_;
};

/// Errors, all [E17], name the entry.
class StateReader {
 public:
  explicit StateReader(torch::serialize::InputArchive& archive)
      : archive_(archive), unread_(archive.keys()) {}

  /// Leaves an optional empty if there is no such entry.
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    value.reset();
    if (!has(key)) return;
    T present{};
    (*this)(key, present);
    value = present;
  }
  void operator()(const char* key, double& value) {
    value = read(key, &c10::IValue::isDouble, "a number").toDouble();
  }
  void operator()(const char* key, int64_t& value) {
    value = read(key, &c10::IValue::isInt, "an integer").toInt();
  }
  void operator()(const char* key, bool& value) {
    value = read(key, &c10::IValue::isBool, "true or false").toBool();
  }

  bool has(const char* key) const {
    return std::find(unread_.begin(), unread_.end(), key) != unread_.end();
  }

  /// To be called when all is read.
  void check_nothing_is_left() const {
    TORCHAMP_CHECK(E17, unread_.empty(), "torch::load(): the scaler's archive has the entry \"",
                   unread_.empty() ? "" : unread_.front(),
                   "\", which no state has; check what it was written from");
  }

 private:
  c10::IValue read(const char* key, bool (c10::IValue::*is_right)() const, const char* expected) {
    TORCHAMP_CHECK(E17, has(key), "torch::load(): the scaler's archive has no entry \"", key,
                   "\"; write it again with torch::save");
    c10::IValue value;
    archive_.read(key, value);
    TORCHAMP_CHECK(E17, (value.*is_right)(), "torch::load(): the entry \"", key,
                   "\" of the scaler's archive is of type ", value.tagKind(), ", and ", expected,
                   " is expected; write it again with torch::save");
    unread_.erase(std::find(unread_.begin(), unread_.end(), key));
    return value;
  }

  torch::serialize::InputArchive& archive_;
  std::vector<std::string> unread_;
};

template <class Archive, class State>
void visit_entries(Archive&& archive, State& state) {
  archive("scale", state.scale);
  archive("growth_factor", state.growth_factor);
  archive("backoff_factor", state.backoff_factor);
  archive("growth_interval", state.growth_interval);
  archive("growth_tracker", state.growth_tracker);
  archive("hysteresis", state.hysteresis);
  archive("hysteresis_tracker", state.hysteresis_tracker);
  archive("consecutive_hysteresis", state.consecutive_hysteresis);
  archive("min_scale", state.min_scale);
  archive("max_scale", state.max_scale);
}

}  // namespace detail

/// The state of a scaler in LibTorch's own files, for programs that keep states rather than
/// scalers: `torch::save(state, path)`, and as a part of an archive. See archive.h.
/// Host sync: none.
inline torch::serialize::OutputArchive& operator<<(torch::serialize::OutputArchive& archive,
                                                   const GradScalerState& state) {
  detail::StateWriter write(archive);
  write("torchamp_state_version", detail::state_version);
  write("empty", state.empty);
  if (!state.empty) detail::visit_entries(write, state);
  return archive;
}

/// Reads what the operator above wrote.
/// Host sync: none.   Throws: [E17] for an archive that holds something else; `state` is then as it
/// was.
inline torch::serialize::InputArchive& operator>>(torch::serialize::InputArchive& archive,
                                                  GradScalerState& state) {
  detail::StateReader read(archive);
  TORCHAMP_CHECK(E17, read.has("torchamp_state_version"),
                 "torch::load(): the archive is not that of a scaler, as it has no entry"
                 " \"torchamp_state_version\"; if it is a part of a larger one, read that part:"
                 " archive.read(\"scaler\", part); part >> scaler");
  int64_t layout = 0;
  read("torchamp_state_version", layout);
  detail::check_state_version(layout, "torch::load(): the archive");
  GradScalerState loaded;
  read("empty", loaded.empty);
  if (!loaded.empty) detail::visit_entries(read, loaded);
  read.check_nothing_is_left();
  state = std::move(loaded);
  return archive;
}

}  // namespace v0
}  // namespace torchamp
