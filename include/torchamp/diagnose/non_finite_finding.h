// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/non_finite_kinds.h>
#include <torchamp/diagnose/non_finite_report.h>

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdint>
#include <locale>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// An input of an operator, as a tracer saw it before the operator ran.
struct TracedInput {
  std::string argument;  ///< its name in the operator's schema: "mat1"
  std::string name;      ///< what it is registered by: "conv2.weight"; "" for others
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
  NonFiniteKinds kinds;  ///< none if it was finite
  /// The largest magnitude in it, if it was finite and the operator has not overwritten it.
  std::optional<double> largest;
};

/// Where values that are not finite come from, as a `NonFiniteTracer` has found.
struct NonFiniteFinding {
  enum class Origin {
    Operator,       ///< `op` made them of finite inputs, or NaN of a mask's infinities
    Input,          ///< they were in an input of `op` before any operator in the scope ran
    Uninitialised,  ///< `op` read memory, as of aten::empty, that no operator had filled
  };
  Origin origin = Origin::Operator;

  std::string op;                        ///< "aten::exp"; the innermost that calls no others
  std::vector<std::string> called_by;    ///< operators that called it, outermost first
  std::vector<std::string> scopes;       ///< named scopes that it stands in, outermost first
  std::string parameter;                 ///< a registered input of it: "conv2.weight"; or ""
  std::vector<TracedInput> inputs;       ///< its tensors, in the order of its arguments
  std::vector<NonFiniteTensor> results;  ///< those with inf or NaN; `name` is their place

  std::string node;  ///< "ExpBackward0" if it is part of a backward pass, else ""
  /// True if a forward operator made the node; none did for the hook of a tensor, nor where
  /// gradients are accumulated.
  bool has_forward = false;
  /// Of the forward operator that made the node, if the tracer lived then; else "".
  std::string forward_op;
  std::vector<std::string> forward_scopes;
  std::string forward_parameter;

  bool in_backward() const { return !node.empty(); }

  /// The module that it happened in: "conv2" of a parameter "conv2.weight", else the named scopes,
  /// joined by dots, else "". In backward, of the forward operator.
  std::string module() const;

  /// What is likely to help, as a sentence.
  std::string cure() const;

  /// A line that says what happened, one for each detail, and the cure; each ends with a line
  /// break.
  std::string to_text() const;
  friend std::ostream& operator<<(std::ostream& out, const NonFiniteFinding& finding) {
    return out << finding.to_text();
  }
};

namespace detail {

inline std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const auto& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

/// "finite", or "inf, NaN".
inline std::string text_of(const NonFiniteKinds& kinds) {
  if (!kinds.any()) return "finite";
  std::vector<std::string> parts;
  if (kinds.positive_inf) parts.emplace_back("inf");
  if (kinds.negative_inf) parts.emplace_back("-inf");
  if (kinds.nan) parts.emplace_back("NaN");
  return joined(parts, ", ");
}

inline std::string text_of(const TracedInput& input) {
  std::string text = input.argument;
  if (!input.name.empty()) text += " = " + input.name;
  std::ostringstream largest;
  largest.imbue(std::locale::classic());
  if (input.largest) largest << ", largest " << *input.largest;
  return text + "  " + c10::toString(input.dtype) + ' ' + list_of(input.sizes) + ": " +
         text_of(input.kinds) + largest.str();
}

/// "conv2" of "conv2.weight"; "" of "weight", a parameter of the model itself.
inline std::string module_of(const std::string& parameter) {
  const auto dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

}  // namespace detail

inline std::string NonFiniteFinding::module() const {
  for (const std::string* name : {&forward_parameter, &parameter}) {
    if (!detail::module_of(*name).empty()) return detail::module_of(*name);
  }
  return detail::joined(forward_scopes.empty() ? scopes : forward_scopes, ".");
}

inline std::string NonFiniteFinding::cure() const {
  const auto any = [](const auto& items, const auto& holds) {
    return std::any_of(items.begin(), items.end(), holds);
  };
  if (origin == Origin::Input) {
    return "find_non_finite() of the data, or of the model with NonFiniteIn::Values, says where";
  }
  if (origin == Origin::Uninitialised) {
    return "fill all of it before it is read; if the program has, as torch::tensor(vector) does,"
           " look at what it wrote";
  }
  if (any(inputs, [](const auto& input) { return input.kinds.any(); })) {
    return "where a whole row is masked with -inf, NaN comes of it: mask with a finite number";
  }
  const bool half = any(results, [](const auto& result) { return result.dtype == at::kHalf; });
  if (half && in_backward()) {
    return "none if the scaler lowers the scale and goes on; else the forward part in float32";
  }
  if (half) return "float16 ends at 65504: this part in float32, with a FullPrecisionGuard";
  return "clamp() what goes in, or an epsilon: in a divisor, or inside a root or a logarithm";
}

inline std::string NonFiniteFinding::to_text() const {
  std::string text = op;
  switch (origin) {
    case Origin::Operator:
      text += " made values that are not finite";
      break;
    case Origin::Input:
      text += " was given values that were not finite already";
      break;
    case Origin::Uninitialised:
      text += " read memory that no operator had filled, and that is not finite";
      break;
  }
  if (!module().empty()) text += ", in " + module();
  text += '\n';
  for (const auto& result : results) text += detail::line_of(result, result.name.size());
  for (const auto& input : inputs) text += "  " + detail::text_of(input) + '\n';
  if (!called_by.empty()) text += "  called by " + detail::joined(called_by, " > ") + '\n';
  if (!scopes.empty()) text += "  in the scopes " + detail::joined(scopes, " > ") + '\n';
  if (in_backward()) {
    text += "  in backward: " + node;
    if (has_forward && forward_op.empty()) text += ", of a forward operator that was not seen";
    if (!forward_op.empty()) text += ", of " + forward_op;
    if (!forward_parameter.empty()) text += " with " + forward_parameter;
    if (!forward_scopes.empty()) {
      text += " in the scopes " + detail::joined(forward_scopes, " > ");
    }
    text += '\n';
  }
  return text + "  likely cure: " + cure() + '\n';
}

}  // namespace v0
}  // namespace torchamp
