// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/forecast_tensors.h>
#include <torchamp/diagnose/operator_facts.h>

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What is foreseen of one call of an operator, were it in an autocast region.
struct CallForecast {
  struct Input {
    const c10::TensorImpl* tensor;
    const c10::StorageImpl* storage;
    bool lower;
    bool same_values;
  };

  int64_t number = 0;  ///< calls are counted from 1 on
  OperatorFacts facts;
  bool has_floating_input = false;
  bool hidden = false;     ///< inside an operator that autocast decides about as a whole
  bool lower = false;      ///< its results would be in the region's dtype
  bool parameter = false;  ///< all its inputs are parameters, or made of them
  std::string place;       ///< "conv2", or "after conv2" for an operator without parameters
  std::string module;      ///< whose parameters it takes, or its first input came from
  std::vector<std::string> parameters;  ///< those that it takes
  std::vector<Input> inputs;
};

/// What is foreseen of a node of the backward pass.
struct NodeForecast {
  std::string place;
  bool lower = false;    ///< the gradients that it takes would be in the region's dtype
  bool skipped = false;  ///< of a view, or of parameters alone
};

/// Follows the tensors of a float32 step from operator to operator, and foresees which of them an
/// autocast region would have in its dtype.
///
/// A module is known by its parameters: an operator that takes "conv2.weight", or what was made of
/// it alone, is conv2's. Others belong to the scope that the user named, or else come after the
/// module that their first input came from.
class StepForecast {
 public:
  /// `parameters`: of the module, by name. `device`: where the region would be.
  template <class Parameters>
  StepForecast(const Parameters& parameters, c10::DeviceType device) : facts_(device) {
    for (const auto& item : parameters) {
      if (tensors_.find(item.value()) != nullptr) continue;  // shared: the first name counts
      TensorForecast forecast;
      forecast.parameter = forecast.same_values = true;
      forecast.module = module_with(item.key());
      forecast.parameters = {item.key()};
      tensors_.set(item.value(), std::move(forecast));
    }
  }

  /// Of an operator that begins in `scope` ("" if the user named none), inside `outer`, if not
  /// null.
  CallForecast start(const at::RecordFunction& call, const std::vector<at::Tensor>& inputs,
                     const std::string& scope, const CallForecast* outer);

  /// Of what it has made: `visit(output, lower)` for each output that has values of its own.
  template <class Visit>
  void finish(const CallForecast& call, const std::vector<at::Tensor>& outputs, const Visit& visit);

  /// Calls `cast(input, known)` for each input that an operator in lower precision would cast;
  /// `known` is nullptr for data.
  template <class Cast>
  void for_each_cast(const CallForecast& call, const std::vector<at::Tensor>& inputs,
                     const Cast& cast);

  /// True if `tensor` would be in the region's dtype.
  bool is_lower(const at::Tensor& tensor) const {
    const auto* const known = tensors_.find(tensor);
    return known != nullptr && known->lower;
  }

  /// Of the node that `call` is. Nothing is known of a custom autograd function, or of a graph that
  /// was made before the step: its gradients are then taken for lower precision.
  NodeForecast node(const at::RecordFunction& call) const;

 private:
  bool is_lower(const std::vector<at::Tensor>& inputs, const OperatorFacts& facts) const;
  static bool is_half(const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
  }
  static bool is_lower_output(const CallForecast& call, std::size_t index,
                              const at::Tensor& output);
  NodeForecast* node_of(const at::Tensor& output);
  void note_node(const at::Tensor& output, const std::string& place,
                 const TensorForecast& forecast);

  OperatorFactsTable facts_;
  ForecastTensors tensors_;
  std::unordered_map<int64_t, NodeForecast> nodes_;  // by sequence number
  int64_t calls_ = 0;
};

inline CallForecast StepForecast::start(const at::RecordFunction& call,
                                        const std::vector<at::Tensor>& inputs,
                                        const std::string& scope, const CallForecast* outer) {
  CallForecast forecast;
  forecast.number = ++calls_;
  forecast.facts = facts_.of(call);
  forecast.parameter = !inputs.empty();
  std::string came_from;
  for (const at::Tensor& input : inputs) {
    const auto* const known = tensors_.find(input);
    forecast.inputs.push_back(
        {input.unsafeGetTensorImpl(),
         input.has_storage() ? input.storage().unsafeGetStorageImpl() : nullptr,
         known != nullptr && known->lower, known != nullptr && known->same_values});
    if (input.is_floating_point() || input.is_complex()) forecast.has_floating_input = true;
    // A number of the program, as in weight * 2, is no data.
    const bool is_number = input.unsafeGetTensorImpl()->is_wrapped_number();
    if (!is_number && (known == nullptr || !known->parameter)) forecast.parameter = false;
    if (known == nullptr) continue;
    if (known->parameter) {
      if (forecast.module.empty()) forecast.module = known->module;
      forecast.parameters.insert(forecast.parameters.end(), known->parameters.begin(),
                                 known->parameters.end());
    } else if (came_from.empty()) {
      came_from = known->module;
    }
  }
  const bool has_module = !forecast.module.empty();
  if (!has_module) forecast.module = came_from;

  if (outer != nullptr && (outer->hidden || outer->facts.hides_autocast())) {
    forecast.hidden = true;
    forecast.lower = outer->lower;
    forecast.place = outer->place;
    return forecast;
  }
  forecast.lower = is_lower(inputs, forecast.facts);
  forecast.place = has_module          ? forecast.module
                   : !scope.empty()    ? scope
                   : came_from.empty() ? std::string(before_any_parameter)
                                       : "after " + came_from;
  return forecast;
}

inline bool StepForecast::is_lower(const std::vector<at::Tensor>& inputs,
                                   const OperatorFacts& facts) const {
  if (facts.policy == AutocastPolicy::Float32 || facts.policy == AutocastPolicy::Refused) {
    return false;
  }
  const auto counts = [](const at::Tensor& input) {
    return input.is_floating_point() || input.is_complex();
  };
  bool any = false;
  bool any_with_dimensions = false;
  bool all = true;
  for (const at::Tensor& input : inputs) {
    if (!counts(input)) continue;
    // Autocast leaves float64 alone, and so it stays.
    if (input.scalar_type() == at::kDouble || input.is_complex()) return false;
    const bool lower = is_lower(input);
    if (facts.first_input_only) return lower;
    // Numbers, tensors without dimensions, do not change the dtype of a tensor with some.
    const bool has_dimensions = input.dim() > 0;
    if (any_with_dimensions && !has_dimensions) continue;
    if (has_dimensions && !any_with_dimensions) all = true;
    any_with_dimensions = any_with_dimensions || has_dimensions;
    any = true;
    all = all && lower;
  }
  if (facts.policy == AutocastPolicy::LowerPrecision) return any;
  return any && all;
}

template <class Cast>
void StepForecast::for_each_cast(const CallForecast& call, const std::vector<at::Tensor>& inputs,
                                 const Cast& cast) {
  if (call.hidden || !call.lower || call.facts.policy != AutocastPolicy::LowerPrecision) return;
  for (const at::Tensor& input : inputs) {
    if (!input.is_floating_point() || is_lower(input) || is_half(input)) continue;
    cast(input, tensors_.find(input));
    // The operator makes this input's gradient in its own dtype, before that is cast back.
    if (auto* const node = node_of(input)) node->lower = true;
  }
}

template <class Visit>
void StepForecast::finish(const CallForecast& call, const std::vector<at::Tensor>& outputs,
                          const Visit& visit) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor& output = outputs[i];
    const auto* const known = tensors_.find(output);
    // What an operator that this one called has made is known from there, unless autocast was off
    // for that one, or it could not know.
    if (known != nullptr && known->made_by > call.number) {
      const bool decides = (call.facts.hides_autocast() && !call.hidden) ||
                           (known->undecided && call.has_floating_input);
      if (!decides) {
        note_node(output, call.place, *known);
        continue;
      }
    }
    const auto* const storage =
        output.has_storage() ? output.storage().unsafeGetStorageImpl() : nullptr;
    const CallForecast::Input* source = nullptr;
    bool is_input = false;
    for (const auto& input : call.inputs) {
      if (input.tensor == output.unsafeGetTensorImpl()) is_input = true;
      if (source == nullptr && storage != nullptr && input.storage == storage) source = &input;
    }
    if (is_input && !call.facts.writes_inputs) continue;  // handed through

    TensorForecast forecast;
    forecast.made_by = call.number;
    forecast.view = source != nullptr && !call.facts.writes_inputs;
    forecast.lower = forecast.view || is_input ? source != nullptr && source->lower
                                               : is_lower_output(call, i, output);
    forecast.undecided = is_input ? known == nullptr || known->undecided
                                  : !call.has_floating_input && !forecast.view;
    forecast.parameter = call.parameter;
    forecast.same_values = forecast.view && source->same_values;
    forecast.module = call.module;
    if (call.parameter) forecast.parameters = call.parameters;
    tensors_.set(output, forecast);
    note_node(output, call.place, forecast);

    if (forecast.view || call.parameter || call.hidden || call.facts.uninitialised) continue;
    if (call.facts.constant && !forecast.lower) continue;  // matters where it is used
    visit(output, forecast.lower);
  }
}

inline bool StepForecast::is_lower_output(const CallForecast& call, std::size_t index,
                                          const at::Tensor& output) {
  if (!output.is_floating_point() || output.scalar_type() == at::kDouble) return false;
  if (call.facts.cast) return is_half(output) || call.lower;
  if (call.facts.first_input_only && index > 0) return false;  // statistics
  return is_half(output) || call.lower;
}

inline NodeForecast* StepForecast::node_of(const at::Tensor& output) {
  if (!output.requires_grad()) return nullptr;
  const auto node = output.grad_fn();
  if (!node) return nullptr;
  return &nodes_[static_cast<int64_t>(node->sequence_nr())];
}

inline void StepForecast::note_node(const at::Tensor& output, const std::string& place,
                                    const TensorForecast& forecast) {
  auto* const node = node_of(output);
  if (node == nullptr) return;
  if (node->place.empty()) node->place = place;  // the innermost operator that has it
  node->lower = node->lower || forecast.lower;
  node->skipped = forecast.view || forecast.parameter;
}

inline NodeForecast StepForecast::node(const at::RecordFunction& call) const {
  const auto found = nodes_.find(call.seqNr());
  if (found != nodes_.end() && !found->second.place.empty()) return found->second;
  return {std::string("backward of ") + call.name(), true, false};
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
