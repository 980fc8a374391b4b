// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/state_archive.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <sstream>
#include <string>

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;
using torchamp::GradScalerState;

namespace {

/// A state whose numbers differ from every default.
GradScalerState some_state() {
  GradScalerState state;
  state.scale = 3;
  state.growth_factor = 4;
  state.backoff_factor = 0.25;
  state.growth_interval = 5;
  state.growth_tracker = 2;
  state.hysteresis = 3;
  state.hysteresis_tracker = 1;
  state.consecutive_hysteresis = true;
  state.min_scale = 1;
  state.max_scale = 1.0 / 3 + 8;
  return state;
}

/// What is read from an archive that `write` has written to.
template <class Write>
GradScalerState read_back(const Write& write) {
  std::stringstream file;
  OutputArchive out;
  write(out);
  out.save_to(file);
  InputArchive in;
  in.load_from(file);
  GradScalerState state;
  in >> state;
  return state;
}

/// An archive with all that a state needs, and `write` in it.
template <class Write>
void read_with(const std::string& but, const Write& write) {
  read_back([&](OutputArchive& out) {
    const auto put = [&](const char* key, const c10::IValue& value) {
      if (but != key) out.write(key, value);
    };
    put("torchamp_state_version", int64_t{1});
    put("empty", false);
    put("scale", 4.0);
    put("growth_factor", 2.0);
    put("backoff_factor", 0.5);
    put("growth_interval", int64_t{10});
    put("growth_tracker", int64_t{0});
    write(out);
  });
}

}  // namespace

TEST_CASE("A state is read back as it was written") {
  CHECK(read_back([](OutputArchive& out) { out << some_state(); }) == some_state());
}

TEST_CASE("A state from Python, and the one of a disabled scaler, are read back as such") {
  const GradScalerState python = some_state().python_part();
  CHECK(read_back([&](OutputArchive& out) { out << python; }) == python);
  CHECK(read_back([](OutputArchive& out) { out << GradScalerState::of_disabled(); }).empty);
}

TEST_CASE("An archive with all entries is read, and one that lacks any is refused by its name") {
  const auto nothing = [](OutputArchive&) {};
  CHECK_NOTHROW(read_with("", nothing));
  for (const auto* key : {"torchamp_state_version", "empty", "scale", "growth_factor",
                          "backoff_factor", "growth_interval", "growth_tracker"}) {
    CAPTURE(key);
    CHECK_ERROR(E17, read_with(key, nothing));
    CHECK_ERROR_SAYS(std::string("\"") + key + "\"", read_with(key, nothing));
  }
}

TEST_CASE("An entry of another type is refused by its name") {
  CHECK_ERROR_SAYS("\"scale\"",
                   read_with("scale", [](OutputArchive& out) { out.write("scale", int64_t{4}); }));
  CHECK_ERROR_SAYS("\"scale\"", read_with("scale", [](OutputArchive& out) {
                     out.write("scale", c10::IValue("4"));
                   }));
  CHECK_ERROR_SAYS("\"scale\"", read_with("scale", [](OutputArchive& out) {
                     out.write("scale", torch::ones({}));
                   }));
  CHECK_ERROR_SAYS("\"growth_interval\"", read_with("growth_interval", [](OutputArchive& out) {
                     out.write("growth_interval", c10::IValue(10.0));
                   }));
  CHECK_ERROR_SAYS("\"consecutive_hysteresis\"", read_with("", [](OutputArchive& out) {
                     out.write("consecutive_hysteresis", int64_t{1});
                   }));
}

TEST_CASE("An entry too many is refused by its name") {
  CHECK_ERROR_SAYS("\"decay\"",
                   read_with("", [](OutputArchive& out) { out.write("decay", c10::IValue(1.0)); }));
}

TEST_CASE("A version that this torchamp does not know is refused") {
  for (const int64_t version : {0, 2}) {
    CHECK_ERROR_SAYS("version", read_with("torchamp_state_version", [&](OutputArchive& out) {
                       out.write("torchamp_state_version", version);
                     }));
  }
}

TEST_CASE("A state stays as it was if an archive is refused") {
  std::stringstream file;
  torch::save(torch::ones({}), file);
  InputArchive in;
  in.load_from(file);
  GradScalerState state = some_state();

  CHECK_ERROR(E17, in >> state);

  CHECK(state == some_state());
}
