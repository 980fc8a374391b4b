// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/value_range.h>

#include <c10/core/Device.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <torch/arg.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// How a `dry_run()` judges.
struct DryRunOptions {
  /// Where the training will be, which decides what autocast does with each operator. The dry run
  /// itself may be on any other device.
  TORCH_ARG(c10::DeviceType, device) = c10::kCUDA;
  /// How many times larger the gradients of other batches may be, at least 1.
  TORCH_ARG(double, headroom) = 2;
  /// The share of the values that are not 0 which may become 0 in float16, in [0, 1].
  TORCH_ARG(double, tolerated_loss) = 0.01;
};

/// A part of the net in a dry run: a module that has parameters, or the operators without any that
/// stand behind one ("after conv2") or in a scope that the user named.
struct DryRunModule {
  std::string name;
  std::vector<std::string> operators;  ///< of its forward pass, each once: "aten::conv2d"

  /// What a region would have in lower precision: results, and inputs that it would cast.
  ValueRange activations;
  ValueRange gradients;
  /// Results that stay in float32 in a region too.
  ValueRange float32_activations;

  /// What it can be run in: float16; else bfloat16; else float32 alone. It is float32 too for what
  /// stays in float32 in any region.
  c10::ScalarType dtype = c10::ScalarType::Half;
  /// Why it can't be float16; empty if it can.
  std::vector<std::string> reasons;

  bool fits_float16() const { return reasons.empty(); }
};

/// A parameter in a dry run.
struct DryRunParameter {
  std::string name;
  ValueRange values;
  ValueRange gradient;  ///< count 0 if it had none
  bool is_cast;         ///< a region would cast it to lower precision
};

/// An operator that an autocast region refuses to run.
struct RefusedOperator {
  std::string op;
  std::string place;
  std::string instead;
};

/// What a dry run found. See `dry_run()`.
struct DryRunReport {
  c10::DeviceType device = c10::DeviceType::CUDA;  ///< where the autocast region would be

  /// The dtype for the net as a whole: float16, with a GradScaler and with what
  /// `keep_in_float32()` names kept out; bfloat16; or float32, if a region would change nothing.
  c10::ScalarType dtype = c10::ScalarType::Half;
  /// For `GradScalerOptions::init_scale()`: a power of two with which no gradient of the step
  /// overflows in float16, and the fewest flush.
  double init_scale = 65536;
  std::string advice;  ///< the same in a sentence or two

  std::vector<DryRunModule> modules;        ///< in the order of their first operators
  std::vector<DryRunParameter> parameters;  ///< in the order of their names' registration
  std::vector<RefusedOperator> refused;
  /// What is wrong in float32 already, such as NaN.
  std::vector<std::string> warnings;
  /// All gradients that a region's backward pass would have in lower precision.
  ValueRange gradients;
  int64_t lower_operators = 0;  ///< that a region would run in lower precision
  bool saw_backward = false;

  /// The modules that a float16 region should leave to a FullPrecisionGuard.
  std::vector<std::string> keep_in_float32() const;
  /// Those that can be in float16.
  std::vector<std::string> keep_in_float16() const;

  /// The module of that name, or nullptr.
  const DryRunModule* find(const std::string& name) const {
    const auto found = std::find_if(modules.begin(), modules.end(),
                                    [&](const DryRunModule& m) { return m.name == name; });
    return found == modules.end() ? nullptr : &*found;
  }

  /// Label and value, for a table or a section of a report.
  std::vector<std::pair<std::string, std::string>> rows() const;
  /// The same as lines of text.
  std::string to_text() const;
};

namespace detail {

inline std::string join_names(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

inline std::string format_range(const ValueRange& range) {
  if (range.non_zero() == 0) return range.count == 0 ? "none" : "0";
  return range.smallest == range.largest
             ? format_magnitude(range.largest)
             : format_magnitude(range.smallest) + " to " + format_magnitude(range.largest);
}

}  // namespace detail

inline std::vector<std::string> DryRunReport::keep_in_float32() const {
  std::vector<std::string> names;
  for (const DryRunModule& module : modules) {
    if (!module.fits_float16()) names.push_back(module.name);
  }
  return names;
}

inline std::vector<std::string> DryRunReport::keep_in_float16() const {
  std::vector<std::string> names;
  for (const DryRunModule& module : modules) {
    if (module.dtype == c10::ScalarType::Half) names.push_back(module.name);
  }
  return names;
}

inline std::vector<std::pair<std::string, std::string>> DryRunReport::rows() const {
  std::vector<std::pair<std::string, std::string>> rows;
  rows.emplace_back("recommended", advice);
  if (saw_backward) {
    rows.emplace_back("gradients", detail::format_range(gradients));
    const auto flushed = [this](double scale) {
      return detail::format_part(gradients.flushed(scale), gradients.non_zero());
    };
    rows.emplace_back("gradients that flush to 0 unscaled", flushed(1));
    rows.emplace_back("at a scale of " + detail::format_scale(init_scale), flushed(init_scale));
  }
  for (const DryRunModule& module : modules) {
    for (const std::string& reason : module.reasons) rows.emplace_back(module.name, reason);
  }
  for (const RefusedOperator& one : refused) {
    rows.emplace_back(one.place, one.op + " is refused by autocast: " + one.instead);
  }
  const auto fitting = keep_in_float16();
  if (!fitting.empty()) rows.emplace_back("float16 holds", detail::join_names(fitting));
  std::vector<std::string> untouched;
  for (const DryRunModule& module : modules) {
    if (module.fits_float16() && module.dtype == c10::ScalarType::Float &&
        !module.operators.empty()) {
      untouched.push_back(module.name + " (" + detail::join_names(module.operators) + ")");
    }
  }
  if (!untouched.empty()) rows.emplace_back("float32 in any region", detail::join_names(untouched));
  for (const std::string& warning : warnings) rows.emplace_back("wrong in float32", warning);
  return rows;
}

inline std::string DryRunReport::to_text() const {
  std::string text = "Dry run in float32, for autocast on " +
                     c10::DeviceTypeName(device, /*lower_case=*/true) + "\n";
  for (const auto& [label, value] : rows()) {
    text += "  ";
    text += label;
    text += ": ";
    text += value;
    text += '\n';
  }
  return text;
}

inline std::ostream& operator<<(std::ostream& out, const DryRunReport& report) {
  return out << report.to_text();
}

}  // namespace v0
}  // namespace torchamp
