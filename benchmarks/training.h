// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/torchamp.h>

#include "case.h"
#include "support/simple_cnn.h"

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// A whole step of training, forward, backward and optimizer, on one batch of random numbers.
// python_side.py has the same models.
namespace benchmarks {

/// Twelve layers so small that what is measured is the way to the kernels, not the kernels.
class SmallMlpImpl : public torch::nn::Module {
 public:
  static constexpr std::int64_t width = 32;

  SmallMlpImpl() {
    for (int i = 0; i < 12; ++i) {
      const auto name = "layer" + std::to_string(i);
      layers_.push_back(register_module(name, torchamp::Linear(width, width)));
    }
  }

  torch::Tensor forward(torch::Tensor x) {
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) x = torch::relu(layers_[i](x));
    return layers_.back()(x);
  }

 private:
  std::vector<torchamp::Linear> layers_;
};
TORCH_MODULE(SmallMlp);

struct Batch {
  torch::Tensor inputs;
  torch::Tensor labels;
};

template <class Optimizer, class Model>
Case training_case(Model model, std::shared_ptr<Optimizer> optimizer, Batch batch, bool amp) {
  namespace F = torch::nn::functional;
  if (!amp) {
    return {[=]() mutable {
              optimizer->zero_grad();
              const auto loss = F::cross_entropy(model->forward(batch.inputs), batch.labels);
              loss.backward();
              optimizer->step();
            },
            nullptr};
  }
  auto scaler = std::make_shared<torchamp::GradScaler>();
  return {[=]() mutable {
            optimizer->zero_grad();
            torch::Tensor loss;
            {
              const torchamp::AutocastGuard autocast(torch::kCPU, torch::kBFloat16);
              loss = F::cross_entropy(model->forward(batch.inputs), batch.labels);
            }
            scaler->scale(loss).backward();
            scaler->step(*optimizer);
            scaler->update();
          },
          nullptr};
}

template <class Model>
Case training_case(const std::string& name, Model model, Batch batch) {
  const auto words = words_of(name);
  const bool amp = words[2] == "amp";
  if (!amp && words[2] != "fp32") no_such_case(name);
  const torch::optim::AdamOptions options(1e-4);
  const auto parameters = model->parameters();
  if (words[3] == "plain") {
    return training_case(model, std::make_shared<torch::optim::Adam>(parameters, options),
                         std::move(batch), amp);
  }
  if (words[3] == "fused") {
    return training_case(model, std::make_shared<torchamp::FusedAdam>(parameters, options),
                         std::move(batch), amp);
  }
  no_such_case(name);
}

/// `make(model, batch)` with the model that the second word of `name` is: cnn or mlp.
template <class Make>
Case with_model(const std::string& name, const Make& make) {
  const auto model = words_of(name).at(1);
  if (model == "cnn") {
    return make(examples::SimpleCnn(),
                Batch{torch::randn({16, 3, 32, 32}), torch::randint(10, {16})});
  }
  if (model == "mlp") {
    constexpr auto width = SmallMlpImpl::width;
    return make(SmallMlp(), Batch{torch::randn({16, width}), torch::randint(width, {16})});
  }
  no_such_case(name);
}

/// train/cnn|mlp/fp32|amp/IMPLEMENTATION
inline Case training_case(const std::string& name) {
  if (words_of(name).size() != 4) no_such_case(name);
  return with_model(
      name, [&](auto model, Batch batch) { return training_case(name, model, std::move(batch)); });
}

}  // namespace benchmarks
