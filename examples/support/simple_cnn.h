// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace examples {

/// Two convolutions, each with ReLU and 2 x 2 max pooling, and one linear layer to 10 classes.
class SimpleCnnImpl : public torch::nn::Module {
 public:
  /// For square images with 3 channels; `image_size` is a side in pixels.
  explicit SimpleCnnImpl(std::int64_t image_size = 32) {
    using torch::nn::Conv2d;
    using torch::nn::Conv2dOptions;
    conv1_ = register_module("conv1", Conv2d(Conv2dOptions(3, 32, /*kernel_size=*/3).padding(1)));
    conv2_ = register_module("conv2", Conv2d(Conv2dOptions(32, 64, /*kernel_size=*/3).padding(1)));

    // Asks the layers above how many features an image leaves: 64 x 8 x 8 for 32 pixels.
    torch::NoGradGuard no_grad;
    const auto sample = features(torch::zeros({1, 3, image_size, image_size}));
    linear_ = register_module("linear", torch::nn::Linear(sample.numel(), /*out_features=*/10));
  }

  /// Images, N x 3 x size x size, to the scores of the classes, N x 10.
  torch::Tensor forward(const torch::Tensor& images) {
    return linear_(features(images).flatten(/*start_dim=*/1));
  }

 private:
  torch::Tensor features(const torch::Tensor& images) {
    const auto half_size = torch::max_pool2d(torch::relu(conv1_(images)), /*kernel_size=*/2);
    return torch::max_pool2d(torch::relu(conv2_(half_size)), /*kernel_size=*/2);
  }

  torch::nn::Conv2d conv1_{nullptr};
  torch::nn::Conv2d conv2_{nullptr};
  torch::nn::Linear linear_{nullptr};
};
TORCH_MODULE(SimpleCnn);

}  // namespace examples
