// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/optim/clip_grad.h>

#include "parity/hand_over.h"
#include "parity/net.h"
#include "parity/optimizers.h"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace parity {

/// JSON has no infinity: it is written as a word.
inline double number(const Json& json) {
  if (json.is_number()) return json;
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

/// A float32 tensor's elements in row order, each as eight hexadecimal digits.
inline std::string bits(const torch::Tensor& tensor) {
  const auto values = tensor.detach().to(torch::kFloat).contiguous().view(torch::kInt);
  std::string text;
  for (int64_t i = 0; i < values.numel(); ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x",
                  static_cast<unsigned>(values.const_data_ptr<int32_t>()[i]));
    text += digits;
  }
  return text;
}

inline void fill_element(torch::Tensor tensor, const std::string& element, double value) {
  const torch::NoGradGuard no_grad;
  while (tensor.dim() > 0) {
    const int64_t size = tensor.size(0);
    tensor = tensor.select(0, element == "first" ? 0 : element == "middle" ? size / 2 : size - 1);
  }
  tensor.fill_(value);
}

/// A scenario being trained with torchamp: the class Training of train.py, function by function.
class Training {
 public:
  explicit Training(const Json& scenario) : scenario_(scenario) {
    torch::manual_seed(scenario.at("seed").get<uint64_t>());
    for (int i = 0; i < scenario.at("nets"); ++i)
      nets_.emplace_back(scenario.at("net").at("layers"));
    for (const Net& net : nets_) {
      parameters_.insert(parameters_.end(), net.parameters().begin(), net.parameters().end());
    }
    for (int step = 0; step < scenario.at("steps"); ++step) {
      batches_.emplace_back();
      for (int i = 0; i < scenario.at("accumulate"); ++i) batches_.back().push_back(draw_batch());
    }
    for (const Json& spec : scenario.at("optimizers")) {
      optimizers_.push_back(make_optimizer(spec, parameters_));
    }
    const Json& scaler = scenario.at("scaler");
    scaler_.emplace(torchamp::GradScalerOptions()
                        .enabled(scaler.at("enabled"))
                        .init_scale(scaler.at("init_scale"))
                        .growth_factor(scaler.at("growth_factor"))
                        .backoff_factor(scaler.at("backoff_factor"))
                        .growth_interval(scaler.at("growth_interval")));
  }

  const Json& scenario() const { return scenario_; }

  /// Goes on from Python's checkpoint.
  void load(const std::filesystem::path& path) {
    load_checkpoint(path, *scaler_, parameters_, optimizers_);
  }

  /// Writes a checkpoint for Python.
  void save(const std::filesystem::path& folder) const {
    save_checkpoint(folder, scenario_.at("name"), *scaler_, parameters_, optimizers_);
  }

  /// One step of training, and what is to be told of it.
  Json step(int step) {
    inject(step, "data");
    for (auto& optimizer : optimizers_) optimizer->zero_grad();
    Json losses_told = Json::array();
    for (const Batch& batch : batches_.at(step - 1)) {
      std::vector<torch::Tensor> losses;
      {
        const Region region = autocast();
        losses = losses_of(batch);
      }
      if (scenario_.at("penalty") != 0.0) {
        for (auto& loss : losses) loss = penalised(loss);
      }
      for (const auto& loss : losses) losses_told.push_back(bits(loss));
      const auto scaled = scaler_->scale(losses);
      for (std::size_t i = 0; i < scaled.size(); ++i) {
        scaled[i].backward({}, /*retain_graph=*/i + 1 < scaled.size());
      }
    }
    inject(step, "gradient");
    for (const std::size_t i : scenario_.at("unscale")) scaler_->unscale_(*optimizers_.at(i));
    clip();
    inject(step, "unscaled gradient");
    Json taken = Json::array();
    for (auto& optimizer : optimizers_) taken.push_back(scaler_->step(*optimizer).taken());
    update(step);
    return {{"losses", losses_told}, {"taken", taken}};
  }

  Json record(int step, Json told) const {
    Json settings;
    if (scaler_->is_enabled()) {
      settings = {scaler_->get_growth_factor(), scaler_->get_backoff_factor(),
                  scaler_->get_growth_interval()};
    }
    Json parameters = Json::array();
    Json gradients = Json::array();
    for (const auto& parameter : parameters_) {
      parameters.push_back(bits(parameter));
      gradients.push_back(parameter.grad().defined() ? Json(bits(parameter.grad())) : Json());
    }
    told.update({{"step", step},
                 {"scale", scaler_->get_scale()},
                 {"growth_tracker", scaler_->growth_tracker()},
                 {"settings", settings},
                 {"parameters", parameters},
                 {"gradients", gradients}});
    return told;
  }

 private:
  using Batch = std::pair<torch::Tensor, torch::Tensor>;  // inputs, targets
  using Region = std::optional<torchamp::AutocastGuard>;

  Batch draw_batch() const {
    const Json& net = scenario_.at("net");
    std::vector<int64_t> shape = net.at("input");
    const int64_t batch = scenario_.at("batch");
    shape.insert(shape.begin(), batch);
    const auto inputs = torch::randn(shape);
    const int64_t outputs = net.at("outputs");
    if (net.at("loss") == "cross_entropy") return {inputs, torch::randint(outputs, {batch})};
    return {inputs, torch::randn({batch, outputs})};
  }

  torch::ScalarType region_dtype() const {
    return scenario_.at("autocast") == "float16" ? torch::kHalf : torch::kBFloat16;
  }

  Region autocast() const {
    if (scenario_.at("autocast") == "none") return std::nullopt;
    return Region(std::in_place, torch::kCPU, region_dtype());
  }

  /// One loss for each row of `mix`.
  std::vector<torch::Tensor> losses_of(const Batch& batch) {
    std::vector<torch::Tensor> outputs;
    for (Net& net : nets_) outputs.push_back(net(batch.first));
    std::vector<torch::Tensor> losses;
    for (const Json& row : scenario_.at("mix")) {
      auto mixed = outputs[0] * row.at(0).get<double>();
      for (std::size_t i = 1; i < outputs.size(); ++i) {
        mixed = mixed + outputs[i] * row.at(i).get<double>();
      }
      auto loss = scenario_.at("net").at("loss") == "mse"
                      ? at::mse_loss(mixed, batch.second)
                      : at::cross_entropy_loss(mixed, batch.second);
      loss = loss / scenario_.at("accumulate").get<int64_t>();
      if (scenario_.at("half_loss")) loss = loss.to(region_dtype());
      losses.push_back(loss);
    }
    return losses;
  }

  /// The loss and the norm of its unscaled gradients, which have gradients themselves.
  torch::Tensor penalised(const torch::Tensor& loss) {
    const auto scaled = torch::autograd::grad({scaler_->scale(loss)}, parameters_,
                                              /*grad_outputs=*/{}, /*retain_graph=*/{},
                                              /*create_graph=*/true);
    const double inverse = 1.0 / scaler_->get_scale();
    const Region region = autocast();
    auto squares = torch::zeros({});
    for (const auto& gradient : scaled) squares = squares + (gradient * inverse).pow(2).sum();
    return loss + squares.sqrt() * scenario_.at("penalty").get<double>();
  }

  void inject(int step, const std::string& where) {
    for (const Json& one : scenario_.at("inject")) {
      if (one.at("step") != step || one.at("where") != where) continue;
      const auto tensor = where == "data" ? batches_.at(step - 1).at(0).first
                                          : parameters_.at(one.at("parameter")).grad();
      fill_element(tensor, one.at("element"), number(one.at("value")));
    }
  }

  void clip() {
    const Json& clip = scenario_.at("clip");
    if (clip.is_null()) return;
    const double max_norm =
        clip.at("max_norm").get<double>() * (clip.at("scaled") ? scaler_->get_scale() : 1.0);
    for (const std::size_t i : clip.at("optimizers")) {
      std::vector<torch::Tensor> owned;
      for (const auto& group : optimizers_.at(i)->param_groups()) {
        owned.insert(owned.end(), group.params().begin(), group.params().end());
      }
      const double norm_type = number(clip.at("norm_type"));
      if (clip.at("with") == "torchamp") {
        torchamp::clip_grad_norm_(owned, max_norm, norm_type);
      } else {
        torch::nn::utils::clip_grad_norm_(owned, max_norm, norm_type);
      }
    }
  }

  void update(int step) {
    std::optional<Json> new_scale;
    for (const Json& one : scenario_.at("calls")) {
      const std::string call = one.at("call");
      if (one.at("step") == step && call.rfind("update", 0) == 0 && !new_scale) new_scale = one;
    }
    if (!new_scale) {
      scaler_->update();
    } else if (new_scale->at("call") == "update_tensor") {
      scaler_->update(torch::tensor(new_scale->at("value").get<double>(), torch::kFloat));
    } else {
      scaler_->update(new_scale->at("value").get<double>());
    }
    for (const Json& one : scenario_.at("calls")) {
      if (one.at("step") != step) continue;
      if (one.at("call") == "set_growth_factor") scaler_->set_growth_factor(one.at("value"));
      if (one.at("call") == "set_backoff_factor") scaler_->set_backoff_factor(one.at("value"));
      if (one.at("call") == "set_growth_interval") scaler_->set_growth_interval(one.at("value"));
    }
  }

  Json scenario_;
  std::vector<Net> nets_;
  std::vector<torch::Tensor> parameters_;
  std::vector<std::vector<Batch>> batches_;  // by step, by backward
  Optimizers optimizers_;
  std::optional<torchamp::GradScaler> scaler_;
};

}  // namespace parity
