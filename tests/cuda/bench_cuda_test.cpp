// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/compare.h>
#include <torchamp/bench/random_state.h>
#include <torchamp/bench/tf32.h>

#include "support/doctest.h"

#include <string>
#include <vector>

using torchamp::CompareOptions;
using torchamp::RandomState;
using torchamp::StepContext;

// Everything here needs a CUDA device; ctest skips the suite, with the reason, where there is none.
TEST_SUITE_BEGIN("cuda");

namespace {

const torch::Device cuda(torch::kCUDA, 0);

/// A random number of the CPU and one of the GPU.
std::vector<double> draw() {
  return {torch::rand({1}).item<double>(), torch::rand({1}, cuda).item<double>()};
}

}  // namespace

TEST_CASE(
    "On CUDA the numbers of the GPU and of the CPU go on from a state, and begin with a seed") {
  torch::manual_seed(3);
  const auto of_seed = draw();
  const RandomState after(cuda);
  const auto expected = draw();
  draw();

  after.restore();
  CHECK(draw() == expected);

  RandomState::seed(cuda, 3);
  CHECK(draw() == of_seed);
}

TEST_CASE(
    "A comparison on the CPU leaves the numbers of a GPU alone, one on the GPU brings them back") {
  for (const torch::Device device : {torch::Device(torch::kCPU), cuda}) {
    CAPTURE(device.str());
    torch::manual_seed(5);
    const auto expected = draw();
    torch::manual_seed(5);
    torchamp::Compare compare(device, CompareOptions().warmup(0).rounds(1));
    for (const char* name : {"FP32", "AMP"}) {
      compare.add(name, [device] {
        return [device](StepContext&) { return torch::rand({64}, device).mean(); };
      });
    }

    const auto result = compare.measure();

    CHECK(draw() == expected);
    CHECK(result.variants[0].losses == result.variants[1].losses);
  }
}

TEST_CASE("On a GPU that has TF32 it is a second baseline, and strict is strict") {
  std::vector<bool> allowed;  // in each step
  const auto factory = [&] {
    return [&](StepContext&) {
      allowed.push_back(at::globalContext().allowTF32CuBLAS());
      return torch::ones({8, 8}, cuda).mm(torch::ones({8, 8}, cuda)).mean();
    };
  };
  torchamp::Compare compare(cuda, CompareOptions().warmup(0).rounds(1));
  compare.add_float32(factory).add("AMP", factory, torchamp::Float32Math::Strict);

  const auto result = compare.measure();

  std::vector<std::string> names;
  for (const auto& variant : result.variants) names.push_back(variant.name);
  if (torchamp::has_tf32(cuda)) {
    CHECK(names == std::vector<std::string>{"FP32", "TF32", "AMP"});
    REQUIRE(result.pairs.size() == 3);
    CHECK(result.pairs[2].baseline == 1);
    // One begins the first round, the next one the second.
    CHECK(std::vector<bool>(allowed.begin(), allowed.begin() + 6) ==
          std::vector<bool>{false, true, false, true, false, false});
  } else {
    CHECK(names == std::vector<std::string>{"FP32", "AMP"});
    CHECK(allowed == std::vector<bool>(allowed.size(), false));
  }
}

TEST_SUITE_END();
