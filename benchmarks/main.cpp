// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// Google Benchmark over cases that are named on the command line, or, for bench.py, which takes
// turns with Python, one by one on the standard input.

#include "case.h"
#include "diagnosis.h"
#include "optimizer_step.h"
#include "small_cases.h"
#include "training.h"

#include <torch/torch.h>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace benchmarks {

constexpr char help[] = R"(torchamp_benchmarks [--threads=N] CASE... [--benchmark_...]
torchamp_benchmarks [--threads=N] --serve     reads lines "CASE SECONDS REPETITIONS"
torchamp_benchmarks --operators CASE...       lists the operators of one iteration, nested ones too

  step/adam|sgd/TENSORSxELEMENTS/plain|fused|flat|raw   scaler.step(optimizer); scaler.update();
  train/cnn|mlp/fp32|amp/plain|fused                    a step of training
  triad/ELEMENTS/apart|in_place                         a[i] = b[i] + s * c[i], float32
  guard/guard|raw|least                                 an empty autocast region
  timer/lap|clock                                       a lap of a Timer; two looks at its clock
  diagnose/cnn|mlp/none|after|scope|tracer|op_stats|dry_run
                                                        forward and backward in a diagnosis
)";

Case prepare(const std::string& name) {
  torch::manual_seed(0);
  const auto kind = words_of(name).front();
  auto prepared = kind == "step"       ? optimizer_case(name)
                  : kind == "train"    ? training_case(name)
                  : kind == "triad"    ? triad_case(name)
                  : kind == "guard"    ? guard_case(name)
                  : kind == "timer"    ? timer_case(name)
                  : kind == "diagnose" ? diagnosis_case(name)
                                       : (no_such_case(name), Case());
  for (int i = 0; i < 3; ++i) prepared.step();
  return prepared;
}

/// What a function dispatched.
struct Counts {
  std::map<std::string, std::int64_t> operators;  // by name, nested ones too
  std::int64_t host_reads = 0;  // item() and what else makes the host wait for a value
};

std::int64_t sum(const Counts& counts) {
  std::int64_t all = 0;
  for (const auto& [name, count] : counts.operators) all += count;
  return all;
}

/// Counts the operators that `function` dispatches, on every thread.
template <class Function>
Counts count_operators(const Function& function) {
  // LibTorch's fused operators for the CPU read their own counts of steps, which waits for nothing.
  static thread_local int in_fused = 0;
  static std::mutex mutex;
  static Counts counts;
  counts = {};
  static constexpr auto fused = [](const at::RecordFunction& call) {
    return std::string_view(call.name()).rfind("aten::_fused_", 0) == 0;
  };
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
            const std::lock_guard<std::mutex> lock(mutex);
            ++counts.operators[call.name()];
            if (fused(call)) ++in_fused;
            if (in_fused == 0 && std::string_view(call.name()) == "aten::_local_scalar_dense")
              ++counts.host_reads;
            return nullptr;
          },
          [](const at::RecordFunction& call, at::ObserverContext* /*context*/) {
            if (fused(call)) --in_fused;
          })
          .scopes({at::RecordScope::FUNCTION}));
  function();
  at::removeCallback(handle);
  return counts;
}

/// The case that is prepared now. Google Benchmark calls a function several times, to see how long
/// it takes and to repeat it; what it measures is prepared once, and gone when the next case
/// begins.
class Stage {
 public:
  const Case& play(const std::string& name) {
    if (name != name_) {
      case_ = Case();
      case_ = prepare(name);
      counts_ = count_operators(case_.iteration ? case_.iteration : case_.step);
      name_ = name;
    }
    return case_;
  }
  const Counts& counts() const { return counts_; }

 private:
  std::string name_;
  Case case_;
  Counts counts_;
};

/// Makes `name` the next benchmark of RunSpecifiedBenchmarks().
benchmark::internal::Benchmark* enlist(const std::string& name, Stage& stage) {
  return benchmark::RegisterBenchmark(
             name.c_str(),
             [name, &stage](benchmark::State& state) {
               const auto& prepared = stage.play(name);
               for (auto _ : state) prepared.step();
               state.counters["steps"] = prepared.steps;
               state.counters["operators"] = static_cast<double>(sum(stage.counts()));
               state.counters["host_reads"] = static_cast<double>(stage.counts().host_reads);
             })
      ->UseRealTime();
}

/// Answers each line with a JSON document and a line "end".
void serve() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    double seconds = 0;
    int repetitions = 1;
    words >> name >> seconds >> repetitions;
    std::ostringstream text;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&text);
    reporter.SetErrorStream(&std::cerr);
    Stage stage;
    benchmark::ClearRegisteredBenchmarks();
    enlist(name, stage)->MinTime(seconds)->Repetitions(repetitions);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    std::cout << text.str() << "\nend" << std::endl;
  }
}

void list_operators(const std::string& name) {
  const auto prepared = prepare(name);
  const auto counts = count_operators(prepared.iteration ? prepared.iteration : prepared.step);
  std::cout << name << ": " << sum(counts) << '\n';
  for (const auto& [op, count] : counts.operators)
    std::cout << std::setw(8) << count << "  " << op << '\n';
}

void describe_environment() {
  const auto config = at::show_config();  // "..., COMMIT_SHA=d0f2af8..., CUDA_FLAGS=..."
  const std::string key = "COMMIT_SHA=";
  const auto begin = config.find(key);
  if (begin != std::string::npos) {
    const auto end = config.find_first_of(", \n", begin);
    benchmark::AddCustomContext("libtorch_commit",
                                config.substr(begin + key.size(), end - begin - key.size()));
  }
  benchmark::AddCustomContext("libtorch", TORCH_VERSION);
  benchmark::AddCustomContext("threads", std::to_string(at::get_num_threads()));
  benchmark::AddCustomContext("cpu_capability", at::get_cpu_capability());
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::string> names;
  bool serving = false;
  bool listing = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0) {
      at::set_num_threads(std::stoi(std::string(argument.substr(10))));
    } else if (argument == "--serve") {
      serving = true;
    } else if (argument == "--operators") {
      listing = true;
    } else if (argument.rfind("-", 0) == 0) {
      std::cerr << help;
      return argument == "--help" ? 0 : 2;
    } else {
      names.emplace_back(argument);
    }
  }
  describe_environment();
  if (serving) {
    serve();
    return 0;
  }
  if (names.empty()) {
    std::cerr << help;
    return 2;
  }
  if (listing) {
    for (const auto& name : names) list_operators(name);
    return 0;
  }
  benchmark::ConsoleReporter reporter;
  Stage stage;
  for (const auto& name : names) enlist(name, stage);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return 0;
}

}  // namespace benchmarks

int main(int argc, char** argv) {
  try {
    return benchmarks::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "torchamp_benchmarks: " << error.what() << '\n';
    return 1;
  }
}
