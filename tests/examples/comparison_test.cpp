// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/comparison.h"

#include "support/doctest.h"

#include <nlohmann/json.hpp>

#include <set>
#include <sstream>
#include <string>

using examples::FashionMnist;
using examples::TrainingRun;

namespace {

TrainingRun measured(const char* name, torch::ScalarType dtype, double seconds,
                     std::int64_t peak_bytes) {
  return {name, dtype, {seconds}, 64 / seconds, peak_bytes, {2, 0.5}, 0.75, 1, 0};
}

const TrainingRun fp32 = measured("FP32", torch::kFloat, 0.1, 20000000);
const torchamp::Advice pays{true, torch::kBFloat16, false, "It pays."};
const torchamp::Advice does_not_pay{false, torch::kBFloat16, false, "It does not pay."};

/// 5 images in batches of 2, the fifth left out, twice: 4 steps.
TrainingRun tiny_run(torch::ScalarType dtype) {
  examples::Arguments arguments;
  arguments.epochs = 2;
  arguments.batch_size = 2;
  return examples::Trainer(arguments, dtype)
      .run(FashionMnist::synthetic(5, /*seed=*/1), FashionMnist::synthetic(4, /*seed=*/2));
}

}  // namespace

TEST_CASE("The table has FP32, AMP and their ratio side by side") {
  auto amp = measured("AMP fp16", torch::kHalf, 0.05, 15000000);
  amp.test_accuracy = 0.74;
  amp.final_scale = 65536;
  amp.skipped_steps = 2;
  std::ostringstream out;

  out << examples::comparison_table(fp32, amp);

  CHECK(out.str() ==
        "                          FP32  AMP fp16   AMP / FP32\n"
        "---------------------  -------  --------  -----------\n"
        "step, median            100 ms   50.0 ms        0.50x\n"
        "step, 95th percentile   100 ms   50.0 ms        0.50x\n"
        "images per second          640     1,280        2.00x\n"
        "peak memory of a step  20.0 MB   15.0 MB        0.75x\n"
        "final loss              0.5000    0.5000\n"
        "test accuracy           75.0 %    74.0 %  -1.0 points\n"
        "final loss scale          none     65536\n"
        "skipped steps                0         2\n");
}

TEST_CASE("The verdict says when AMP was slower and why, faster, or neither") {
  const auto slow = measured("AMP bf16", torch::kBFloat16, 0.5, 10000000);
  const auto fast = measured("AMP bf16", torch::kBFloat16, 0.05, 10000000);
  const auto equal = measured("AMP bf16", torch::kBFloat16, 0.101, 10000000);

  CHECK(examples::verdict(fp32, slow, does_not_pay) ==
        "AMP was slower here: a step took 5.00x the time of FP32, with 0.50x the memory.\n"
        "It does not pay.\n");
  CHECK(examples::verdict(fp32, slow, pays).find("small model") != std::string::npos);
  CHECK(examples::verdict(fp32, fast, pays) ==
        "AMP was faster here: 2.00x the speed of FP32, with 0.50x the memory.\nIt pays.\n");
  CHECK(examples::verdict(fp32, equal, pays).find("about as fast") != std::string::npos);
}

TEST_CASE("Long sentences are broken between words, and no line is longer than asked for") {
  CHECK(examples::wrap("one two three", 7) == "one two\nthree\n");
  CHECK(examples::wrap("one two three", 8) == "one two\nthree\n");
  CHECK(examples::wrap("one two three", 13) == "one two three\n");
}

TEST_CASE("A run's JSON has every promised member and no other") {
  const auto json = nlohmann::json::parse(examples::to_json(fp32).str());

  std::set<std::string> members;
  for (const auto& item : json.items()) members.insert(item.key());
  CHECK(members == std::set<std::string>{"name", "dtype", "step_seconds_median", "step_seconds_p95",
                                         "images_per_second", "peak_bytes", "losses", "final_loss",
                                         "test_accuracy", "final_scale", "skipped_steps"});
  CHECK(json["dtype"] == "fp32");
  CHECK(json["step_seconds_median"] == 0.1);
  CHECK(json["losses"] == nlohmann::json({2.0, 0.5}));
  CHECK(json["final_loss"] == 0.5);
}

TEST_CASE("A training run keeps every loss and leaves the warm-up out of the times") {
  const auto run = tiny_run(torch::kFloat);

  CHECK(run.name == "FP32");
  CHECK(run.losses.size() == 4);
  CHECK(run.seconds.size() == 1);
  CHECK(run.images_per_second > 0);
  CHECK(run.peak_bytes > 4 * 2 * 32 * 32 * 32);  // at least the first feature map of two images
  CHECK(run.final_scale == 1);
}

TEST_CASE("FP32 and AMP train from the same weights on the same order of images") {
  const auto full = tiny_run(torch::kFloat);
  const auto again = tiny_run(torch::kFloat);
  const auto half = tiny_run(torch::kBFloat16);

  CHECK(full.losses == again.losses);
  CHECK(full.losses != half.losses);  // it did run in bfloat16
  CHECK(half.losses[0] == doctest::Approx(full.losses[0]).epsilon(0.01));
  CHECK(half.name == "AMP bf16");
}
