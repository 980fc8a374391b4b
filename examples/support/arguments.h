// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/device.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <system_error>

#include "default_data.h"
#include "support/fashion_mnist.h"

namespace examples {

/// Ends a program with a message for its user and exit code 2: what was asked for cannot be done.
[[noreturn]] inline void refuse(const std::string& message) {
  std::cerr << message << '\n';
  std::exit(2);
}

/// What the command line of every training example can set.
struct Arguments {
  torch::Device device = torch::kCPU;
  std::int64_t epochs = 2;
  std::int64_t batch_size = 64;
  std::int64_t seed = 1;
  /// How many images to use at most, of each part of the data; 0 for all.
  std::int64_t limit = 0;
  std::string data = default_data_directory;
  bool synthetic = false;

  FashionMnist dataset(FashionMnist::Part part) const {
    const bool train = part == FashionMnist::Part::Train;
    auto dataset = synthetic ? FashionMnist::synthetic(train ? 2000 : 500, seed + (train ? 0 : 1))
                             : FashionMnist(data, part);
    return limit == 0 ? dataset : dataset.first(limit);
  }
};

/// The device called `name`, or the best one there is for an empty name; refuses what this LibTorch
/// or this machine cannot use.
inline torch::Device usable_device(const std::string& name) {
  const torch::Device best = torchamp::default_device();
  if (name.empty()) return best;
  std::string reason = "not of a kind that this LibTorch can use on this machine";
  try {
    const torch::Device device(name);
    if (device.is_cpu() || device.type() == best.type()) {
      torch::zeros({1}, device);
      return device;
    }
  } catch (const c10::Error& error) {
    reason = error.what_without_backtrace();
    reason.erase((std::min)(reason.find('\n'), reason.size()));
  }
  refuse("--device: '" + name + "': " + reason + "; the best device here is " + best.str());
}

/// Accepts whole numbers from `least` on.
inline CLI::Validator at_least(std::int64_t least) {
  const std::string bound = std::to_string(least);
  const auto complaint = [least, bound](const std::string& text) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    const bool good = read.ec == std::errc() && read.ptr == end && value >= least;
    return good ? "" : "'" + text + "': give a whole number, " + bound + " or more";
  };
  return CLI::Validator(complaint, ">= " + bound);
}

/// Adds the options that fill `arguments`, but for the device, whose name is to be checked later.
inline void add_options(CLI::App& app, Arguments& arguments, std::string& device_name) {
  app.option_defaults()->always_capture_default();
  app.add_option("--epochs", arguments.epochs, "Times through the training data")
      ->check(at_least(1));
  app.add_option("--batch-size", arguments.batch_size, "Images a step")->check(at_least(1));
  app.add_option("--seed", arguments.seed, "Of the weights, the order and --synthetic")
      ->check(at_least(0));
  app.add_option("--limit", arguments.limit, "Use only the first so many images; 0: all")
      ->check(at_least(0));
  app.add_option("--data", arguments.data, "Folder with the files of Fashion-MNIST")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--synthetic", arguments.synthetic, "Random images instead of --data");
  app.option_defaults()->always_capture_default(false);
  app.add_option("--device", device_name, "cpu, cuda, cuda:1, ...; else the best one there is");
}

/// Parses; ends the program after --help, and with exit code 2 after a wrong argument.
inline void parse_or_exit(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
}

/// The arguments of a program that takes only the common ones.
inline Arguments parse_arguments(int argc, char** argv, const std::string& description) {
  CLI::App app(description);
  Arguments arguments;
  std::string device_name;
  add_options(app, arguments, device_name);
  parse_or_exit(app, argc, argv);
  arguments.device = usable_device(device_name);
  return arguments;
}

/// Calls `program` and returns the exit code: 0, or 1 with the message of the exception that ended
/// it.
template <class Program>
int run_program(Program&& program) {
  try {
    program();
    return 0;
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}

}  // namespace examples
