// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace parity {

using Json = nlohmann::json;

/// Each option has Python's name and, unless set, Python's default, which is LibTorch's too.
inline void set(torch::optim::SGDOptions& options, const std::string& name, const Json& value) {
  if (name == "lr") return (void)options.lr(value);
  if (name == "momentum") return (void)options.momentum(value);
  if (name == "dampening") return (void)options.dampening(value);
  if (name == "weight_decay") return (void)options.weight_decay(value);
  if (name == "nesterov") return (void)options.nesterov(value);
  throw std::invalid_argument("SGD has no option " + name);
}

template <class Options>  // AdamOptions, AdamWOptions
void set_adam(Options& options, const std::string& name, const Json& value) {
  if (name == "lr") return (void)options.lr(value);
  if (name == "betas")
    return (void)options.betas(
        std::make_tuple(value.at(0).get<double>(), value.at(1).get<double>()));
  if (name == "eps") return (void)options.eps(value);
  if (name == "weight_decay") return (void)options.weight_decay(value);
  if (name == "amsgrad") return (void)options.amsgrad(value);
  throw std::invalid_argument("Adam has no option " + name);
}
inline void set(torch::optim::AdamOptions& options, const std::string& name, const Json& value) {
  set_adam(options, name, value);
}
inline void set(torch::optim::AdamWOptions& options, const std::string& name, const Json& value) {
  set_adam(options, name, value);
}

inline void set(torch::optim::AdagradOptions& options, const std::string& name, const Json& value) {
  if (name == "lr") return (void)options.lr(value);
  if (name == "lr_decay") return (void)options.lr_decay(value);
  if (name == "weight_decay") return (void)options.weight_decay(value);
  throw std::invalid_argument("Adagrad has no option " + name);
}

inline void set(torch::optim::RMSpropOptions& options, const std::string& name, const Json& value) {
  if (name == "lr") return (void)options.lr(value);
  if (name == "alpha") return (void)options.alpha(value);
  if (name == "centered") return (void)options.centered(value);
  if (name == "momentum") return (void)options.momentum(value);
  throw std::invalid_argument("RMSprop has no option " + name);
}

/// Options as their constructor leaves them. Since LibTorch 2.12 a group whose value equals that
/// default is given the optimizer's own in its place; with this as the optimizer's, it stays.
template <class Options>
Options untouched() {
  if constexpr (std::is_default_constructible_v<Options>) {
    return Options();
  } else {
    return Options(1e-3);
  }
}

/// `spec`: {"kind": …, "groups": [{"parameters": [index…], "options": {name: value}}…]}
template <class Optimizer, class Options>
std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Json& spec, const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (const Json& group : spec.at("groups")) {
    std::vector<torch::Tensor> members;
    for (const std::size_t index : group.at("parameters")) members.push_back(parameters.at(index));
    auto options = std::make_unique<Options>(untouched<Options>());
    for (const auto& [name, value] : group.at("options").items()) set(*options, name, value);
    groups.emplace_back(std::move(members), std::move(options));
  }
  return std::make_unique<Optimizer>(std::move(groups), untouched<Options>());
}

inline std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Json& spec, const std::vector<torch::Tensor>& parameters) {
  using namespace torch::optim;
  const std::string kind = spec.at("kind");
  if (kind == "SGD") return make_optimizer<SGD, SGDOptions>(spec, parameters);
  if (kind == "Adam") return make_optimizer<Adam, AdamOptions>(spec, parameters);
  if (kind == "AdamW") return make_optimizer<AdamW, AdamWOptions>(spec, parameters);
  if (kind == "Adagrad") return make_optimizer<Adagrad, AdagradOptions>(spec, parameters);
  if (kind == "RMSprop") return make_optimizer<RMSprop, RMSpropOptions>(spec, parameters);
  throw std::invalid_argument("unknown optimizer " + kind);
}

}  // namespace parity
