// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/bench/step_context.h>
#include <torchamp/diagnose/underflow.h>
#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <string>

#include "support/batches.h"
#include "support/fashion_mnist.h"
#include "support/simple_cnn.h"

namespace examples {

/// "FP32", "AMP bf16" or "AMP fp16".
inline std::string training_name(torch::ScalarType dtype) {
  return dtype == torch::kHalf ? "AMP fp16" : dtype == torch::kBFloat16 ? "AMP bf16" : "FP32";
}

/// A SimpleCnn and what trains it, in the way that `dtype` asks for: float32 is plain FP32, float16
/// is AMP with scaling, bfloat16 AMP without.
class Training {
 public:
  Training(torch::Device device, torch::ScalarType dtype)
      : device_(device),
        autocast_(dtype == torch::kFloat ? torchamp::AutocastOptions().enabled(false)
                                         : torchamp::AutocastOptions().dtype(dtype)),
        model_(on(device)),
        optimizer_(model_->parameters(), /*lr=*/1e-3),
        scaler_(torchamp::GradScalerOptions().enabled(dtype == torch::kHalf)) {}

  /// Returns the loss, still on the device. Fetching the batch is no part of a step.
  torch::Tensor step(const Batches& batch, torchamp::StepContext& context) {
    optimizer_.zero_grad();
    torch::Tensor loss;
    {
      const auto forward = context.phase("forward");
      const torchamp::AutocastGuard autocast(device_, autocast_);
      loss = torch::nn::functional::cross_entropy(model_->forward(batch.images), batch.labels);
    }
    context.phase("backward", [&] { scaler_.scale(loss).backward(); });
    context.phase("optimizer", [&] {
      scaler_.step(optimizer_);
      scaler_.update();
    });
    context.watch(scaler_);
    return loss.detach();
  }

  /// What float16 would lose of the gradients that the last step left, at the scaler's scale.
  torchamp::UnderflowReport underflow() const {
    return torchamp::find_underflow(*model_, scaler_, torchamp::GradientsAre::Unscaled);
  }

  /// The share of images, from 0 to 1, whose class is guessed right, in the same precision.
  double accuracy(const FashionMnist& data) {
    const torch::NoGradGuard no_grad;
    const torchamp::AutocastGuard autocast(device_, autocast_);
    model_->eval();
    auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        FashionMnist(data).map(torch::data::transforms::Stack<>()), /*batch_size=*/100);
    auto correct = torch::zeros({}, torch::TensorOptions(device_).dtype(torch::kInt64));
    for (const auto& batch : *loader) {
      const auto guesses = model_->forward(batch.data.to(device_)).argmax(/*dim=*/1);
      correct += guesses.eq(batch.target.to(device_)).sum();
    }
    model_->train();
    return correct.item<double>() / static_cast<double>(*data.size());
  }

 private:
  static SimpleCnn on(torch::Device device) {
    SimpleCnn model(FashionMnist::image_size);
    model->to(device);
    return model;
  }

  torch::Device device_;
  torchamp::AutocastOptions autocast_;
  SimpleCnn model_;
  torch::optim::Adam optimizer_;
  torchamp::GradScaler scaler_;
};

}  // namespace examples
