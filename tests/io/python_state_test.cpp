// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/grad_scaler.h>
#include <torchamp/io/archive.h>
#include <torchamp/io/python_state.h>

#include "io/files.h"
#include "support/doctest.h"
#include "support/errors.h"

#include <cstddef>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::GradScalerState;
using torchamp::load_from_python;
using torchamp::save_for_python;
using torchamp::detail::ZipFile;

namespace {

/// What data/make.py says that its scaler had come to.
GradScalerState golden_state() {
  GradScalerState state;
  state.scale = 32;
  state.growth_factor = 4;
  state.backoff_factor = 0.5;
  state.growth_interval = 3;
  state.growth_tracker = 1;
  return state;
}

/// A state whose numbers differ from every default.
GradScalerState some_state() {
  GradScalerState state = golden_state();
  state.hysteresis = 3;
  state.hysteresis_tracker = 1;
  state.consecutive_hysteresis = true;
  state.min_scale = 1.0 / 3;
  state.max_scale = 64;
  return state;
}

GradScalerState round_trip(const GradScalerState& state) {
  const TemporaryFile file("python_state_test.pt");
  save_for_python(state, file.path());
  return load_from_python(file.path());
}

}  // namespace

TEST_CASE("A state that Python saved is read, in every form that it saves") {
  for (const auto* name : {"scaler.pt", "ordered.pt", "protocol3.pt", "protocol4.pt",
                           "protocol5.pt", "no_checksum.pt"}) {
    CAPTURE(name);
    CHECK(load_from_python(golden(name)) == golden_state());
  }
}

TEST_CASE("A state is read out of a checkpoint with models, optimizers and all else") {
  for (const auto* name : {"checkpoint.pt", "checkpoint5.pt"}) {
    for (const auto* key : {"scaler", "trainer.scalers.0", "trainer.my.scaler", "7"}) {
      CAPTURE(name);
      CAPTURE(key);
      CHECK(load_from_python(golden(name), key) == golden_state());
    }
    CHECK(load_from_python(golden(name), "trainer.scalers.1").empty);
  }
}

TEST_CASE("The states of a scaler that was never used, and of a disabled one, are read") {
  const GradScalerState unused = load_from_python(golden("unused.pt"));
  CHECK(unused.scale == 8);
  CHECK(unused.growth_interval == 2000);
  CHECK(load_from_python(golden("disabled.pt")).empty);
}

TEST_CASE("A scaler goes on from a file of Python's") {
  torch::Tensor parameter = torch::full({1}, 10.0, torch::requires_grad());
  torch::optim::SGD optimizer({parameter}, 1.0);
  GradScaler scaler;

  scaler.load_state_dict(load_from_python(golden("scaler.pt")));
  for (int i = 0; i < 2; ++i) {
    scaler.scale(parameter.sum()).backward();
    scaler.step(optimizer);
    scaler.update();
  }

  CHECK(scaler.get_scale() == 128);  // the count was 1 of 3, and the factor is 4
}

TEST_CASE("What is written for Python is read back the same") {
  CHECK(round_trip(some_state()) == some_state());
  CHECK(round_trip(golden_state()) == golden_state());
  CHECK(round_trip(some_state().python_part()) == golden_state());
  CHECK(round_trip(GradScalerState::of_disabled()).empty);
  GradScalerState part = golden_state();
  part.min_scale = 2;
  CHECK(round_trip(part) == part);
}

TEST_CASE("What is written for Python are the bytes of a plain dict, in an archive of torch.save") {
  const TemporaryFile file("python_state_bytes_test.pt");
  GradScalerState state;
  state.scale = 2;
  save_for_python(state, file.path());
  ZipFile zip(file.path(), "read");

  using namespace std::string_literals;
  CHECK(zip.read("data.pkl") ==
        "\x80\x02}("
        "X\x05\0\0\0scaleG@\0\0\0\0\0\0\0"
        "X\x0D\0\0\0growth_factorG@\0\0\0\0\0\0\0"
        "X\x0E\0\0\0"
        "backoff_factorG?\xE0\0\0\0\0\0\0"
        "X\x0F\0\0\0growth_intervalJ\xD0\x07\0\0"
        "X\x0F\0\0\0_growth_trackerJ\0\0\0\0u."s);
  CHECK(zip.has("version"));
}

TEST_CASE("An entry that is not there, or is no state, is refused with what is there") {
  CHECK_ERROR(E17, load_from_python(golden("checkpoint.pt"), "scalar"));
  CHECK_ERROR_SAYS("\"model\", \"optimizer\"", load_from_python(golden("checkpoint.pt"), "scalar"));
  CHECK_ERROR_SAYS("\"model\", \"optimizer\"", load_from_python(golden("checkpoint.pt")));
  CHECK_ERROR_SAYS("entry \"losses\" holds an object of \"collections.deque\"",
                   load_from_python(golden("checkpoint.pt"), "losses"));
  CHECK_ERROR_SAYS("\"parameter\" holds", load_from_python(golden("checkpoint.pt"), "parameter"));
}

TEST_CASE("Files of Python's that hold something else are refused with the cure") {
  CHECK_ERROR_SAYS("make it a float", load_from_python(golden("tensor_scale.pt")));
  CHECK_ERROR_SAYS("save scaler.state_dict()", load_from_python(golden("object.pt")));
  CHECK_ERROR(E18, load_from_python(golden("legacy.pt")));
  CHECK_ERROR_SAYS("load it in Python", load_from_python(golden("legacy.pt")));
}

TEST_CASE("An archive of LibTorch's is refused, and torch::load named") {
  const TemporaryFile file("python_state_archive_test.pt");
  torch::save(GradScaler(), file.path());

  CHECK_ERROR(E18, load_from_python(file.path()));
  CHECK_ERROR_SAYS("torch::load", load_from_python(file.path()));
}

TEST_CASE("A file that is not there, or cannot be written, is refused by its path") {
  CHECK_ERROR(E18, load_from_python("no/such/file.pt"));
  CHECK_ERROR(E18, load_from_python("."));
  CHECK_ERROR(E18, save_for_python(some_state(), "no/such/file.pt"));
  CHECK_ERROR_SAYS("\"no/such/file.pt\"", save_for_python(some_state(), "no/such/file.pt"));
  CHECK_ERROR(E18, save_for_python(some_state(), "."));
  CHECK_FALSE(std::filesystem::exists("..partial"));
}

TEST_CASE("Numbers that make no sense come through, and the scaler refuses them") {
  GradScaler scaler(GradScalerOptions().init_scale(4));
  for (const double scale : {0.0, -2.0, 1e300, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(scale);
    GradScalerState state = golden_state();
    state.scale = scale;
    const GradScalerState loaded = round_trip(state);
    CHECK_ERROR(E17, scaler.load_state_dict(loaded));
    CHECK(scaler.get_scale() == 4);
  }
}

TEST_CASE("A file cut off anywhere is refused, and the scaler is as it was") {
  const TemporaryFile file("python_state_cut_test.pt");
  GradScaler scaler(GradScalerOptions().init_scale(4));
  const std::string whole = content_of(golden("scaler.pt"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    file.write(whole.substr(0, size));
    CHECK_ERROR(E18, scaler.load_state_dict(load_from_python(file.path())));
  }
  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("Files with random bytes in them are read or refused, and never half loaded") {
  const unsigned seed = 18;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const TemporaryFile file("python_state_random_test.pt");
  const std::string whole = content_of(golden("scaler.pt"));
  const std::string pickle = ZipFile(golden("scaler.pt"), "read").read("data.pkl");
  int loaded = 0;
  for (int i = 0; i < 3000; ++i) {
    // Any byte of the file; or one of the pickle, under a checksum that is right.
    std::string content = i % 2 == 0 ? whole : pickle;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      content[random() % content.size()] = static_cast<char>(random());
    }
    file.write(i % 2 == 0 ? content : zipped("x/data.pkl", content));

    GradScaler scaler(GradScalerOptions().init_scale(4));
    const GradScalerState before = scaler.state_dict();
    const std::string complaint =
        complaint_of([&] { scaler.load_state_dict(load_from_python(file.path())); });
    if (complaint.empty()) {
      ++loaded;
      CHECK(scaler.get_scale() >= scaler.options().min_scale());
    } else {
      CHECK(complaint.substr(0, 12) == "[torchamp.E1");
      CHECK(scaler.state_dict() == before);
    }
  }
  CHECK(loaded > 30);
  CHECK(loaded < 2700);
}

TEST_CASE("A scaler is saved between iterations, and in the middle of one the old file stays") {
  const TemporaryFile file("python_state_scaler_test.pt");
  const auto parameter = torch::ones({1}).requires_grad_();
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, /*lr=*/1.0);
  GradScaler scaler(GradScalerOptions().init_scale(4));
  save_for_python(scaler, file.path());

  scaler.scale(parameter.sum()).backward();
  scaler.step(optimizer);
  CHECK_ERROR(E18, save_for_python(scaler, file.path()));
  CHECK(load_from_python(file.path()).growth_tracker == 0);

  scaler.update();
  save_for_python(scaler, file.path());
  CHECK(load_from_python(file.path()).growth_tracker == 1);
}
