// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// C++'s side of tests/parity: trains every scenario with torchamp and writes down each step.
//
//   torchamp_parity DIR    reads DIR/scenarios.json and Python's checkpoints; writes DIR/cpp/,
//                          DIR/cpp_from_python/ and checkpoints for Python
//
// train.py is its twin; it must have run.

#include "parity/training.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

namespace fs = std::filesystem;
using parity::Json;
using parity::Training;

/// Trains from step `first` on; line 0 is the state before it. An error ends the trace and is told
/// there: the other scenarios can still be compared.
void write_trace(const fs::path& path, Training& training, int first) {
  const Json& scenario = training.scenario();
  std::ofstream file(path);
  Json told = {{"losses", Json::array()}, {"taken", Json::array()}};
  for (int step = first - 1; step <= scenario.at("steps"); ++step) {
    try {
      if (step >= first) told = training.step(step);
      file << training.record(step, told) << "\n";
      if (first == 1 && step > 0 && step == scenario.at("hand_over_after")) {
        training.save(path.parent_path());
      }
    } catch (const std::exception& error) {
      file << Json{{"step", step}, {"error", error.what()}} << "\n";
      return;
    }
  }
}

/// The same from the checkpoint that Python wrote.
void go_on(const fs::path& checkpoint, const fs::path& path, const Json& scenario) {
  const int last = scenario.at("hand_over_after");
  Training training(scenario);
  try {
    training.load(checkpoint);
  } catch (const std::exception& error) {
    std::ofstream(path) << Json{{"step", last}, {"error", error.what()}} << "\n";
    return;
  }
  write_trace(path, training, last + 1);
}

void run(const fs::path& folder) {
  std::ifstream file(folder / "scenarios.json");
  if (!file) {
    throw std::runtime_error("there is no scenarios.json in " + folder.string() +
                             "; run train.py first");
  }
  const Json scenarios = Json::parse(file);
  fs::create_directories(folder / "cpp");
  fs::create_directories(folder / "cpp_from_python");
  std::ofstream(folder / "cpp" / "libtorch.txt") << at::show_config();
  for (const Json& scenario : scenarios) {
    const std::string name = scenario.at("name");
    Training training(scenario);
    write_trace(folder / "cpp" / (name + ".jsonl"), training, 1);
    if (scenario.at("hand_over_after") != 0) {
      go_on(folder / "python" / (name + ".pt"), folder / "cpp_from_python" / (name + ".jsonl"),
            scenario);
    }
  }
  std::cout << "torchamp trained " << scenarios.size() << " scenarios\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: torchamp_parity DIR\n";
    return 2;
  }
  try {
    at::set_num_threads(1);
    run(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
