// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/reasons.h>

#include "bench/results.h"
#include "support/doctest.h"

#include <string>
#include <vector>

using torchamp::detail::find_reasons;
using torchamp::detail::StepReason;

namespace {

/// The reason that has this text in it, or an empty one.
StepReason reason_with(const torchamp::CompareResult& result, const std::string& text) {
  for (const StepReason& reason : find_reasons(result)) {
    if (reason.why.find(text) != std::string::npos) return reason;
  }
  return {};
}

}  // namespace

TEST_CASE("What torchamp knows of the device comes first, and alone if nothing else is the cause") {
  const auto reasons = find_reasons(result_of(2));

  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].why == "AMP pays here.");
  CHECK_FALSE(reasons[0].is_warning);
}

TEST_CASE("Float16 on a CPU is named, since what is said of the device is about bfloat16") {
  auto result = result_of(1);
  CHECK(reason_with(result, "float16;").why.empty());

  result.variants[1].profile.float16 = true;
  CHECK(reason_with(result, "float16;").why ==
        "AMP bf16 ran in float16; what is said of this CPU is about bfloat16.");
  CHECK(reason_with(result, "float16;").cure == "Take bfloat16 on a CPU.");

  result.device = torch::kCUDA;
  CHECK(reason_with(result, "float16;").why.empty());
}

TEST_CASE("A comparison in which nothing ran in half precision warns") {
  auto result = result_of(1);
  result.variants[1].profile.half_operators = 0;

  const auto reasons = find_reasons(result);

  REQUIRE(reasons.size() == 1);
  CHECK(reasons[0].is_warning);
  CHECK(reasons[0].why.find("No variant ran an operator in half precision") == 0);
}

TEST_CASE("A GPU with TF32 warns unless TF32 is a variant, whatever its name") {
  auto result = result_of(1);
  CHECK(reason_with(result, "TF32").why.empty());

  result.has_tf32 = true;
  CHECK(reason_with(result, "TF32").is_warning);

  result.variants[0].math = torchamp::Float32Math::Tf32;
  CHECK(reason_with(result, "TF32").why.empty());
}

TEST_CASE("A step of many short operators is bound by them: the bound differs by device") {
  auto result = result_of(1);
  result.variants[1].profile.operators = 100000;  // 10 microseconds each
  CHECK(
      reason_with(result, "bound by its operators").why ==
      "A step of AMP bf16 is bound by its operators: 100,000 of them, 10.0 µs each, which is about"
      " what the host needs to start one; how fast the arithmetic is hardly matters.");

  result.variants[1].profile.operators = 50000;  // 20 microseconds each
  CHECK(reason_with(result, "bound by its operators").why.empty());
  result.device = torch::kCUDA;
  CHECK(
      reason_with(result, "bound by its operators").why.find("so the device waits for the host") !=
      std::string::npos);
  CHECK(reason_with(result, "bound by its operators").cure.find("FlatParameters") !=
        std::string::npos);
}

TEST_CASE("Casts are a cause from 15 % of the time in operators on") {
  auto result = result_of(1);
  auto& profile = result.variants[1].profile;
  profile.casts = 2;
  profile.cast_seconds = 0.44;
  CHECK(reason_with(result, "Casts are").why.empty());

  profile.cast_seconds = 0.45;
  CHECK(reason_with(result, "Casts are").why ==
        "Casts are 15.0 % of the time in operators of a step of AMP bf16: 2 of them.");
}

TEST_CASE("On a GPU, where the host's time in a cast says nothing, the number of casts counts") {
  auto result = result_of(1);
  result.device = torch::kCUDA;
  auto& profile = result.variants[1].profile;
  profile.cast_seconds = 3;
  CHECK(reason_with(result, "Casts are").why.empty());

  profile.casts = 1;  // of 3 operators
  CHECK(reason_with(result, "Casts are").why ==
        "Casts are 33.3 % of the operators of a step of AMP bf16: 1 of them.");
}

TEST_CASE("Sizes that are no multiples of 8 are a cause on tensor cores alone; two are listed") {
  auto result = result_of(1);
  result.variants[1].profile.odd_sizes = {"aten::mm 8 x 8 by 8 x 10", "b", "c", "d"};
  CHECK(reason_with(result, "multiples of 8").why.empty());

  result.device = torch::kCUDA;
  CHECK(reason_with(result, "multiples of 8").why ==
        "Sizes of AMP bf16 that are no multiples of 8, which tensor cores work best with:"
        " aten::mm 8 x 8 by 8 x 10; b; and 2 more.");
}

TEST_CASE("Casts and sizes are no causes for a variant without half precision") {
  auto result = result_of(1);
  result.device = torch::kCUDA;
  result.variants[0].profile.casts = 3;
  result.variants[0].profile.odd_sizes = {"a"};

  CHECK(find_reasons(result).size() == 1);
}
