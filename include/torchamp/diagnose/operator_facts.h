// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/autocast_policy.h>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/operator_name.h>
#include <ATen/record_function.h>
#include <c10/core/Device.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What a dry run and statistics have to know of an operator.
struct OperatorFacts {
  std::string name{};  ///< "aten::mul_"; "" for calls that are no operator's
  AutocastPolicy policy = AutocastPolicy::Unchanged;
  bool has_autocast_kernel = false;
  bool writes_inputs = false;     ///< in-place, or with an out argument
  bool returns_nothing = false;   ///< as foreach and fused operators do
  std::vector<char> written{};    ///< for each argument, whether it is changed
  bool uninitialised = false;     ///< its result has no values yet: "aten::empty"
  bool constant = false;          ///< its result is a number that the program names: "aten::full"
  bool first_input_only = false;  ///< a norm: its result has the dtype of what is normalised
  bool cast = false;              ///< "aten::_to_copy"
  bool conversion = false;        ///< "aten::to", which calls that if there is something to do

  /// True if autocast is off for the operators that this one calls.
  bool hides_autocast() const { return has_autocast_kernel || policy != AutocastPolicy::Unchanged; }
};

/// The facts of each operator, looked up in LibTorch's dispatcher once.
/// Threads: one at a time.
class OperatorFactsTable {
 public:
  explicit OperatorFactsTable(c10::DeviceType device) : device_(device) {}

  /// Of an operator, or of any other call, of which nothing is known. Stay where they are.
  const OperatorFacts& of(const at::RecordFunction& call) {
    // The name of an operator stands in its schema, which stays where it is. That of another call
    // may be gone, and an operator's may have come to where it was.
    const auto found = facts_.find(call.name());
    if (found != facts_.end() && found->second.name == call.name()) return found->second;
    const auto name = call.operator_name();
    if (!name) return unknown_;
    return facts_.insert_or_assign(call.name(), look_up(*name)).first->second;
  }

 private:
  OperatorFacts look_up(const c10::OperatorName& op) const;

  const c10::DeviceType device_;
  const OperatorFacts unknown_;
  std::unordered_map<const char*, OperatorFacts> facts_;
};

inline OperatorFacts OperatorFactsTable::look_up(const c10::OperatorName& op) const {
  OperatorFacts facts;
  facts.name = op.name;
  facts.policy = autocast_policy(op, device_);
  facts.has_autocast_kernel = has_autocast_kernel(op, device_);
  if (const auto handle = c10::Dispatcher::singleton().findSchema(op)) {
    const auto& schema = handle->schema();
    facts.writes_inputs = schema.is_mutable();
    facts.returns_nothing = schema.returns().empty();
    for (const auto& argument : schema.arguments()) {
      const auto* const alias = argument.alias_info();
      facts.written.push_back(alias != nullptr && alias->isWrite() ? 1 : 0);
    }
  }
  const std::string& name = op.name;
  const auto has = [&name](const char* part) { return name.find(part) != std::string::npos; };
  facts.uninitialised = has("::empty") || has("::new_empty") || has("::resize_");
  facts.constant = has("::full") || has("::fill_") || has("::zero") || has("::ones") ||
                   has("::new_full") || has("::new_zeros") || has("::new_ones");
  facts.first_input_only = has("_norm");
  facts.cast = name == "aten::_to_copy";
  facts.conversion = name == "aten::to";
  return facts;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
