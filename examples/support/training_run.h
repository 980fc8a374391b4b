// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/arguments.h"
#include "support/progress.h"
#include "support/simple_cnn.h"

namespace examples {

/// "fp32", "bf16" or "fp16".
inline std::string short_name(torch::ScalarType dtype) {
  return dtype == torch::kHalf ? "fp16" : dtype == torch::kBFloat16 ? "bf16" : "fp32";
}

/// What was measured while a model was trained and tested once.
struct TrainingRun {
  std::string name;             ///< "FP32", "AMP bf16" or "AMP fp16"
  torch::ScalarType dtype;      ///< float32 for FP32, else what autocast casts to
  std::vector<double> seconds;  ///< of each step, the first few, which warm up, left out
  double images_per_second;     ///< over those steps
  std::int64_t peak_bytes;      ///< the most that tensors made in the second step held at once
  std::vector<double> losses;   ///< of every step
  double test_accuracy;         ///< from 0 to 1
  double final_scale;           ///< of the loss; 1 without scaling
  std::int64_t skipped_steps;   ///< because a gradient was inf or NaN
};

/// Trains a SimpleCnn and tests it, in the way that `dtype` asks for: float32 is plain FP32,
/// float16 is AMP with scaling, bfloat16 AMP without. The same seed gives the same first weights
/// and the same order of images, whatever the dtype.
///
/// A step is forward, backward and optimizer; fetching a batch and moving it to the device is not
/// in it. Memory is probed in one step of the warm-up, so that no timed step pays for it.
class Trainer {
 public:
  Trainer(const Arguments& arguments, torch::ScalarType dtype)
      : arguments_(arguments),
        device_(arguments.device),
        dtype_(dtype),
        autocast_(dtype == torch::kFloat ? torchamp::AutocastOptions().enabled(false)
                                         : torchamp::AutocastOptions().dtype(dtype)),
        scaler_(torchamp::GradScalerOptions().enabled(dtype == torch::kHalf)) {}

  TrainingRun run(const FashionMnist& train_data, const FashionMnist& test_data);

 private:
  void train(const FashionMnist& data, TrainingRun& result);
  /// Returns the loss, still on the device.
  torch::Tensor step(const torch::Tensor& images, const torch::Tensor& labels,
                     torch::optim::Optimizer& optimizer, TrainingRun& result);
  double accuracy(const FashionMnist& data);

  Arguments arguments_;
  torch::Device device_;
  torch::ScalarType dtype_;
  torchamp::AutocastOptions autocast_;
  torchamp::GradScaler scaler_;
  SimpleCnn model_{nullptr};
};

inline TrainingRun Trainer::run(const FashionMnist& train_data, const FashionMnist& test_data) {
  TrainingRun result{};
  result.name = dtype_ == torch::kFloat ? "FP32" : "AMP " + short_name(dtype_);
  result.dtype = dtype_;
  torch::manual_seed(static_cast<std::uint64_t>(arguments_.seed));
  model_ = SimpleCnn(FashionMnist::image_size);
  model_->to(device_);

  train(train_data, result);
  result.test_accuracy = accuracy(test_data);
  result.final_scale = scaler_.get_scale();
  return result;
}

inline void Trainer::train(const FashionMnist& data, TrainingRun& result) {
  const auto images = static_cast<std::int64_t>(*data.size());
  const std::int64_t batch_size = (std::min)(arguments_.batch_size, images);
  const std::int64_t steps = arguments_.epochs * (images / batch_size);
  const std::int64_t warmup = (std::min)(std::int64_t{3}, steps - 1);
  const std::int64_t probed_step = (std::min)(std::int64_t{1}, steps - 1);

  torch::optim::Adam optimizer(model_->parameters(), /*lr=*/1e-3);
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      FashionMnist(data).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions(batch_size).drop_last(true));  // every step does equal work
  torchamp::Timer timer(device_, torchamp::TimerOptions().warmup(warmup));
  Progress progress(std::cout, result.name, steps);
  std::int64_t done = 0;

  for (std::int64_t epoch = 0; epoch < arguments_.epochs; ++epoch) {
    for (const auto& batch : *loader) {
      const auto inputs = batch.data.to(device_);
      const auto labels = batch.target.to(device_);
      torch::Tensor loss;
      const auto timed_step = [&] {
        timer.lap([&] { loss = step(inputs, labels, optimizer, result); });
      };
      if (done == probed_step) {
        optimizer.zero_grad();  // the probe knows only what was made while it is alive
        const torchamp::MemoryProbe probe(device_);
        timed_step();
        result.peak_bytes = probe.usage().peak_bytes;
      } else {
        timed_step();
      }
      ++done;
      result.losses.push_back(loss.item<double>());
      progress.advance(result.losses.back());
    }
  }
  result.seconds = timer.laps();
  const double total = std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0);
  const auto timed_images = batch_size * static_cast<std::int64_t>(result.seconds.size());
  result.images_per_second = static_cast<double>(timed_images) / total;
}

inline torch::Tensor Trainer::step(const torch::Tensor& images, const torch::Tensor& labels,
                                   torch::optim::Optimizer& optimizer, TrainingRun& result) {
  optimizer.zero_grad();
  torch::Tensor loss;
  {
    const torchamp::AutocastGuard autocast(device_, autocast_);
    loss = torch::nn::functional::cross_entropy(model_->forward(images), labels);
  }
  scaler_.scale(loss).backward();
  if (scaler_.step(optimizer).skipped()) ++result.skipped_steps;
  scaler_.update();
  return loss.detach();
}

inline double Trainer::accuracy(const FashionMnist& data) {
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
  return correct.item<double>() / static_cast<double>(*data.size());
}

}  // namespace examples
