// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The rules of a gradient scaler in plain numbers, with nothing of torchamp in them: no tensors,
/// no kernels, no weak pointers. Written from the documentation, to be compared with what it
/// describes.
namespace plain {

enum class Kind { Float, Double, BFloat16, Half, Complex, Sparse, Int };

/// The number that a tensor of this kind holds if it is given `x`.
inline double rounded(Kind kind, double x) {
  switch (kind) {
    case Kind::Double:
      return x;
    case Kind::BFloat16:
      return static_cast<float>(c10::BFloat16(static_cast<float>(x)));
    case Kind::Half:
      return static_cast<float>(c10::Half(static_cast<float>(x)));
    default:
      return static_cast<float>(x);
  }
}

/// True where autograd's own gradients have this kind, so that a backward pass may add to one.
inline bool has_backward(Kind kind) {
  return kind == Kind::Float || kind == Kind::Double || kind == Kind::BFloat16 ||
         kind == Kind::Half;
}

enum class DividedBy { Nobody, Optimizer, Range };

struct Gradient {
  std::vector<double> values;  // of a sparse one, those at `sparse_places`; complex: pairs
  DividedBy divided_by = DividedBy::Nobody;  // since the last update()
  std::size_t entry = 0;                     // and in which entry that is written down
};

inline const std::vector<std::size_t>& sparse_places() {
  static const std::vector<std::size_t> places{0, 2};
  return places;
}

struct Parameter {
  Kind kind;
  std::vector<double> values;
  std::optional<Gradient> gradient;
};

struct Optimizer {
  std::vector<std::size_t> parameters;  // their numbers
  std::vector<double> rates;            // one each
  bool has_master_weights = false;
  bool decides_on_device = false;
};

/// What is known, in one iteration, of an optimizer or of a range of parameters.
struct Entry {
  std::optional<std::size_t> optimizer;  // none: a range
  std::vector<std::size_t> parameters;
  bool stepped = false;
  bool has_gradients = false;
  bool overflowed = false;
  bool host_knows = false;
  std::vector<std::size_t> ranges = {};  // entries that its gradients were divided in before
};

struct Rules {
  bool constant = false;
  bool enabled = true;
  double init_scale = 4, growth_factor = 2, backoff_factor = 0.5, min_scale = 1, max_scale = 1e30;
  int64_t growth_interval = 2, hysteresis = 1, many_skips = 0;
  bool consecutive_hysteresis = false;
  bool many_skips_throw = false;  // else a callback is called
};

/// How a call ends: well (""), with an error's id ("E03"), or with the optimizer's own exception.
using Outcome = std::string;
inline const Outcome well;
inline const Outcome optimizer_threw = "the optimizer's exception";

class Scaler {
 public:
  Scaler(const Rules& rules_, std::vector<Parameter> parameters_,
         std::vector<Optimizer> optimizers_)
      : rules(rules_),
        made_with(rules_),
        parameters(std::move(parameters_)),
        optimizers(std::move(optimizers_)),
        scale(rules_.init_scale),
        hysteresis_left(rules_.hysteresis) {}

  double factor() const { return rules.enabled ? scale : 1.0; }

  Outcome scale_loss(bool is_floating_point) {
    if (!rules.enabled) return well;
    if (!is_floating_point) return "E07";
    if (!on_device) {
      tracker = growth_tracker();
      scale = static_cast<float>(scale);
      on_device = true;
    }
    return well;
  }

  /// The gradient of `slope` times each number of the optimizer's parameters.
  void backward(std::size_t which, double slope) {
    for (const auto number : optimizers[which].parameters) {
      auto& parameter = parameters[number];
      if (!has_backward(parameter.kind)) continue;
      const double arrives = rounded(parameter.kind, factor());
      const double added = rounded(parameter.kind, arrives * slope);
      if (!parameter.gradient) {
        parameter.gradient = Gradient{std::vector<double>(parameter.values.size(), added)};
      } else {
        for (auto& value : parameter.gradient->values) {
          value = rounded(parameter.kind, value + added);
        }
      }
    }
  }

  void zero_grad(std::size_t which, bool set_to_none) {
    for (const auto number : optimizers[which].parameters) {
      auto& gradient = parameters[number].gradient;
      if (!gradient) continue;
      if (set_to_none) {
        gradient.reset();
      } else {
        std::fill(gradient->values.begin(), gradient->values.end(), 0.0);
      }
    }
  }

  Outcome unscale(std::size_t which) {
    if (!rules.enabled) return well;
    if (!on_device) return "E05";
    if (find(which) != nullptr) return "E03";
    const auto& optimizer = optimizers[which];
    const auto outcome = may_divide(optimizer.parameters, optimizer.has_master_weights);
    if (outcome != well) return outcome;
    divide(Entry{which, optimizer.parameters});
    return well;
  }

  Outcome unscale_range(const std::vector<std::size_t>& range) {
    if (!rules.enabled) return well;
    if (!on_device) return "E05";
    const auto outcome = may_divide(range, /*half_too=*/false);
    if (outcome != well) return outcome;
    divide(Entry{std::nullopt, range});
    return well;
  }

  Outcome step(std::size_t which, bool throws) {
    const auto& optimizer = optimizers[which];
    status = "";
    if (!rules.enabled) {
      if (throws) return optimizer_threw;
      descend(optimizer);
      status = "taken";
      ++taken;
      return well;
    }
    if (!on_device) return "E05";
    if (find(which) == nullptr) {
      const auto outcome = divide_for_step(which);
      if (outcome != well) return outcome;
    }
    Entry& entry = *find(which);
    if (entry.stepped) return "E04";
    if (!entry.has_gradients) {
      const auto outcome = kinds_can_be_divided(optimizer.parameters, /*half_too=*/true);
      if (outcome != well) return outcome;
      if (!gradients_of(optimizer.parameters).empty()) return "E03";  // scaled ones
      status = "no gradients";
    } else {
      if (throws && (optimizer.decides_on_device || !entry.overflowed)) return optimizer_threw;
      entry.host_knows = true;  // on a CPU also if the device decides
      if (!entry.overflowed) {
        for (const auto range : entry.ranges) entries[range].host_knows = true;
      }
      if (!entry.overflowed) descend(optimizer);
      status = entry.overflowed ? "skipped" : "taken";
      ++(entry.overflowed ? skipped : taken);
    }
    entry.stepped = true;
    return well;
  }

  Outcome step_with_closure(std::size_t which) {
    return rules.enabled ? "E19" : step(which, /*throws=*/false);
  }

  Outcome update() {
    if (!rules.enabled) return well;
    if (!on_device) return "E05";
    if (entries.empty()) return "E06";
    bool any_gradients = false, overflow = false, known_overflow = false, all_known = true;
    for (const auto& entry : entries) {
      if (!entry.has_gradients) continue;
      any_gradients = true;
      overflow = overflow || entry.overflowed;
      known_overflow = known_overflow || (entry.host_knows && entry.overflowed);
      all_known = all_known && entry.host_knows;
    }
    next_iteration();
    if (!any_gradients) {
      if (rules.many_skips == 0 || ++idle_in_a_row != rules.many_skips) return well;
      if (rules.many_skips_throw) return "E16";
      ++alarms;
      return well;
    }
    idle_in_a_row = 0;
    if (!rules.constant) move_scale(overflow);
    if (known_overflow || all_known) {
      skips_in_a_row = known_overflow ? skips_in_a_row + 1 : 0;
      if (rules.many_skips != 0 && skips_in_a_row == rules.many_skips) {
        if (rules.many_skips_throw) return "E16";
        ++alarms;
      }
    }
    return well;
  }

  /// By number, which is checked, or by tensor, whose value is brought into the bounds.
  Outcome update(double new_scale, bool checked) {
    if (!rules.enabled) return well;
    if (!on_device) return "E05";
    if (checked && !(new_scale >= rules.min_scale && new_scale <= rules.max_scale)) return "E12";
    scale = static_cast<float>(std::clamp(new_scale, rules.min_scale, rules.max_scale));
    next_iteration();
    return well;
  }
  Outcome update_with_wrong_tensor() const {
    if (!rules.enabled) return well;
    return on_device ? "E12" : "E05";
  }

  Outcome set_growth_factor(double factor) {
    if (!(factor > 1) || !std::isfinite(factor)) return "E08";
    rules.growth_factor = factor;
    return well;
  }
  Outcome set_backoff_factor(double factor) {
    if (!(factor > 0 && factor < 1)) return "E08";
    rules.backoff_factor = factor;
    return well;
  }
  Outcome set_growth_interval(int64_t steps) {
    if (steps < 1 || steps > std::numeric_limits<int32_t>::max()) return "E08";
    rules.growth_interval = steps;
    if (on_device) tracker = growth_tracker();
    return well;
  }

  /// The scaler's state, loaded into itself.
  Outcome reload() const { return !rules.enabled || within_bounds(scale) ? well : "E17"; }

  /// The scaler's state, saved to a file and loaded into a new scaler, which takes its place.
  Outcome save_and_load() {
    if (!entries.empty()) return "E18";
    if (reload() != well) return reload();
    on_device = false;
    taken = skipped = skips_in_a_row = idle_in_a_row = 0;
    if (!rules.enabled) rules = made_with;  // it has no state
    return well;
  }

  /// An optimizer made where another one was is a new one if it is over other parameters; what was
  /// found through the old one still counts.
  void rebuild(std::size_t which, const std::vector<std::size_t>& over) {
    optimizers[which].parameters = over;
    optimizers[which].rates.assign(over.size(), 1.0);
  }

  double get_scale() const { return rules.enabled ? scale : 1; }

  /// Less than the interval, so that the next good step grows if it was lowered.
  int64_t growth_tracker() const {
    return rules.enabled ? std::min(tracker, rules.growth_interval - 1) : 0;
  }

  Rules rules, made_with;
  std::vector<Parameter> parameters;
  std::vector<Optimizer> optimizers;
  std::vector<Entry> entries;  // of this iteration
  bool on_device = false;
  double scale;
  int64_t tracker = 0, hysteresis_left, taken = 0, skipped = 0, skips_in_a_row = 0,
          idle_in_a_row = 0, alarms = 0;
  std::string status;  // what the last step() said

 private:
  bool within_bounds(double x) const {
    const auto rounded = static_cast<float>(x);
    return rounded >= static_cast<float>(rules.min_scale) &&
           rounded <= static_cast<float>(rules.max_scale);
  }

  Entry* find(std::size_t which) {
    for (auto& entry : entries) {
      if (entry.optimizer == which && is_the_old_one(entry, optimizers[which].parameters)) {
        return &entry;
      }
    }
    return nullptr;
  }

  /// Parameters that were added without gradients do not make an optimizer another.
  bool is_the_old_one(const Entry& entry, const std::vector<std::size_t>& now) const {
    if (now.size() < entry.parameters.size()) return false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (i < entry.parameters.size() ? now[i] != entry.parameters[i]
                                      : parameters[now[i]].gradient.has_value()) {
        return false;
      }
    }
    return true;
  }

  std::vector<Gradient*> gradients_of(const std::vector<std::size_t>& numbers) {
    std::vector<Gradient*> gradients;
    for (const auto number : numbers) {
      if (parameters[number].gradient) gradients.push_back(&*parameters[number].gradient);
    }
    return gradients;
  }

  Outcome kinds_can_be_divided(const std::vector<std::size_t>& numbers, bool half_too) {
    for (const auto number : numbers) {
      if (!parameters[number].gradient) continue;
      if (parameters[number].kind == Kind::Half && !half_too) return "E09";
      if (parameters[number].kind == Kind::Int) return "E10";
    }
    return well;
  }

  Outcome may_divide(const std::vector<std::size_t>& numbers, bool half_too) {
    const auto outcome = kinds_can_be_divided(numbers, half_too);
    if (outcome != well) return outcome;
    for (const auto* gradient : gradients_of(numbers)) {
      if (gradient->divided_by == DividedBy::Range) return "E03";
      if (gradient->divided_by == DividedBy::Optimizer) return "E11";
    }
    return well;
  }

  /// Of the gradients of an optimizer, all or none may have been divided in ranges.
  Outcome divide_for_step(std::size_t which) {
    const auto& optimizer = optimizers[which];
    const auto gradients = gradients_of(optimizer.parameters);
    const auto outcome = kinds_can_be_divided(optimizer.parameters, optimizer.has_master_weights);
    if (outcome != well) return outcome;
    std::size_t in_ranges = 0, elsewhere = 0;
    for (const auto* gradient : gradients) {
      in_ranges += gradient->divided_by == DividedBy::Range ? 1 : 0;
      elsewhere += gradient->divided_by == DividedBy::Optimizer ? 1 : 0;
    }
    if (elsewhere > 0 || (in_ranges > 0 && in_ranges < gradients.size())) return "E11";
    if (in_ranges == 0) {
      divide(Entry{which, optimizer.parameters});
      return well;
    }
    Entry entry{which, optimizer.parameters};
    entry.has_gradients = true;
    for (const auto* gradient : gradients) {
      entry.ranges.push_back(gradient->entry);
      entry.overflowed = entry.overflowed || entries[gradient->entry].overflowed;
    }
    entries.push_back(entry);
    return well;
  }

  void divide(Entry entry) {
    const double inverse = static_cast<float>(1 / scale);
    for (const auto number : entry.parameters) {
      auto& parameter = parameters[number];
      if (!parameter.gradient) continue;
      entry.has_gradients = true;
      parameter.gradient->divided_by = entry.optimizer ? DividedBy::Optimizer : DividedBy::Range;
      parameter.gradient->entry = entries.size();
      for (auto& value : parameter.gradient->values) {
        value = rounded(parameter.kind, value * inverse);
        if (!std::isfinite(value)) entry.overflowed = true;
      }
    }
    entries.push_back(std::move(entry));
  }

  /// Stochastic gradient descent.
  void descend(const Optimizer& optimizer) {
    for (std::size_t i = 0; i < optimizer.parameters.size(); ++i) {
      auto& parameter = parameters[optimizer.parameters[i]];
      if (!parameter.gradient) continue;
      for (std::size_t j = 0; j < parameter.gradient->values.size(); ++j) {
        auto& value = parameter.values[parameter.kind == Kind::Sparse ? sparse_places()[j] : j];
        double change = -optimizer.rates[i] * parameter.gradient->values[j];
        // A complex tensor is multiplied by the complex number (-rate, 0), where 0 times inf is
        // NaN.
        if (parameter.kind == Kind::Complex) change += 0 * parameter.gradient->values[j ^ 1];
        value = rounded(parameter.kind, value + change);
      }
    }
  }

  void move_scale(bool overflow) {
    if (overflow) {
      tracker = 0;
      if (hysteresis_left > 0) --hysteresis_left;
      if (hysteresis_left == 0) scale *= rules.backoff_factor;
    } else {
      if (rules.consecutive_hysteresis) hysteresis_left = rules.hysteresis;
      if (++tracker >= rules.growth_interval) {
        tracker = 0;
        hysteresis_left = rules.hysteresis;
        const double grown = scale * rules.growth_factor;
        if (std::isfinite(static_cast<float>(grown))) scale = grown;
      }
    }
    // Also if it has not moved: update(tensor) does not look at what it is given.
    scale = static_cast<float>(std::clamp(scale, rules.min_scale, rules.max_scale));
  }

  void next_iteration() {
    entries.clear();
    for (auto& parameter : parameters) {
      if (parameter.gradient) parameter.gradient->divided_by = DividedBy::Nobody;
    }
  }
};

}  // namespace plain
