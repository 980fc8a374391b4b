// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// Random sequences of valid and invalid calls, on a GradScaler and on a model of it in plain
// numbers; after every call both must be in the same state, to the bit.
//
// TORCHAMP_TEST_SEED=n TORCHAMP_TEST_COUNT=m tries the m sequences that begin with the n-th. A
// sequence that fails is made as short as it gets and printed as a list of calls.
#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/io/archive.h>

#include "property/plain_scaler.h"
#include "support/doctest.h"
#include "support/errors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using torchamp::BasicGradScaler;
using torchamp::GradScalerOptions;
using torchamp::StepResult;
using torchamp::StepStatus;

namespace {

const double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

// --- Calls, and the worlds they are made in ------------------------------------------------------

enum class Action {
  ScaleLoss,
  ScaleNoLoss,
  Backward,
  SetGradient,
  ZeroGrad,
  Unscale,
  UnscaleRange,
  Step,
  StepThatThrows,
  StepWithClosure,
  Update,
  UpdateNumber,
  UpdateTensor,
  UpdateWrongTensor,
  SetGrowthFactor,
  SetBackoffFactor,
  SetGrowthInterval,
  Rebuild,
  Move,
  Reload,
  LoadNonsense,
  SaveAndLoad,
};

struct Call {
  Action action = Action::Update;
  std::size_t which = 0;       // an optimizer's number; a parameter's for SetGradient
  double number = 0;           // a factor, a scale, a count
  std::vector<double> values;  // of a gradient
  std::vector<std::size_t> parameters = {};
};

std::string list(const std::vector<std::size_t>& numbers) {
  std::string text;
  for (const auto number : numbers) text += " " + std::to_string(number);
  return text;
}

std::string words(const Call& call) {
  std::ostringstream text;
  text.precision(9);
  const auto optimizer = "optimizer " + std::to_string(call.which);
  switch (call.action) {
    case Action::ScaleLoss:
      text << "scale(a loss)";
      break;
    case Action::ScaleNoLoss:
      text << "scale(a tensor of integers)";
      break;
    case Action::Backward:
      text << "scale(" << call.number << " * parameters of " << optimizer << ").backward()";
      break;
    case Action::SetGradient:
      text << "gradient of parameter " << call.which << " = {";
      for (const double value : call.values) text << " " << value;
      text << " }";
      break;
    case Action::ZeroGrad:
      text << optimizer << ".zero_grad(set_to_none = " << (call.number != 0) << ")";
      break;
    case Action::Unscale:
      text << "unscale_(" << optimizer << ")";
      break;
    case Action::UnscaleRange:
      text << "unscale_(parameters" << list(call.parameters) << ")";
      break;
    case Action::Step:
      text << "step(" << optimizer << ")";
      break;
    case Action::StepThatThrows:
      text << "step(" << optimizer << "), which throws";
      break;
    case Action::StepWithClosure:
      text << "step(" << optimizer << ", closure)";
      break;
    case Action::Update:
      text << "update()";
      break;
    case Action::UpdateNumber:
      text << "update(" << call.number << ")";
      break;
    case Action::UpdateTensor:
      text << "update(tensor of " << call.number << ")";
      break;
    case Action::UpdateWrongTensor:
      text << "update(wrong tensor, kind " << call.number << ")";
      break;
    case Action::SetGrowthFactor:
      text << "set_growth_factor(" << call.number << ")";
      break;
    case Action::SetBackoffFactor:
      text << "set_backoff_factor(" << call.number << ")";
      break;
    case Action::SetGrowthInterval:
      text << "set_growth_interval(" << static_cast<int64_t>(call.number) << ")";
      break;
    case Action::Rebuild:
      text << optimizer << " is destroyed, and one over parameters" << list(call.parameters)
           << " made at its address";
      break;
    case Action::Move:
      text << "the scaler is moved";
      break;
    case Action::Reload:
      text << "load_state_dict(state_dict())";
      break;
    case Action::LoadNonsense:
      text << "load_state_dict(nonsense, kind " << call.number << ")";
      break;
    case Action::SaveAndLoad:
      text << "the scaler is saved, and loaded into a new one that takes its place";
      break;
  }
  return text.str();
}

struct World {
  plain::Rules rules;
  std::vector<plain::Kind> parameters;
  std::vector<plain::Optimizer> optimizers;
};

constexpr std::size_t numbers_each = 3;  // in a parameter

std::size_t gradient_numbers(plain::Kind kind) {
  if (kind == plain::Kind::Complex) return 2 * numbers_each;
  if (kind == plain::Kind::Sparse) return plain::sparse_places().size();
  return numbers_each;
}

std::string words(const World& world) {
  static const char* const kinds[] = {"float",   "double", "bfloat16", "half",
                                      "complex", "sparse", "int"};
  std::ostringstream text;
  text.precision(9);
  const auto& rules = world.rules;
  text << (rules.constant ? "constant" : "dynamic") << (rules.enabled ? "" : ", disabled")
       << ", init_scale " << rules.init_scale << " in [" << rules.min_scale << ", "
       << rules.max_scale << "], growth " << rules.growth_factor << " after "
       << rules.growth_interval << ", backoff " << rules.backoff_factor << ", hysteresis "
       << rules.hysteresis << (rules.consecutive_hysteresis ? " consecutive" : "")
       << ", many_skips " << rules.many_skips << (rules.many_skips_throw ? " throw" : " call")
       << "\nparameters:";
  for (const auto kind : world.parameters) text << " " << kinds[static_cast<int>(kind)];
  for (std::size_t i = 0; i < world.optimizers.size(); ++i) {
    const auto& optimizer = world.optimizers[i];
    text << "\noptimizer " << i << ": parameters" << list(optimizer.parameters)
         << (optimizer.has_master_weights ? ", has master weights" : "")
         << (optimizer.decides_on_device ? ", decides on the device" : "");
  }
  return text.str();
}

// --- The real thing ------------------------------------------------------------------------------

struct Sgd : torch::optim::SGD, torchamp::AmpOptimizer {
  using torch::optim::SGD::SGD;
  bool throws = false, masters = false, decides = false;

  torch::Tensor step(LossClosure closure = nullptr) override {
    if (throws) throw std::runtime_error("out of memory");
    return torch::optim::SGD::step(std::move(closure));
  }
  bool has_master_weights() const override { return masters; }
  bool decides_on_device() const override { return decides; }
  void step_unless(const at::Tensor& found_inf, const torch::Tensor& /*grad_scale*/) override {
    if (throws) throw std::runtime_error("out of memory");
    if (found_inf.item<float>() == 0) torch::optim::SGD::step();
  }
};

at::ScalarType dtype_of(plain::Kind kind) {
  switch (kind) {
    case plain::Kind::Double:
      return at::kDouble;
    case plain::Kind::BFloat16:
      return at::kBFloat16;
    case plain::Kind::Half:
      return at::kHalf;
    case plain::Kind::Complex:
      return at::kComplexFloat;
    default:
      return at::kFloat;
  }
}

/// `values` as a tensor of a gradient's kind.
torch::Tensor gradient_of(plain::Kind kind, const std::vector<double>& values) {
  const auto plain_values = torch::tensor(values, at::kDouble);
  switch (kind) {
    case plain::Kind::Complex:
      return torch::view_as_complex(plain_values.to(at::kFloat).reshape({-1, 2})).clone();
    case plain::Kind::Sparse: {
      const std::vector<int64_t> places(plain::sparse_places().begin(),
                                        plain::sparse_places().end());
      return torch::sparse_coo_tensor(torch::tensor(places).unsqueeze(0),
                                      plain_values.to(at::kFloat),
                                      {static_cast<int64_t>(numbers_each)});
    }
    case plain::Kind::Int:
      return plain_values.to(at::kInt);
    default:
      return plain_values.to(dtype_of(kind));
  }
}

std::vector<double> values_of(const torch::Tensor& tensor) {
  auto values = tensor.is_sparse() ? tensor._values() : tensor;
  if (values.is_complex()) values = torch::view_as_real(values);
  values = values.detach().to(at::kDouble).flatten().contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return same(x, y); });
}

GradScalerOptions options_of(const plain::Rules& rules, int64_t& alarms) {
  return GradScalerOptions()
      .init_scale(rules.init_scale)
      .growth_factor(rules.growth_factor)
      .backoff_factor(rules.backoff_factor)
      .growth_interval(rules.growth_interval)
      .enabled(rules.enabled)
      .hysteresis(rules.hysteresis)
      .consecutive_hysteresis(rules.consecutive_hysteresis)
      .min_scale(rules.min_scale)
      .max_scale(rules.max_scale)
      .many_skips(rules.many_skips)
      .on_many_skips(rules.many_skips_throw ? torchamp::ManySkips::Throw
                                            : torchamp::ManySkips::Call)
      .many_skips_callback([&alarms](int64_t /*skips*/) { ++alarms; });
}

/// A scaler, its optimizers and parameters, and beside them the same in plain numbers.
template <class LossScale>
class Pair {
 public:
  explicit Pair(const World& world)
      : plain_(world.rules, plain_parameters(world), world.optimizers),
        scaler_(options_of(world.rules, alarms_)),
        optimizers_(world.optimizers.size()) {
    for (const auto kind : world.parameters) {
      parameters_.push_back(
          torch::zeros({static_cast<int64_t>(numbers_each)}, dtype_of(kind)).requires_grad_());
    }
    for (std::size_t i = 0; i < optimizers_.size(); ++i) make_optimizer(i);
  }

  /// Makes the call on both sides and says in what they differ after it; nothing if in nothing.
  std::string differ_after(const Call& call) {
    result_.reset();
    const auto expected = call_plain(call);
    const auto seen = call_real(call);
    if (seen != expected) {
      return "it ended with \"" + seen + "\", expected \"" + expected + "\"";
    }
    last_outcome =
        expected + ((call.action == Action::Step && expected.empty()) ? plain_.status : "");
    return difference();
  }

  std::string last_outcome;  // "E03", "taken", ...

 private:
  static std::vector<plain::Parameter> plain_parameters(const World& world) {
    std::vector<plain::Parameter> parameters;
    for (const auto kind : world.parameters) {
      const auto numbers = kind == plain::Kind::Complex ? 2 * numbers_each : numbers_each;
      parameters.push_back({kind, std::vector<double>(numbers, 0.0), std::nullopt});
    }
    return parameters;
  }

  void make_optimizer(std::size_t which) {
    const auto& plan = plain_.optimizers[which];
    std::vector<torch::optim::OptimizerParamGroup> groups;
    for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
      groups.emplace_back(std::vector<torch::Tensor>{parameters_[plan.parameters[i]]},
                          std::make_unique<torch::optim::SGDOptions>(plan.rates[i]));
    }
    optimizers_[which].reset();
    auto& optimizer = optimizers_[which].emplace(groups, torch::optim::SGDOptions(1.0));
    optimizer.masters = plan.has_master_weights;
    optimizer.decides = plan.decides_on_device;
  }

  bool can_zero_in_place(std::size_t which) const {
    for (const auto number : plain_.optimizers[which].parameters) {
      if (plain_.parameters[number].kind == plain::Kind::Sparse) return false;
    }
    return true;
  }
  bool can_go_backward(std::size_t which) const {
    for (const auto number : plain_.optimizers[which].parameters) {
      if (plain::has_backward(plain_.parameters[number].kind)) return true;
    }
    return false;
  }

  plain::Outcome call_plain(const Call& call) {
    switch (call.action) {
      case Action::ScaleLoss:
        return plain_.scale_loss(true);
      case Action::ScaleNoLoss:
        return plain_.scale_loss(false);
      case Action::Backward:
        if (!can_go_backward(call.which)) return plain::well;
        plain_.scale_loss(true);
        plain_.backward(call.which, call.number);
        return plain::well;
      case Action::SetGradient: {
        auto& parameter = plain_.parameters[call.which];
        plain::Gradient gradient{call.values};
        for (auto& value : gradient.values) value = plain::rounded(parameter.kind, value);
        parameter.gradient = gradient;
        return plain::well;
      }
      case Action::ZeroGrad:
        plain_.zero_grad(call.which, call.number != 0 || !can_zero_in_place(call.which));
        return plain::well;
      case Action::Unscale:
        return plain_.unscale(call.which);
      case Action::UnscaleRange:
        return plain_.unscale_range(call.parameters);
      case Action::Step:
        return plain_.step(call.which, /*throws=*/false);
      case Action::StepThatThrows:
        return plain_.step(call.which, /*throws=*/true);
      case Action::StepWithClosure:
        return plain_.step_with_closure(call.which);
      case Action::Update:
        return plain_.update();
      case Action::UpdateNumber:
        return plain_.update(call.number, /*checked=*/true);
      case Action::UpdateTensor:
        return plain_.update(call.number, /*checked=*/false);
      case Action::UpdateWrongTensor:
        return plain_.update_with_wrong_tensor();
      case Action::SetGrowthFactor:
        return plain_.set_growth_factor(call.number);
      case Action::SetBackoffFactor:
        return plain_.set_backoff_factor(call.number);
      case Action::SetGrowthInterval:
        return plain_.set_growth_interval(static_cast<int64_t>(call.number));
      case Action::Rebuild:
        plain_.rebuild(call.which, call.parameters);
        return plain::well;
      case Action::Move:
        return plain::well;
      case Action::Reload:
        return plain_.reload();
      case Action::LoadNonsense:
        return plain_.rules.enabled ? "E17" : plain::well;
      case Action::SaveAndLoad:
        return plain_.save_and_load();
    }
    return plain::well;
  }

  plain::Outcome call_real(const Call& call) {
    try {
      make_real_call(call);
    } catch (const c10::ValueError& error) {
      const std::string text = error.what_without_backtrace();
      return text.rfind("[torchamp.", 0) == 0 ? text.substr(10, 3) : text;
    } catch (const c10::Error& error) {
      return error.what_without_backtrace();
    } catch (const std::runtime_error&) {
      return plain::optimizer_threw;
    }
    return plain::well;
  }

  void make_real_call(const Call& call) {
    switch (call.action) {
      case Action::ScaleLoss:
        static_cast<void>(scaler_.scale(torch::ones({})));
        return;
      case Action::ScaleNoLoss:
        static_cast<void>(scaler_.scale(torch::ones({}, at::kInt)));
        return;
      case Action::Backward: {
        if (!can_go_backward(call.which)) return;
        auto loss = torch::zeros({});
        for (const auto number : plain_.optimizers[call.which].parameters) {
          if (!plain::has_backward(plain_.parameters[number].kind)) continue;
          loss = loss + (parameters_[number] * call.number).sum().to(at::kFloat);
        }
        scaler_.scale(loss).backward();
        return;
      }
      case Action::SetGradient:
        parameters_[call.which].mutable_grad() =
            gradient_of(plain_.parameters[call.which].kind, call.values);
        return;
      case Action::ZeroGrad:
        optimizers_[call.which]->zero_grad(call.number != 0 || !can_zero_in_place(call.which));
        return;
      case Action::Unscale:
        scaler_.unscale_(*optimizers_[call.which]);
        return;
      case Action::UnscaleRange: {
        std::vector<torch::Tensor> range;
        for (const auto number : call.parameters) range.push_back(parameters_[number]);
        scaler_.unscale_(range);
        return;
      }
      case Action::Step:
        result_ = scaler_.step(*optimizers_[call.which]);
        return;
      case Action::StepThatThrows: {
        auto& optimizer = *optimizers_[call.which];
        optimizer.throws = true;
        const auto restore =
            std::shared_ptr<void>(nullptr, [&](void*) { optimizer.throws = false; });
        scaler_.step(optimizer);
        return;
      }
      case Action::StepWithClosure:
        result_ = scaler_.step(*optimizers_[call.which], [] { return torch::zeros({}); });
        return;
      case Action::Update:
        scaler_.update();
        return;
      case Action::UpdateNumber:
        scaler_.update(call.number);
        return;
      case Action::UpdateTensor:
        scaler_.update(torch::full({1}, call.number));
        return;
      case Action::UpdateWrongTensor:
        scaler_.update(wrong_tensor(static_cast<int>(call.number)));
        return;
      case Action::SetGrowthFactor:
        scaler_.set_growth_factor(call.number);
        return;
      case Action::SetBackoffFactor:
        scaler_.set_backoff_factor(call.number);
        return;
      case Action::SetGrowthInterval:
        scaler_.set_growth_interval(static_cast<int64_t>(call.number));
        return;
      case Action::Rebuild:
        make_optimizer(call.which);
        return;
      case Action::Move: {
        auto elsewhere = std::move(scaler_);
        scaler_ = std::move(elsewhere);
        return;
      }
      case Action::Reload:
        scaler_.load_state_dict(scaler_.state_dict());
        return;
      case Action::LoadNonsense:
        scaler_.load_state_dict(nonsense(static_cast<int>(call.number)));
        return;
      case Action::SaveAndLoad: {
        std::stringstream file;
        torch::save(scaler_, file);
        BasicGradScaler<LossScale> loaded(options_of(plain_.made_with, alarms_));
        torch::load(loaded, file);
        scaler_ = std::move(loaded);
        return;
      }
    }
  }

  /// A state that is right but for one number.
  torchamp::GradScalerState nonsense(int kind) const {
    auto state = scaler_.state_dict();
    switch (kind) {
      case 0:
        state.scale = 0;
        break;
      case 1:
        state.growth_factor = 1;
        break;
      case 2:
        state.backoff_factor = 1;
        break;
      case 3:
        state.growth_interval = 0;
        break;
      case 4:
        state.growth_tracker = -1;
        break;
      default:
        state = torchamp::GradScalerState::of_disabled();
    }
    return state;
  }

  static torch::Tensor wrong_tensor(int kind) {
    switch (kind) {
      case 0:
        return {};
      case 1:
        return torch::ones({2});
      case 2:
        return torch::ones({1}, at::kInt);
      default:
        return torch::ones({1}, torch::requires_grad());
    }
  }

  std::string difference() const {
    std::ostringstream text;
    text.precision(17);
    const auto compare = [&text](const char* what, double seen, double expected) {
      if (!same(seen, expected))
        text << what << " is " << seen << ", expected " << expected << "; ";
    };
    compare("the scale", scaler_.get_scale(), plain_.get_scale());
    compare("the growth tracker", static_cast<double>(scaler_.growth_tracker()),
            static_cast<double>(plain_.growth_tracker()));
    compare("scale_tensor().defined()", scaler_.scale_tensor().defined(), plain_.on_device);
    compare("taken_steps()", static_cast<double>(scaler_.taken_steps()),
            static_cast<double>(plain_.taken));
    compare("skipped_steps()", static_cast<double>(scaler_.skipped_steps()),
            static_cast<double>(plain_.skipped));
    compare("the growth factor", scaler_.get_growth_factor(), plain_.rules.growth_factor);
    compare("the backoff factor", scaler_.get_backoff_factor(), plain_.rules.backoff_factor);
    compare("the growth interval", static_cast<double>(scaler_.get_growth_interval()),
            static_cast<double>(plain_.rules.growth_interval));
    compare("the number of alarms", static_cast<double>(alarms_),
            static_cast<double>(plain_.alarms));
    if (result_) {
      const auto status = result_->status();
      const std::string seen = status == StepStatus::Taken     ? "taken"
                               : status == StepStatus::Skipped ? "skipped"
                                                               : "no gradients";
      if (seen != plain_.status)
        text << "step was " << seen << ", expected " << plain_.status << "; ";
      const bool checked = plain_.rules.enabled && plain_.status != "no gradients";
      compare("found_inf().defined()", result_->found_inf().defined(), checked);
      if (checked) {
        compare("found_inf()", result_->found_inf().item<float>(), plain_.status == "skipped");
      }
    }
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto& parameter = plain_.parameters[i];
      if (!same(values_of(parameters_[i]), parameter.values)) {
        text << "parameter " << i << " is {" << values_of(parameters_[i]) << " }, expected {"
             << parameter.values << " }; ";
      }
      const auto& gradient = parameters_[i].grad();
      compare("whether there is a gradient", gradient.defined(), parameter.gradient.has_value());
      if (!gradient.defined() || !parameter.gradient) continue;
      if (!same(values_of(gradient), parameter.gradient->values)) {
        text << "gradient " << i << " is {" << values_of(gradient) << " }, expected {"
             << parameter.gradient->values << " }; ";
      }
    }
    return text.str();
  }

  plain::Scaler plain_;
  int64_t alarms_ = 0;
  BasicGradScaler<LossScale> scaler_;
  std::vector<torch::Tensor> parameters_;
  std::vector<std::optional<Sgd>> optimizers_;  // which keep their addresses when made again
  std::optional<StepResult> result_;
};

// --- Chance --------------------------------------------------------------------------------------

/// The same numbers on every platform, which std's distributions do not promise.
class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937 random_;
};

World random_world(Dice& dice) {
  World world;
  auto& rules = world.rules;
  rules.constant = dice.one_in(8);
  rules.enabled = !dice.one_in(10);
  rules.min_scale = dice.one_of<double>({1.0 / 16777216, 0.125, 1, 3.3});
  rules.max_scale = dice.one_of<double>({64, 1000, 1e30, std::numeric_limits<float>::max()});
  rules.init_scale = dice.one_of<double>({4, 7.3, 64});
  if (rules.max_scale >= 65536 && dice.one_in(3)) rules.init_scale = 65536;
  rules.growth_factor = dice.one_of<double>({2, 1.3, 16, 1e10});
  rules.backoff_factor = dice.one_of<double>({0.5, 0.25, 0.7});
  rules.growth_interval = dice.one_of<int64_t>({1, 2, 3, 100});
  rules.hysteresis = dice.one_of<int64_t>({1, 1, 2, 3});
  rules.consecutive_hysteresis = dice.one_in(2);
  rules.many_skips = dice.one_of<int64_t>({0, 1, 2, 3});
  rules.many_skips_throw = dice.one_in(2);

  std::vector<plain::Kind> kinds{plain::Kind::Float,    plain::Kind::Float,   plain::Kind::Double,
                                 plain::Kind::BFloat16, plain::Kind::Complex, plain::Kind::Sparse};
  if (rules.enabled && dice.one_in(4)) {
    kinds.push_back(plain::Kind::Half);
    kinds.push_back(plain::Kind::Int);
  }
  world.optimizers.resize(1 + dice.below(3));
  const auto add = [&](plain::Optimizer& optimizer, std::size_t parameter) {
    optimizer.parameters.push_back(parameter);
    optimizer.rates.push_back(dice.one_of<double>({1, 0.5}));
  };
  for (auto& optimizer : world.optimizers) {
    for (std::size_t i = 1 + dice.below(3); i > 0; --i) {
      add(optimizer, world.parameters.size());
      world.parameters.push_back(dice.one_of(kinds));
    }
  }
  if (world.optimizers.size() > 1 && dice.one_in(3)) add(world.optimizers[1], 0);  // shared
  for (auto& optimizer : world.optimizers) {
    optimizer.has_master_weights = dice.one_in(3);
    optimizer.decides_on_device = dice.one_in(4);
  }
  return world;
}

/// Some of the parameters, each once, in any order.
std::vector<std::size_t> some_parameters(Dice& dice, const World& world) {
  std::vector<std::size_t> left(world.parameters.size()), some;
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (std::size_t i = 1 + dice.below(left.size()); i > 0; --i) {
    const auto pick = left.begin() + static_cast<std::ptrdiff_t>(dice.below(left.size()));
    some.push_back(*pick);
    left.erase(pick);
  }
  return some;
}

Call random_call(Dice& dice, const World& world) {
  static const std::vector<double> finite{0, 1, -2, 3, 0.375, 100, 1e30, -1e-20, 3e38};
  static const std::vector<double> bad{infinity, -infinity, not_a_number};
  static const std::vector<Action> often{
      Action::ScaleLoss,   Action::Backward,    Action::Backward,    Action::Backward,
      Action::SetGradient, Action::SetGradient, Action::SetGradient, Action::ZeroGrad,
      Action::Unscale,     Action::Unscale,     Action::Unscale,     Action::Step,
      Action::Step,        Action::Step,        Action::Step,        Action::Step,
      Action::Update,      Action::Update,      Action::Update,      Action::Update};
  static const std::vector<Action> rarely{
      Action::UnscaleRange,    Action::UnscaleRange,     Action::StepThatThrows,
      Action::StepWithClosure, Action::ScaleNoLoss,      Action::UpdateNumber,
      Action::UpdateNumber,    Action::UpdateTensor,     Action::UpdateWrongTensor,
      Action::SetGrowthFactor, Action::SetBackoffFactor, Action::SetGrowthInterval,
      Action::Rebuild,         Action::Rebuild,          Action::Move,
      Action::Reload,          Action::LoadNonsense,     Action::SaveAndLoad};
  Call call;
  call.action = dice.one_of(dice.one_in(5) ? rarely : often);
  call.which = dice.below(world.optimizers.size());
  switch (call.action) {
    case Action::Backward:
      call.number = dice.one_of<double>({1, -2, 3, 0.5, 0, 1e9, infinity, not_a_number});
      if (call.number == 1e9) call.number = 1073741824;  // a power of 2 is itself in every dtype
      break;
    case Action::SetGradient: {
      call.which = dice.below(world.parameters.size());
      const auto kind = world.parameters[call.which];
      for (std::size_t i = gradient_numbers(kind); i > 0; --i) {
        call.values.push_back(kind == plain::Kind::Int ? 1 : dice.one_of(finite));
      }
      if (kind != plain::Kind::Int && dice.one_in(3)) {
        call.values[dice.below(call.values.size())] = dice.one_of(bad);
      }
      break;
    }
    case Action::UnscaleRange:
      call.parameters = some_parameters(dice, world);
      break;
    case Action::Rebuild:
      call.parameters =
          dice.one_in(3) ? world.optimizers[call.which].parameters : some_parameters(dice, world);
      break;
    case Action::ZeroGrad:
      call.number = dice.one_in(2) ? 1 : 0;
      break;
    case Action::UpdateNumber:
      call.number = dice.one_of<double>({1, 8, 10.1, 64, 0, -1, 1e39, infinity, not_a_number});
      break;
    case Action::LoadNonsense:
      call.number = static_cast<double>(dice.below(6));
      break;
    case Action::UpdateTensor:
      call.number = dice.one_of<double>({4, 8, 64, 0.25});
      break;
    case Action::UpdateWrongTensor:
      call.number = static_cast<double>(dice.below(4));
      break;
    case Action::SetGrowthFactor:
      call.number = dice.one_of<double>({2, 3, 1.5, 1, 0, -2, infinity, not_a_number});
      break;
    case Action::SetBackoffFactor:
      call.number = dice.one_of<double>({0.5, 0.75, 1, 0, -0.5, not_a_number});
      break;
    case Action::SetGrowthInterval:
      call.number = dice.one_of<double>({1, 2, 3, 0, -1, 4294967296.0});
      break;
    default:
      break;
  }
  return call;
}

/// Single calls by chance, and now and then an iteration as a program would write it.
std::vector<Call> random_calls(Dice& dice, const World& world) {
  std::vector<Call> calls;
  while (calls.size() < 40) {
    if (!dice.one_in(6)) {
      calls.push_back(random_call(dice, world));
      continue;
    }
    const double slope = dice.one_in(4) ? infinity : 1;
    const bool in_ranges = dice.one_in(3);
    for (std::size_t i = 0; i < world.optimizers.size(); ++i) {
      calls.push_back({Action::ZeroGrad, i, 1, {}, {}});
    }
    for (std::size_t i = 0; i < world.optimizers.size(); ++i) {
      calls.push_back({Action::Backward, i, slope, {}, {}});
    }
    for (std::size_t i = 0; i < world.optimizers.size(); ++i) {
      if (in_ranges) {
        calls.push_back({Action::UnscaleRange, 0, 0, {}, world.optimizers[i].parameters});
      }
      calls.push_back({Action::Step, i, 0, {}, {}});
    }
    calls.push_back({Action::Update, 0, 0, {}, {}});
  }
  return calls;
}

// --- Running, and making short what fails --------------------------------------------------------

struct Failure {
  std::size_t call;  // its number
  std::string difference;
};

using Outcomes = std::map<std::string, int>;

template <class LossScale>
std::optional<Failure> run_with(const World& world, const std::vector<Call>& calls,
                                Outcomes* outcomes) {
  Pair<LossScale> pair(world);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto difference = pair.differ_after(calls[i]);
    if (!difference.empty()) return Failure{i, std::move(difference)};
    if (outcomes != nullptr) ++(*outcomes)[pair.last_outcome];
  }
  return std::nullopt;
}

std::optional<Failure> run(const World& world, const std::vector<Call>& calls,
                           Outcomes* outcomes = nullptr) {
  return world.rules.constant ? run_with<torchamp::ConstantLossScale>(world, calls, outcomes)
                              : run_with<torchamp::DynamicLossScale>(world, calls, outcomes);
}

/// Leaves out every call without which the sequence still fails.
void shorten(const World& world, std::vector<Call>& calls, Failure& failure) {
  calls.resize(failure.call + 1);
  for (bool shorter = true; shorter;) {
    shorter = false;
    for (std::size_t i = calls.size(); i > 0; --i) {
      auto fewer = calls;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (auto still = run(world, fewer)) {
        fewer.resize(still->call + 1);
        i = std::min(i, fewer.size() + 1);
        calls = std::move(fewer);
        failure = std::move(*still);
        shorter = true;
      }
    }
  }
}

std::string report(uint32_t seed, const World& world, const std::vector<Call>& calls,
                   const Failure& failure) {
  std::ostringstream text;
  text << "TORCHAMP_TEST_SEED=" << seed << " TORCHAMP_TEST_COUNT=1 fails; in short:\n"
       << words(world) << "\n";
  for (std::size_t i = 0; i < calls.size(); ++i) text << i + 1 << ". " << words(calls[i]) << "\n";
  text << "After the last call " << failure.difference;
  return text.str();
}

uint32_t number_from_environment(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

}  // namespace

TEST_CASE("After any sequence of calls, GradScaler is where its rules in plain numbers say") {
  const auto first = number_from_environment("TORCHAMP_TEST_SEED", 1);
  const auto count = number_from_environment("TORCHAMP_TEST_COUNT", 1000);
  MESSAGE("sequences ", first, " to ", first + count - 1);
  Outcomes outcomes;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    Dice dice(seed);
    const auto world = random_world(dice);
    auto calls = random_calls(dice, world);
    auto failure = run(world, calls, &outcomes);
    if (!failure) continue;
    shorten(world, calls, *failure);
    FAIL(report(seed, world, calls, *failure));
  }

  if (count < 1000) return;
  // The sequences went everywhere: each way for a call to end was seen many times.
  for (const char* outcome :
       {"", "taken", "skipped", "no gradients", "E03", "E04", "E05", "E06", "E07", "E08", "E09",
        "E10", "E11", "E12", "E16", "E17", "E18", "E19"}) {
    CAPTURE(outcome);
    CHECK(outcomes[outcome] >= 20);
  }
  CHECK(outcomes[plain::optimizer_threw] >= 20);
}
