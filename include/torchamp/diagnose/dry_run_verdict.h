// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/dry_run_report.h>
#include <torchamp/diagnose/range_observer.h>
#include <torchamp/diagnose/value_range.h>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Makes the report of what an observer saw.
class DryRunVerdict {
 public:
  explicit DryRunVerdict(const DryRunOptions& options) : options_(options) {
    report_.device = options.device();
  }

  void add(const RangeObservation& seen, const ValueRange& range);
  void add(DryRunParameter parameter, const std::string& module);
  /// Once for each place, however often it was called there.
  void add_refused(const std::string& op, const std::string& place);

  /// To be called once, after all was added.
  DryRunReport finish(bool saw_backward, int64_t lower_operators);

 private:
  struct Worst {
    double largest = 0;
    std::string op;
    bool entering = false;
  };

  DryRunModule& module(const std::string& name);
  void judge(DryRunModule& module, const Worst& worst) const;
  bool loses_too_much(const ValueRange& range, double scale) const {
    return share_of(range.flushed(scale), range.non_zero()) > options_.tolerated_loss();
  }
  void advise();

  const DryRunOptions options_;
  DryRunReport report_;
  bool saw_nan_ = false;
  std::map<std::string, Worst> worst_;  // of the activations of each module
  std::map<std::string, std::vector<DryRunParameter>> cast_parameters_;  // of each module
};

inline DryRunModule& DryRunVerdict::module(const std::string& name) {
  for (DryRunModule& known : report_.modules) {
    if (known.name == name) return known;
  }
  DryRunModule added;
  added.name = name;
  report_.modules.push_back(std::move(added));
  return report_.modules.back();
}

inline void DryRunVerdict::add(const RangeObservation& seen, const ValueRange& range) {
  using Kind = RangeObservation::Kind;
  DryRunModule& of = module(seen.place);
  if (seen.kind == Kind::Gradient) {
    if (range.nans + range.infs > 0) {
      report_.warnings.push_back("the gradient that " + seen.op + ", " + seen.place +
                                 ", is given has " + std::to_string(range.nans) + " NaN and " +
                                 std::to_string(range.infs) + " inf");
    }
    if (!seen.lower) return;
    of.gradients += range;
    report_.gradients += range;
    return;
  }
  if (seen.kind == Kind::Output) {
    if (std::find(of.operators.begin(), of.operators.end(), seen.op) == of.operators.end()) {
      of.operators.push_back(seen.op);
    }
    // The results behind it have their NaN from there, as far as is known here.
    if (range.nans > 0 && !saw_nan_) {
      saw_nan_ = true;
      report_.warnings.push_back("the result of " + seen.op + ", " + seen.place + ", has " +
                                 std::to_string(range.nans) + " NaN, the first of the step");
    }
  }
  if (!seen.lower) {
    of.float32_activations += range;
    return;
  }
  of.activations += range;
  Worst& worst = worst_[seen.place];
  if (worst.op.empty() || range.largest > worst.largest) {
    worst = {range.largest, seen.op, seen.kind == Kind::Entering};
  }
}

inline void DryRunVerdict::add(DryRunParameter parameter, const std::string& module) {
  const ValueRange& gradient = parameter.gradient;
  if (gradient.infs + gradient.nans > 0) {
    report_.warnings.push_back("the gradient of " + parameter.name + " has " +
                               std::to_string(gradient.nans) + " NaN and " +
                               std::to_string(gradient.infs) + " inf");
  }
  if (parameter.values.infs + parameter.values.nans > 0) {
    report_.warnings.push_back(parameter.name + " has " + std::to_string(parameter.values.nans) +
                               " NaN and " + std::to_string(parameter.values.infs) + " inf");
  }
  if (parameter.is_cast) {
    this->module(module).gradients += gradient;
    report_.gradients += gradient;
    cast_parameters_[module].push_back(parameter);
  }
  report_.parameters.push_back(std::move(parameter));
}

inline void DryRunVerdict::add_refused(const std::string& op, const std::string& place) {
  for (const RefusedOperator& known : report_.refused) {
    if (known.op == op && known.place == place) return;
  }
  report_.refused.push_back(
      {op, place,
       "use binary_cross_entropy_with_logits, without the sigmoid before it; or give it float32 in"
       " a FullPrecisionGuard"});
}

inline DryRunReport DryRunVerdict::finish(bool saw_backward, int64_t lower_operators) {
  report_.saw_backward = saw_backward;
  report_.lower_operators = lower_operators;
  report_.init_scale = best_scale_for(report_.gradients, options_.headroom());
  for (DryRunModule& one : report_.modules) judge(one, worst_[one.name]);
  advise();
  return std::move(report_);
}

inline void DryRunVerdict::judge(DryRunModule& module, const Worst& worst) const {
  static const std::string cure = ": keep in float32 or use bfloat16";
  bool fits_bfloat16 = true;
  const auto too_large = [&](const std::string& what, const ValueRange& range,
                             const std::string& where) {
    if (range.above_float16 == 0) return;
    const bool fits = range.largest < bfloat16_overflows;
    fits_bfloat16 = fits_bfloat16 && fits;
    module.reasons.push_back(what + " up to " + format_magnitude(range.largest) +
                             ", above float16's 65504" + where +
                             (fits ? cure : " and bfloat16's 3.39e38: keep in float32"));
  };
  const auto too_small = [&](const std::string& what, const ValueRange& range, double scale,
                             const std::string& at) {
    if (!loses_too_much(range, scale)) return;
    module.reasons.push_back(what + " down to " + format_magnitude(range.smallest) + ", of which " +
                             format_part(range.flushed(scale), range.non_zero()) +
                             " would become 0 in float16" + at + cure);
  };

  too_large(worst.entering ? "inputs" : "activations", module.activations, " (" + worst.op + ")");
  too_small("activations", module.activations, 1, "");
  const auto parameters = cast_parameters_.find(module.name);
  if (parameters != cast_parameters_.end()) {
    for (const DryRunParameter& parameter : parameters->second) {
      too_large(parameter.name, parameter.values, "");
      too_small(parameter.name, parameter.values, 1, "");
    }
  }
  const double scale = report_.init_scale;
  if (module.gradients.largest * scale > float16_largest) {
    module.reasons.push_back("gradients up to " + format_magnitude(module.gradients.largest) +
                             ", too large for float16 at any scale" + cure);
  }
  too_small("gradients", module.gradients, scale, " at a scale of " + format_scale(scale));

  if (!module.reasons.empty()) {
    module.dtype = fits_bfloat16 ? c10::ScalarType::BFloat16 : c10::ScalarType::Float;
  } else if (module.activations.count == 0) {
    module.dtype = c10::ScalarType::Float;
  }
}

inline void DryRunVerdict::advise() {
  const auto kept = report_.keep_in_float32();
  const auto fitting = report_.keep_in_float16().size();
  const std::string scaler =
      "a GradScaler with init_scale(" + format_scale(report_.init_scale) + ")";
  std::vector<std::string> float32_only;
  for (const DryRunModule& one : report_.modules) {
    if (!one.reasons.empty() && one.dtype == c10::ScalarType::Float)
      float32_only.push_back(one.name);
  }
  const std::string but =
      float32_only.empty() ? "" : ", and " + join_names(float32_only) + " in float32";
  std::string& advice = report_.advice;
  if (report_.lower_operators == 0) {
    report_.dtype = c10::ScalarType::Float;
    advice = "float32: an autocast region would run no operator of this step in lower precision";
  } else if (report_.device == c10::DeviceType::CPU) {
    report_.dtype = c10::ScalarType::BFloat16;
    advice = "bfloat16" + but + ": the dtype of autocast on a CPU, which needs no GradScaler";
  } else if (kept.empty()) {
    report_.dtype = c10::ScalarType::Half;
    advice = "float16 with scaling is fine: " + scaler;
  } else if (kept.size() <= fitting) {
    report_.dtype = c10::ScalarType::Half;
    advice = "float16 with " + scaler + ", and " + join_names(kept) +
             " in float32 (FullPrecisionGuard); or bfloat16 for all" + but;
  } else {
    report_.dtype = c10::ScalarType::BFloat16;
    advice = "bfloat16" + but + ": " + std::to_string(kept.size()) + " of " +
             std::to_string(kept.size() + fitting) + " parts of the net leave float16's range";
  }
  if (report_.lower_operators > 0 && !report_.saw_backward) {
    advice +=
        ". No backward pass was seen, so nothing is known of the gradients: let the step call"
        " backward()";
  }
  if (!report_.refused.empty()) {
    advice +=
        ". Autocast refuses " + report_.refused.front().op + ", " + report_.refused.front().place;
  }
  advice += ".";
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
