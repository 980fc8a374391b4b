// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/diagnose/forecast_tensors.h>
#include <torchamp/diagnose/operator_scope.h>
#include <torchamp/diagnose/range_readings.h>
#include <torchamp/diagnose/step_forecast.h>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Values of a float32 step that were measured.
struct RangeObservation {
  enum class Kind {
    Output,    ///< of an operator in the forward pass
    Entering,  ///< in float32, given to an operator that would cast it to lower precision
    Gradient,  ///< of an output, as it enters a node of the backward pass
  };
  Kind kind;
  bool lower;         ///< in an autocast region these values would be in its dtype
  std::string place;  ///< "conv2", or "after conv2" for an operator without parameters
  std::string op;     ///< "aten::conv2d", or "ConvolutionBackward0"
  std::size_t reading;
};

/// Watches a float32 step, and measures what its operators and its backward pass make.
/// Host sync: none, but for sparse tensors that have to be coalesced.
class RangeObserver : public OperatorObserver {
 public:
  /// `parameters`: of the module, by name. `device`: where an autocast region would be.
  template <class Parameters>
  RangeObserver(const Parameters& parameters, c10::DeviceType device)
      : forecast_(parameters, device) {}

  std::unique_ptr<at::ObserverContext> started(const at::RecordFunction& call,
                                               c10::ArrayRef<const c10::IValue> inputs) override;
  void finished(const at::RecordFunction& call, const std::vector<c10::IValue>& outputs,
                at::ObserverContext* context) override;

  // What was seen, to be asked for when the scope has ended.

  const std::vector<RangeObservation>& observations() const { return observations_; }
  RangeReadings& readings() { return readings_; }
  /// Parameters that a region would cast to lower precision.
  const std::set<std::string>& cast_parameters() const { return cast_parameters_; }
  /// Operators that a region would refuse, and where they stood.
  const std::vector<std::pair<std::string, std::string>>& refused() const { return refused_; }
  /// How many operators a region would run in lower precision.
  int64_t lower_operators() const { return lower_operators_; }
  bool saw_backward() const { return saw_backward_; }
  /// The first operator that ran in an autocast region; "" if none did.
  const std::string& in_autocast() const { return in_autocast_; }
  /// What kept something from being measured, if anything did.
  std::exception_ptr failure() const { return failure_; }

 private:
  struct Call : at::ObserverContext {
    CallForecast forecast;
    bool backward = false;  // a node of the backward pass, or inside one
    bool scope = false;     // named by the user
  };
  struct Thread {
    std::vector<const Call*> calls;
    std::vector<std::string> scopes;
  };

  void start_operator(const char* name, const std::vector<at::Tensor>& inputs,
                      const CallForecast& forecast);
  void start_node(const at::RecordFunction& call, const std::vector<at::Tensor>& gradients);
  void measure(RangeObservation::Kind kind, bool lower, const std::string& place, const char* op,
               const at::Tensor& tensor) {
    if (!has_range(tensor)) return;
    observations_.push_back({kind, lower, place, op, readings_.add(tensor)});
  }
  /// Calls `function(thread)` alone, and keeps what it throws.
  template <class Function>
  void guarded(const Function& function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      function(threads_[std::this_thread::get_id()]);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  std::mutex mutex_;
  StepForecast forecast_;
  RangeReadings readings_;
  std::unordered_map<std::thread::id, Thread> threads_;

  std::vector<RangeObservation> observations_;
  std::set<std::string> cast_parameters_;
  std::vector<std::pair<std::string, std::string>> refused_;
  int64_t lower_operators_ = 0;
  bool saw_backward_ = false;
  std::string in_autocast_;
  std::exception_ptr failure_;
};

inline std::unique_ptr<at::ObserverContext> RangeObserver::started(
    const at::RecordFunction& call, c10::ArrayRef<const c10::IValue> inputs) {
  auto noted = std::make_unique<Call>();
  guarded([&](Thread& thread) {
    const Call* const outer = thread.calls.empty() ? nullptr : thread.calls.back();
    noted->backward = outer != nullptr && outer->backward;
    if (outer != nullptr) noted->forecast = outer->forecast;  // what a scope hands on
    noted->scope = call.scope() == at::RecordScope::USER_SCOPE;
    thread.calls.push_back(noted.get());
    if (noted->scope) {
      const std::string outside = thread.scopes.empty() ? "" : thread.scopes.back() + ".";
      thread.scopes.push_back(outside + call.name());
    } else if (std::strncmp(call.name(), "autograd::engine::", 18) == 0) {
      noted->backward = true;  // adds up the gradients of a tensor that was used twice
    } else if (call.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      noted->backward = true;
      start_node(call, tensors_in(inputs));
    } else if (!noted->backward) {
      const auto tensors = tensors_in(inputs);
      noted->forecast =
          forecast_.start(call, tensors, thread.scopes.empty() ? "" : thread.scopes.back(),
                          outer == nullptr ? nullptr : &outer->forecast);
      start_operator(call.name(), tensors, noted->forecast);
    }
  });
  return noted;
}

inline void RangeObserver::start_operator(const char* name, const std::vector<at::Tensor>& inputs,
                                          const CallForecast& forecast) {
  for (const at::Tensor& input : inputs) {
    const auto device = input.device().type();
    if (in_autocast_.empty() && at::autocast::is_autocast_available(device) &&
        at::autocast::is_autocast_enabled(device)) {
      in_autocast_ = name;
    }
  }
  if (forecast.hidden) return;
  if (forecast.facts.policy == AutocastPolicy::Refused) refused_.emplace_back(name, forecast.place);
  if (forecast.facts.policy == AutocastPolicy::LowerPrecision && forecast.lower) {
    ++lower_operators_;
  }
  forecast_.for_each_cast(
      forecast, inputs, [&](const at::Tensor& input, const TensorForecast* known) {
        if (known != nullptr && known->parameter) {
          cast_parameters_.insert(known->parameters.begin(), known->parameters.end());
          if (known->same_values) return;  // parameters are measured by themselves
        }
        measure(RangeObservation::Kind::Entering, true, forecast.place, name, input);
      });
}

inline void RangeObserver::start_node(const at::RecordFunction& call,
                                      const std::vector<at::Tensor>& gradients) {
  saw_backward_ = true;
  // Its gradients are those of parameters, which are measured when the step is over.
  if (std::strstr(call.name(), "AccumulateGrad") != nullptr) return;
  const NodeForecast node = forecast_.node(call);
  if (node.skipped) return;
  for (const at::Tensor& gradient : gradients) {
    measure(RangeObservation::Kind::Gradient, node.lower, node.place, call.name(), gradient);
  }
}

inline void RangeObserver::finished(const at::RecordFunction& call,
                                    const std::vector<c10::IValue>& outputs,
                                    at::ObserverContext* context) {
  const auto& noted = *static_cast<const Call*>(context);
  guarded([&](Thread& thread) {
    if (!thread.calls.empty()) thread.calls.pop_back();
    if (noted.scope && !thread.scopes.empty()) thread.scopes.pop_back();
    if (noted.scope || noted.backward) return;
    forecast_.finish(
        noted.forecast, tensors_in(outputs), [&](const at::Tensor& output, bool lower) {
          measure(RangeObservation::Kind::Output, lower, noted.forecast.place, call.name(), output);
        });
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
