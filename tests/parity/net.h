// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace parity {

using Json = nlohmann::json;

/// A network as scenarios.py describes it: the class Net of train.py.
class Net {
 public:
  /// Draws the parameters from the default generator, in the order of the layers.
  explicit Net(Json layers) : layers_(std::move(layers)) {
    for (const Json& layer : layers_) {
      const std::string kind = layer.at("kind");
      if (kind == "linear") {
        draw({layer.at("out"), layer.at("in")});
      } else if (kind == "conv2d") {
        const int64_t size = layer.at("kernel");
        draw({layer.at("out"), layer.at("in"), size, size});
      }
    }
  }

  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  torch::Tensor operator()(torch::Tensor x) {
    auto parameter = parameters_.begin();
    for (const Json& layer : layers_) {
      const std::string kind = layer.at("kind");
      if (kind == "linear") {
        // torch::nn::Linear computes the former, Python's torch.nn.Linear the latter.
        x = layer.at("module") ? torch::nn::functional::linear(x, parameter[0], parameter[1])
                               : at::linear(x, parameter[0], parameter[1]);
        parameter += 2;
      } else if (kind == "conv2d") {
        const int64_t padding = layer.at("padding");
        x = at::conv2d(x, parameter[0], parameter[1], /*stride=*/1, padding);
        parameter += 2;
      } else if (kind == "relu") {
        x = at::relu(x);
      } else if (kind == "max_pool2d") {
        x = at::max_pool2d(x, /*kernel_size=*/2);
      } else if (kind == "flatten") {
        x = x.flatten(1);
      }
    }
    return x;
  }

 private:
  void draw(const std::vector<int64_t>& shape) {
    const int64_t fan_in = c10::multiply_integers(shape.begin() + 1, shape.end());
    const auto weight = torch::randn(shape);
    const auto bias = torch::randn(shape[0]);
    for (const auto& drawn : {weight, bias}) {
      parameters_.push_back(drawn.div(std::sqrt(static_cast<double>(fan_in))).requires_grad_());
    }
  }

  Json layers_;
  std::vector<torch::Tensor> parameters_;
};

}  // namespace parity
