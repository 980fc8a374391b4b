// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What does mixed precision do to time, memory and accuracy on this machine?
//
// Trains the same small CNN in FP32 and with AMP, from the same weights on the same batches, step
// by step in turns, and says which is faster, by how much, how sure that is, and why. On a CPU it
// takes bfloat16, on a GPU float16 with loss scaling, and TF32 as a second baseline; --help lists
// what can be chosen.

#include <torchamp/bench/compare.h>
#include <torchamp/core/device.h>
#include <torchamp/diagnose/op_stats.h>
#include <torchamp/probe/environment.h>
#include <torchamp/probe/trace.h>
#include <torchamp/report/progress.h>
#include <torchamp/report/report_charts.h>
#include <torchamp/report/report_html.h>
#include <torchamp/report/report_json.h>
#include <torchamp/report/report_text.h>
#include <torchamp/report/table.h>
#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "support/arguments.h"
#include "support/atomic_file.h"
#include "support/batches.h"
#include "support/training.h"

namespace {

struct CompareArguments {
  examples::Arguments training;
  torch::ScalarType dtype = torch::kBFloat16;
  std::int64_t rounds = 0;  // 0: as many as the epochs have
  // Where to write what; empty for nowhere.
  std::string html;
  std::string json;
  std::string svg;
  std::string trace;
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
  app.add_option("--rounds", arguments.rounds, "Steps to time of each; else as --epochs says")
      ->check(examples::at_least(1));
  app.add_option("--html", arguments.html, "File to write the report to, a page to look at");
  app.add_option("--json", arguments.json, "File to write the numbers to");
  app.add_option("--svg", arguments.svg, "Folder to write each chart to");
  app.add_option("--trace", arguments.trace, "File for a trace of one more AMP step");
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

/// Files that are made at the start: nobody should wait for numbers that then cannot be written.
class Output {
 public:
  explicit Output(const CompareArguments& arguments) {
    for (const std::string& path : {arguments.html, arguments.json}) {
      if (!path.empty()) files_[path].emplace(path);
    }
    if (!arguments.trace.empty()) examples::AtomicFile writable(arguments.trace);
    svg_ = arguments.svg;
    if (!svg_.empty()) std::filesystem::create_directories(svg_);
  }

  template <class Write>
  void write(const std::string& path, const char* what, Write write_to) {
    if (path.empty()) return;
    std::ostringstream text;
    write_to(text);
    files_.at(path)->commit(text.str());
    std::cout << what << std::filesystem::absolute(path).string() << '\n';
  }

  void write_charts(const torchamp::Report& report) const {
    if (svg_.empty()) return;
    for (const torchamp::Chart& chart : torchamp::charts_of(report)) {
      const auto id = std::visit([](const auto& kind) { return kind.id; }, chart);
      std::ostringstream text;
      torchamp::write_svg(chart, text);
      examples::AtomicFile(svg_ / (id + ".svg")).commit(text.str());
    }
    std::cout << "Charts:  " << std::filesystem::absolute(svg_).string() << '\n';
  }

 private:
  std::map<std::string, std::optional<examples::AtomicFile>> files_;
  std::filesystem::path svg_;
};

/// What only this program knows: the data, and how well the models guess.
void add_facts(torchamp::Report& report, const CompareArguments& arguments,
               const examples::FashionMnist& train_data, const examples::FashionMnist& test_data,
               const examples::Batches& batches) {
  const auto& training = arguments.training;
  const auto count = [](const examples::FashionMnist& data) {
    return torchamp::format_count(static_cast<std::int64_t>(*data.size()));
  };
  const std::string data = training.synthetic ? "random images" : "images of Fashion-MNIST";
  report.title = "SimpleCNN in FP32 and with AMP";
  report.subtitle = "On " + training.device.str() + ", " + count(train_data) + " " + data +
                    ", batches of " + std::to_string(batches.batch_size());
  report.environment.push_back({"device", "device", training.device.str()});
  report.environment.push_back({"data", "data", training.synthetic ? "synthetic" : training.data});
  report.environment.push_back({"train_images", "images to train with", count(train_data)});
  report.environment.push_back({"test_images", "images to test with", count(test_data)});
  report.environment.push_back({"batch_size", "batch size", std::to_string(batches.batch_size())});
  report.environment.push_back({"seed", "seed", std::to_string(training.seed)});
}

/// What one more step runs in which dtype, and what float16 makes of its gradients.
void add_diagnoses(torchamp::Report& report, examples::Training& training,
                   const examples::Batches& batches) {
  torchamp::StepContext context;
  const torchamp::OpStats stats;
  training.step(batches, context);
  report.sections.push_back(stats.report().to_section());
  report.sections.push_back(training.underflow().to_section());
}

void compare(const CompareArguments& arguments) {
  using torchamp::CompareOptions;
  const auto& training = arguments.training;
  Output output(arguments);
  const auto train_data = training.dataset(examples::FashionMnist::Part::Train);
  const auto test_data = training.dataset(examples::FashionMnist::Part::Test);
  examples::Batches batches(train_data, training.batch_size, training.device);

  // Of each model's steps, those for the warm-up, for memory and for operators are not timed.
  const std::int64_t steps = training.epochs * batches.batches_per_epoch();
  const std::int64_t warmup = arguments.rounds > 0 ? 3 : std::clamp<std::int64_t>(steps - 3, 0, 3);
  const std::int64_t rounds =
      arguments.rounds > 0 ? arguments.rounds : (std::max)(steps - warmup - 2, std::int64_t{1});

  std::map<std::string, std::unique_ptr<examples::Training>> trainings;
  const auto make = [&](const std::string& name, torch::ScalarType dtype) {
    auto& made = trainings[name];
    made = std::make_unique<examples::Training>(training.device, dtype);
    return
        [&made, &batches](torchamp::StepContext& context) { return made->step(batches, context); };
  };
  std::optional<torchamp::Progress> progress;
  torchamp::Compare comparison(training.device,
                               CompareOptions()
                                   .rounds(rounds)
                                   .warmup(warmup)
                                   .seed(static_cast<std::uint64_t>(training.seed))
                                   .items_per_step(batches.batch_size())
                                   .item_name("images")
                                   .prepare([&](std::int64_t) { batches.advance(); })
                                   .progress([&](const torchamp::CompareProgress& done) {
                                     if (!progress) progress.emplace("training", done.steps);
                                     progress->advance(done.loss, done.scale);
                                   }));
  const std::string amp = examples::training_name(arguments.dtype);
  comparison.add(
      "FP32", [&] { return make("FP32", torch::kFloat); }, torchamp::Float32Math::Strict);
  if (torchamp::has_tf32(training.device)) {
    comparison.add(
        "TF32", [&] { return make("TF32", torch::kFloat); }, torchamp::Float32Math::Tf32);
  }
  comparison.add(amp, [&] { return make(amp, arguments.dtype); });

  std::cout << torchamp::environment().text() << '\n';
  auto report = comparison.run();
  for (auto& variant : report.variants) {
    const double accuracy = trainings.at(variant.label)->accuracy(test_data);
    variant.metrics.push_back(
        {"test_accuracy", "test accuracy", torchamp::Unit::Fraction, accuracy});
  }
  add_facts(report, arguments, train_data, test_data, batches);

  auto in_short = report;  // the page has the rest, and the environment is printed already
  in_short.environment.clear();
  std::cout << '\n';
  torchamp::write_text(in_short, std::cout);
  add_diagnoses(report, *trainings.at(amp), batches);
  std::cout << '\n';
  output.write(arguments.html,
               "Report:  ", [&](std::ostream& out) { torchamp::write_html(report, out); });
  output.write(arguments.json,
               "Numbers: ", [&](std::ostream& out) { torchamp::write_json(report, out); });
  output.write_charts(report);
  if (!arguments.trace.empty()) {
    torchamp::TraceGuard trace(arguments.trace);
    torchamp::StepContext context;
    trainings.at(amp)->step(batches, context);
    trace.stop();
    std::cout << "Trace:   " << std::filesystem::absolute(arguments.trace).string() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  return examples::run_program([&] { compare(arguments); });
}
