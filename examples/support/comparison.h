// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/torchamp.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "support/training_run.h"

namespace examples {

inline double step_median(const TrainingRun& run) { return torchamp::median(run.seconds); }
inline double step_p95(const TrainingRun& run) { return torchamp::percentile(run.seconds, 95); }

/// FP32 beside AMP, as a person reads it.
inline torchamp::Table comparison_table(const TrainingRun& fp32, const TrainingRun& amp) {
  using torchamp::format_bytes;
  using torchamp::format_fixed;
  using torchamp::format_ratio;
  using torchamp::format_seconds;
  const auto per_second = [](double images) {
    return torchamp::format_count(static_cast<std::int64_t>(images + 0.5));
  };
  const auto percent = [](double fraction) { return format_fixed(100 * fraction, 1) + " %"; };
  const auto ratio = [](double of_amp, double of_fp32) { return format_ratio(of_amp / of_fp32); };
  const auto scale = [](const TrainingRun& run) {
    return run.dtype == torch::kHalf ? format_fixed(run.final_scale, 0) : std::string("none");
  };
  const auto points = 100 * (amp.test_accuracy - fp32.test_accuracy);

  torchamp::Table table({"", fp32.name, amp.name, "AMP / FP32"});
  table.add_row({"step, median", format_seconds(step_median(fp32)),
                 format_seconds(step_median(amp)), ratio(step_median(amp), step_median(fp32))});
  table.add_row({"step, 95th percentile", format_seconds(step_p95(fp32)),
                 format_seconds(step_p95(amp)), ratio(step_p95(amp), step_p95(fp32))});
  table.add_row({"images per second", per_second(fp32.images_per_second),
                 per_second(amp.images_per_second),
                 ratio(amp.images_per_second, fp32.images_per_second)});
  table.add_row({"peak memory of a step", format_bytes(fp32.peak_bytes),
                 format_bytes(amp.peak_bytes),
                 ratio(static_cast<double>(amp.peak_bytes), static_cast<double>(fp32.peak_bytes))});
  table.add_row(
      {"final loss", format_fixed(fp32.losses.back(), 4), format_fixed(amp.losses.back(), 4), ""});
  table.add_row({"test accuracy", percent(fp32.test_accuracy), percent(amp.test_accuracy),
                 (points < 0 ? "" : "+") + format_fixed(points, 1) + " points"});
  table.add_row({"final loss scale", scale(fp32), scale(amp), ""});
  table.add_row(
      {"skipped steps", std::to_string(fp32.skipped_steps), std::to_string(amp.skipped_steps), ""});
  return table;
}

/// `text` with line breaks in place of the blanks before which a line would become too long.
inline std::string wrap(const std::string& text, std::size_t width = 88) {
  std::string wrapped;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool first = wrapped.empty();
    const bool fits = column + 1 + word.size() <= width;
    wrapped += first ? "" : fits ? " " : "\n";
    column = first || !fits ? word.size() : column + 1 + word.size();
    wrapped += word;
  }
  return wrapped + "\n";
}

/// What the table means, in sentences, and what torchamp knows of the device.
inline std::string verdict(const TrainingRun& fp32, const TrainingRun& amp,
                           const torchamp::Advice& advice) {
  const double slower = step_median(amp) / step_median(fp32);
  const double memory = static_cast<double>(amp.peak_bytes) / static_cast<double>(fp32.peak_bytes);
  std::string text;
  if (slower > 1.05) {
    text =
        "AMP was slower here: a step took " + torchamp::format_ratio(slower) + " the time of FP32";
  } else if (slower < 0.95) {
    text = "AMP was faster here: " + torchamp::format_ratio(1 / slower) + " the speed of FP32";
  } else {
    text = "AMP was about as fast as FP32 here";
  }
  text += ", with " + torchamp::format_ratio(memory) + " the memory.";
  std::string reason = advice.text;
  if (slower > 1.05 && advice.pays) {
    reason +=
        " That AMP was slower all the same is likely the small model: casts cost more time than"
        " they save. Try a larger --batch-size.";
  }
  return wrap(text) + wrap(reason);
}

/// The members of a run that the JSON file has.
inline torchamp::Json to_json(const TrainingRun& run) {
  return torchamp::Json::object()
      .set("name", run.name)
      .set("dtype", short_name(run.dtype))
      .set("step_seconds_median", step_median(run))
      .set("step_seconds_p95", step_p95(run))
      .set("images_per_second", run.images_per_second)
      .set("peak_bytes", run.peak_bytes)
      .set("losses", run.losses)
      .set("final_loss", run.losses.back())
      .set("test_accuracy", run.test_accuracy)
      .set("final_scale", run.final_scale)
      .set("skipped_steps", run.skipped_steps);
}

}  // namespace examples
