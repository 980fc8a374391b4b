// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/operator_name.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What a tracer has to know of an operator.
struct TracedOperator {
  bool known = false;          ///< false for calls that are no operator's
  std::string name;            ///< "aten::mul_"
  bool uninitialised = false;  ///< its result has no values yet: "aten::empty"
  bool cast = false;           ///< its result has the values of its first input
  bool allowed = false;        ///< the user says that its result may be anything
  bool writes = false;         ///< true if it changes any argument
  std::vector<char> written;   ///< for each argument, whether it is changed
  std::vector<char> ignored;   ///< whether it is, whatever it held: out, or the first of fill_()
  std::vector<std::string> arguments;  ///< their names: "self"

  bool ignores(std::size_t argument) const {
    return argument < ignored.size() && ignored[argument] != 0;
  }
};

/// The operators that a tracer has met.   Threads: one at a time.
class TracedOperators {
 public:
  explicit TracedOperators(std::vector<std::string> allowed) : allowed_(std::move(allowed)) {}

  /// Of the operator, or with `known` false. Stays where it is.
  const TracedOperator& of(const at::RecordFunction& call) {
    // The name of an operator stands in its schema, which stays where it is.
    const char* const name = call.name();
    const auto found = operators_.find(name);
    if (found != operators_.end() && found->second.name == name) return found->second;
    auto schema = call.operator_schema();
    if (!schema) return none_;
    return operators_.insert_or_assign(name, look_up(*schema)).first->second;
  }

 private:
  TracedOperator look_up(const c10::FunctionSchema& schema) const {
    TracedOperator op;
    op.known = true;
    op.name = schema.name();
    const std::string plain = op.name.substr((std::min)(op.name.find("::") + 2, op.name.size()));
    op.uninitialised = begins_with_any(plain, {"empty", "new_empty", "resize_", "_resize"});
    op.cast = is_any(plain, {"_to_copy", "clone", "contiguous", "_autocast_to_full_precision",
                             "_autocast_to_reduced_precision"});
    op.allowed = std::find(allowed_.begin(), allowed_.end(), op.name) != allowed_.end();
    const bool overwrites = is_any(
        plain, {"fill_", "zero_", "copy_", "normal_", "uniform_", "random_", "bernoulli_",
                "exponential_", "log_normal_", "cauchy_", "geometric_", "eye_", "set_", "resize_",
                "resize_as_", "_resize_output_", "_foreach_zero_", "_foreach_copy_"});
    const bool changes_shape_only =
        is_any(plain, {"as_strided_", "detach_", "squeeze_", "swapaxes_", "swapdims_", "t_",
                       "transpose_", "unsqueeze_"});
    for (const auto& argument : schema.arguments()) {
      const auto* const alias = argument.alias_info();
      // The schemas of batch norm do not say that it changes its running statistics.
      const bool written = (alias != nullptr && alias->isWrite() && !changes_shape_only) ||
                           is_any(argument.name(), {"running_mean", "running_var"});
      const bool ignored = written && (argument.is_out() || overwrites);
      op.writes = op.writes || written;
      op.written.push_back(written ? 1 : 0);
      op.ignored.push_back(ignored ? 1 : 0);
      op.arguments.push_back(argument.name());
    }
    return op;
  }

  static bool is_any(const std::string& name, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  static bool begins_with_any(const std::string& name, std::initializer_list<const char*> starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](const char* start) { return name.rfind(start, 0) == 0; });
  }

  const std::vector<std::string> allowed_;
  const TracedOperator none_;
  std::unordered_map<const char*, TracedOperator> operators_;
};

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
