// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What does mixed precision do to time, memory and accuracy on this machine?
//
// Trains the same small CNN twice, in FP32 and with AMP, from the same seed on the same images in
// the same order, and prints both side by side, with what torchamp knows of the device. On a CPU it
// takes bfloat16, on a GPU float16 with loss scaling; --help lists what can be chosen.

#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>

#include "support/arguments.h"
#include "support/atomic_file.h"
#include "support/comparison.h"
#include "support/environment.h"
#include "support/training_run.h"

namespace {

struct CompareArguments {
  examples::Arguments training;
  torch::ScalarType dtype = torch::kBFloat16;
  std::string json;  // where to write the numbers; empty for nowhere
};

CompareArguments parse(int argc, char** argv) {
  CLI::App app("Trains a small CNN in FP32 and with AMP and compares the two.");
  CompareArguments arguments;
  std::string device_name;
  std::string dtype_name;
  int threads = 0;
  examples::add_options(app, arguments.training, device_name);
  app.add_option("--dtype", dtype_name, "bf16 or fp16; else what suits the device")
      ->check(CLI::IsMember({"bf16", "fp16"}));
  app.add_option("--threads", threads, "CPU threads; else as many as LibTorch takes")
      ->check(examples::at_least(1));
  app.add_option("--json", arguments.json, "File to write the numbers to");
  examples::parse_or_exit(app, argc, argv);

  if (threads > 0) torch::set_num_threads(threads);
  arguments.training.device = examples::usable_device(device_name);
  if (dtype_name.empty()) {
    arguments.dtype = torchamp::default_dtype(arguments.training.device);
  } else {
    arguments.dtype = dtype_name == "fp16" ? torch::kHalf : torch::kBFloat16;
  }
  return arguments;
}

void compare(const CompareArguments& arguments) {
  const auto& training = arguments.training;
  // Before the work: nobody should wait for numbers that then cannot be written.
  std::optional<examples::AtomicFile> file;
  if (!arguments.json.empty()) file.emplace(arguments.json);
  const auto train_data = training.dataset(examples::FashionMnist::Part::Train);
  const auto test_data = training.dataset(examples::FashionMnist::Part::Test);

  std::cout << "SimpleCNN on " << training.device << ", "
            << torchamp::format_count(static_cast<int64_t>(*train_data.size()))
            << (training.synthetic ? " random images, " : " images of Fashion-MNIST, ")
            << training.epochs << (training.epochs == 1 ? " epoch" : " epochs") << ", batches of "
            << training.batch_size << "\n\n";
  const auto fp32 = examples::Trainer(training, torch::kFloat).run(train_data, test_data);
  const auto amp = examples::Trainer(training, arguments.dtype).run(train_data, test_data);

  std::cout << '\n'
            << examples::comparison_table(fp32, amp) << '\n'
            << examples::verdict(fp32, amp, torchamp::advise(training.device));
  if (file) {
    auto runs = torchamp::Json::array();
    runs.push_back(examples::to_json(fp32)).push_back(examples::to_json(amp));
    auto report = torchamp::Json::object();
    report.set("environment",
               examples::environment_json(training, *train_data.size(), *test_data.size()));
    file->commit(report.set("runs", runs).str() + "\n");
    std::cout << "\nThe numbers are in " << arguments.json << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  return examples::run_program([&] { compare(arguments); });
}
