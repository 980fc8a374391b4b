// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_result.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// A variant that took so long in each of seven rounds, and 3 operators of 1 second.
inline torchamp::StepRecord record_of(std::string name, double seconds, bool half) {
  torchamp::StepRecord record;
  record.name = std::move(name);
  record.seconds = std::vector<double>(7, seconds);
  record.losses = {2, 1, 0.5};
  record.memory.peak_bytes = 1000;
  record.profile.operators = 3;
  record.profile.half_operators = half ? 1 : 0;
  record.profile.seconds = 3;
  return record;
}

/// FP32, which takes 1 s, and an AMP that takes so long, on a device that AMP pays on.
inline torchamp::CompareResult result_of(double amp_seconds) {
  torchamp::CompareResult result;
  result.advice = {true, at::kBFloat16, false, "AMP pays here."};
  result.variants = {record_of("FP32", 1, false), record_of("AMP bf16", amp_seconds, true)};
  result.pairs = {
      {1, 0, torchamp::paired_ratio(result.variants[1].seconds, result.variants[0].seconds)}};
  return result;
}
