// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/bench/verdict.h>

#include "bench/results.h"
#include "support/doctest.h"

#include <limits>
#include <string>
#include <vector>

using torchamp::sum_up;

namespace {

const std::vector<double> noise{0.7, 1.3, 0.8, 1.2, 0.9, 1.1, 1};

std::string first_sentence(const torchamp::CompareResult& result) {
  return sum_up(result).verdict.at(0);
}

/// The same with other times of AMP, round by round.
torchamp::CompareResult result_with(const std::vector<double>& amp_seconds) {
  auto result = result_of(1.0);
  result.variants[1].seconds = amp_seconds;
  result.pairs[0].time = torchamp::paired_ratio(amp_seconds, result.variants[0].seconds);
  return result;
}

}  // namespace

TEST_CASE("The verdict says slower or faster, by how much, and how sure that is") {
  CHECK(first_sentence(result_of(2.0)) ==
        "AMP bf16 was slower than FP32 here: a step took 2.00x the time (98.4 % interval 2.00x to"
        " 2.00x, 7 rounds).");
  CHECK(first_sentence(result_of(0.5)) ==
        "AMP bf16 was faster than FP32 here: 2.00x the speed (98.4 % interval 2.00x to 2.00x,"
        " 7 rounds).");
}

TEST_CASE("The interval of a speed has its smaller end first") {
  CHECK(first_sentence(result_with({0.4, 0.4, 0.4, 0.5, 0.5, 0.5, 0.5})) ==
        "AMP bf16 was faster than FP32 here: 2.00x the speed (98.4 % interval 2.00x to 2.50x,"
        " 7 rounds). Not stable, see the warnings.");
}

TEST_CASE("One round tells nothing about the speed") {
  auto result = result_of(0.5);
  result.pairs[0].time = torchamp::paired_ratio({0.5}, {1});

  const auto sums = sum_up(result);

  CHECK(sums.verdict[0] ==
        "Whether AMP bf16 is faster or slower than FP32 cannot be told from one round, in which a"
        " step took 0.50x the time.");
  REQUIRE(sums.warnings.size() == 1);
  CHECK(sums.warnings[0].find("of 1 round there is no interval") != std::string::npos);
}

TEST_CASE("A ratio that is unstable is said with a doubt, whatever it is") {
  for (const double seconds : {0.5, 1.0, 2.0}) {
    auto result = result_of(seconds);
    const std::string doubt = " Not stable, see the warnings.";
    CHECK(first_sentence(result).find(doubt) == std::string::npos);

    result.pairs[0].time.drifted = true;

    const std::string doubtful = first_sentence(result);
    CHECK(doubtful.substr(doubtful.size() - doubt.size() - 2) == ")." + doubt);
  }
}

TEST_CASE("A difference of at most 2 % is none") {
  CHECK(first_sentence(result_of(1.015)).find("AMP bf16 was about as fast as FP32 here") == 0);
  CHECK(first_sentence(result_of(0.985)).find("AMP bf16 was about as fast as FP32 here") == 0);
  CHECK(first_sentence(result_of(1.025)).find("AMP bf16 was slower than FP32 here") == 0);
  CHECK(first_sentence(result_of(0.975)).find("AMP bf16 was faster than FP32 here") == 0);
}

TEST_CASE("An interval with 1 in it tells no difference, and warns that it is unstable") {
  const auto sums = sum_up(result_with(noise));

  CHECK(sums.verdict[0] ==
        "Whether AMP bf16 is faster or slower than FP32 could not be told: a step took 1.00x the"
        " time, and 1 is in the 98.4 % interval 0.70x to 1.30x, 7 rounds.");
  REQUIRE(sums.warnings.size() == 1);
  CHECK(sums.warnings[0] ==
        "The ratio of AMP bf16 to FP32 is unstable: its interval, 0.70x to 1.30x, reaches further"
        " than 5.0 % from it. Close what else runs, or measure more rounds.");
}

TEST_CASE("Too few rounds and a drift are warned of; a stable ratio is not") {
  auto result = result_of(2.0);
  CHECK(sum_up(result).warnings.empty());

  result.pairs[0].time.too_few = true;
  result.pairs[0].time.drifted = true;
  const auto warnings = sum_up(result).warnings;
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].find("of 7 rounds there is no interval as sure as was asked for") !=
        std::string::npos);
  CHECK(warnings[1].find("in the second half of the rounds") != std::string::npos);
}

TEST_CASE("The verdict says what memory a step takes, and nothing where it is not known") {
  auto result = result_of(2.0);
  result.variants[1].memory.peak_bytes = 750;
  CHECK(sum_up(result).verdict[1] ==
        "The tensors that a step of AMP bf16 makes took 0.75x the memory of FP32 at the peak: 750 B"
        " against 1.00 kB.");

  result.variants[1].memory.peak_bytes = 1;
  CHECK(sum_up(result).verdict[1].find(" took 0.001x the memory ") != std::string::npos);

  result.variants[1].memory.peak_bytes.reset();
  CHECK(sum_up(result).verdict.size() == 2);  // speed and losses
}

TEST_CASE("The verdict says how far the losses went apart") {
  auto result = result_of(2.0);
  CHECK(sum_up(result).verdict[2] == "The losses of AMP bf16 and FP32 were the same.");

  result.variants[1].losses = {2, 1.25, 0.5};
  CHECK(
      sum_up(result).verdict[2] ==
      "The losses of AMP bf16 and FP32 differed by 0.25 at most, at step 1, where that of FP32 was"
      " 1.");
}

TEST_CASE(
    "A training that diverged is named, the baseline too, and its losses are compared to none") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto sentences = [](const std::vector<double>& fp32, const std::vector<double>& amp) {
    auto result = result_of(2.0);
    result.variants[0].losses = fp32;
    result.variants[1].losses = amp;
    const auto verdict = sum_up(result).verdict;
    return std::vector<std::string>(verdict.begin() + 2, verdict.end());
  };
  const std::string of_fp32 = "The loss of FP32 was not finite first at step 1.";
  const std::string of_amp = "The loss of AMP bf16 was not finite first at step 2.";

  CHECK(sentences({1, nan, nan}, {1, 0.9, 0.8}) == std::vector<std::string>{of_fp32});
  CHECK(sentences({1, 0.9, 0.8}, {1, 0.9, infinity}) == std::vector<std::string>{of_amp});
  CHECK(sentences({1, nan, 1}, {1, 0.9, -infinity}) == std::vector<std::string>{of_fp32, of_amp});
}

TEST_CASE("The verdict counts skipped steps and says where the scale ended") {
  auto result = result_of(2.0);
  result.variants[1].scales = {65536, 32768, 16384};
  CHECK(sum_up(result).verdict.size() == 3);

  result.variants[1].skipped = {1, 2};
  CHECK(sum_up(result).verdict[3] ==
        "AMP bf16 skipped 2 of 3 steps because a gradient overflowed, the last at step 2; the scale"
        " ended at 16,384.");
}

TEST_CASE("A comparison with TF32 says the speed of AMP against both baselines") {
  auto result = result_of(0.5);
  result.variants.insert(result.variants.begin() + 1, record_of("TF32", 0.25, false));
  const auto& seconds = [&](std::size_t i) -> const std::vector<double>& {
    return result.variants[i].seconds;
  };
  result.pairs = {{1, 0, torchamp::paired_ratio(seconds(1), seconds(0))},
                  {2, 0, torchamp::paired_ratio(seconds(2), seconds(0))},
                  {2, 1, torchamp::paired_ratio(seconds(2), seconds(1))}};

  const auto verdict = sum_up(result).verdict;

  REQUIRE(verdict.size() == 7);
  CHECK(verdict[0].find("TF32 was faster than FP32 here: 4.00x") == 0);
  CHECK(verdict[3].find("AMP bf16 was faster than FP32 here: 2.00x") == 0);
  CHECK(verdict[6].find("AMP bf16 was slower than TF32 here") == 0);
}

TEST_CASE("Reasons, advice and warnings each have their place") {
  auto result = result_of(1.0);
  result.has_tf32 = true;
  result.variants[1].profile.cast_seconds = 1;
  result.variants[1].profile.casts = 1;

  const auto sums = sum_up(result);

  REQUIRE(sums.reasons.size() == 2);
  CHECK(sums.reasons[0] == "AMP pays here.");
  CHECK(sums.reasons[1].find("Casts are") == 0);
  CHECK(sums.warnings.size() == 1);
  CHECK(sums.advice.size() == 2);
}
