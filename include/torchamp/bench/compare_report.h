// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/compare_result.h>
#include <torchamp/bench/verdict.h>
#include <torchamp/report/metric.h>
#include <torchamp/report/report.h>
#include <torchamp/report/series.h>
#include <torchamp/report/statistics.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// What was measured as a report: numbers, curves, intervals and sentences, for the writers in
/// report/ (`report_text.h`, `report_html.h`, `report_json.h`). Title, environment and what only
/// the program knows, as the accuracy, are the program's to add.
Report to_report(const CompareResult& result);

/// A name as an id: "AMP bf16" is "amp_bf16", "forward/head" is "forward_head".
inline std::string report_id(const std::string& name) {
  std::string id;
  bool gap = false;
  for (const char sign : name) {
    const bool upper = sign >= 'A' && sign <= 'Z';
    const bool kept = upper || (sign >= 'a' && sign <= 'z') || (sign >= '0' && sign <= '9');
    if (kept) {
      if (gap && !id.empty()) id += '_';
      id += upper ? static_cast<char>(sign - 'A' + 'a') : sign;
    }
    gap = !kept;
  }
  return id;
}

namespace detail {

/// An id that none of `taken` has, and adds it to them: `id`, "id_2", "id_3", …
inline std::string free_id(const std::string& id, std::set<std::string>& taken) {
  std::string free = id;
  for (int number = 2; !taken.insert(free).second; ++number)
    free = id + "_" + std::to_string(number);
  return free;
}

/// The id of each name of a phase, the same in all variants: names that differ in signs or capital
/// letters alone, and those in other letters than a to z, get ids that differ too.
inline std::map<std::string, std::string> phase_ids(const CompareResult& result) {
  std::map<std::string, std::string> ids;
  std::set<std::string> taken;
  for (const StepRecord& variant : result.variants) {
    for (const auto& phase : variant.phases) {
      if (ids.count(phase.name) > 0) continue;
      const std::string id = report_id(phase.name);
      ids[phase.name] = free_id(id.empty() ? "phase" : id, taken);
    }
  }
  return ids;
}

inline std::optional<double> as_number(const std::optional<int64_t>& value) {
  return value ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

/// Of the losses of a variant and of the first one, which is the baseline.
inline Metric loss_difference(const CompareResult& result, const StepRecord& variant) {
  const StepRecord& baseline = result.variants.front();
  Metric metric{"loss_difference", "largest difference of the loss"};
  const bool diverged = first_not_finite(variant.losses) || first_not_finite(baseline.losses);
  metric.absent = &variant == &baseline ? "baseline" : "not finite";
  if (&variant != &baseline && !diverged) {
    metric.value = largest_difference(variant.losses, baseline.losses).difference;
  }
  return metric;
}

/// The scale and what was skipped, if any variant has a scaler.
inline void add_scaling(const CompareResult& result, const StepRecord& variant,
                        std::vector<Metric>& to) {
  const auto has_scaler = [](const StepRecord& record) { return !record.scales.empty(); };
  if (!std::any_of(result.variants.begin(), result.variants.end(), has_scaler)) return;
  Metric scale{"final_scale", "final loss scale"};
  Metric skipped{"skipped_steps", "skipped steps", Unit::Count};
  scale.absent = skipped.absent = "no scaling";
  if (has_scaler(variant)) {
    scale.value = variant.scales.back();
    skipped.value = static_cast<double>(variant.skipped.size());
  }
  to.push_back(scale);
  to.push_back(skipped);
}

inline std::vector<Metric> metrics_of(const CompareResult& result, const StepRecord& variant) {
  const auto number = [](auto count) { return static_cast<double>(count); };
  std::vector<Metric> metrics{
      {"step_seconds", "step, median", Unit::Seconds, median(variant.seconds)},
      {"step_seconds_p95", "step, 95th percentile", Unit::Seconds,
       percentile(variant.seconds, 95)}};
  if (result.items_per_step > 0) {
    metrics.push_back({"items_per_second", result.item_name + " per second", Unit::PerSecond,
                       number(result.items_per_step) / median(variant.seconds)});
  }
  metrics.push_back(
      {"peak_bytes", "peak memory of a step", Unit::Bytes, as_number(variant.memory.peak_bytes)});
  if (variant.memory.peak_allocated_bytes) {
    metrics.push_back({"peak_allocated_bytes", "allocated at most, all variants", Unit::Bytes,
                       as_number(variant.memory.peak_allocated_bytes)});
    metrics.push_back({"peak_reserved_bytes", "reserved at most, all variants", Unit::Bytes,
                       as_number(variant.memory.peak_reserved_bytes)});
  }
  metrics.push_back({"final_loss", "final loss", Unit::Plain, variant.losses.back()});
  metrics.push_back(loss_difference(result, variant));
  add_scaling(result, variant, metrics);
  metrics.push_back(
      {"operators", "operators a step", Unit::Count, number(variant.profile.operators)});
  metrics.push_back({"casts", "casts a step", Unit::Count, number(variant.profile.casts)});
  if (result.device.is_cpu()) {
    metrics.push_back(
        {"cast_share", "time in casts", Unit::Fraction, variant.profile.cast_share()});
  }
  return metrics;
}

inline std::vector<Series> series_of(const CompareResult& result, const StepRecord& variant) {
  Series loss{"loss", "loss"};
  Series scale{"scale", "loss scale"};
  Series seconds{"step_seconds", "time of a step", Unit::Seconds};
  scale.y_scale = AxisScale::Log2;
  scale.marked_as = "skipped step";
  for (std::size_t i = 0; i < variant.losses.size(); ++i) {
    loss.push_back(static_cast<double>(i), variant.losses[i]);
  }
  std::size_t skip = 0;
  for (std::size_t i = 0; i < variant.scales.size(); ++i) {
    scale.push_back(static_cast<double>(i), variant.scales[i]);
    if (skip < variant.skipped.size() && variant.skipped[skip] == static_cast<int64_t>(i)) {
      scale.mark_last();
      ++skip;
    }
  }
  for (std::size_t i = 0; i < variant.seconds.size(); ++i) {
    seconds.push_back(static_cast<double>(result.untimed_steps) + static_cast<double>(i),
                      variant.seconds[i]);
  }
  std::vector<Series> series{loss, seconds};
  if (scale.size() > 0) series.push_back(scale);
  return series;
}

inline Variant variant_of(const CompareResult& result, const StepRecord& record,
                          const std::map<std::string, std::string>& phase_ids) {
  Variant variant;
  variant.id = report_id(record.name);
  variant.label = record.name;
  variant.metrics = metrics_of(result, record);
  for (const auto& phase : record.phases) {
    variant.phases.push_back(
        {phase_ids.at(phase.name), phase.name, Unit::Seconds, median(phase.seconds)});
  }
  variant.series = series_of(result, record);
  return variant;
}

}  // namespace detail

inline Report to_report(const CompareResult& result) {
  Report report;
  Verdict sums = sum_up(result);
  report.verdict = std::move(sums.verdict);
  report.reasons = std::move(sums.reasons);
  report.advice = std::move(sums.advice);
  report.warnings = std::move(sums.warnings);
  const auto phase_ids = detail::phase_ids(result);
  for (const auto& record : result.variants) {
    report.variants.push_back(detail::variant_of(result, record, phase_ids));
  }
  for (const StepPair& pair : result.pairs) {
    Comparison comparison;
    comparison.id = "step_seconds";
    comparison.label = "time per step";
    comparison.variant = report.variants[pair.variant].id;
    comparison.baseline = report.variants[pair.baseline].id;
    comparison.ratio = pair.time.ratio;
    comparison.low = pair.time.low;
    comparison.high = pair.time.high;
    comparison.confidence = pair.time.confidence;
    comparison.rounds = pair.time.rounds;
    comparison.stable = pair.time.stable();
    report.comparisons.push_back(std::move(comparison));
  }
  return report;
}

}  // namespace v0
}  // namespace torchamp
