// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// How are gradients clipped in a mixed-precision loop, and where do they stand when that is done?
//
// Between unscale_() and step(), where they are true. Nothing waits for the device: the norm is a
// tensor, and its history is read once, at the end.

#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <iostream>
#include <vector>

#include "support/arguments.h"
#include "support/fashion_mnist.h"
#include "support/simple_cnn.h"

using examples::FashionMnist;
using examples::SimpleCnn;

void train(const examples::Arguments& arguments) {
  constexpr double max_norm = 1.0;
  const torch::Device device = arguments.device;
  torch::manual_seed(static_cast<uint64_t>(arguments.seed));

  SimpleCnn model(FashionMnist::image_size);
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), /*lr=*/1e-3);
  torchamp::GradScaler scaler;
  auto data = arguments.dataset(FashionMnist::Part::Train).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(data), arguments.batch_size);

  std::vector<torch::Tensor> norms;
  for (int64_t epoch = 1; epoch <= arguments.epochs; ++epoch) {
    for (const auto& batch : *loader) {
      optimizer.zero_grad();
      const torch::Tensor loss = torchamp::autocast(device, [&] {
        const auto scores = model->forward(batch.data.to(device));
        return torch::nn::functional::cross_entropy(scores, batch.target.to(device));
      });
      scaler.scale(loss).backward();
      scaler.unscale_(optimizer);
      norms.push_back(torchamp::clip_grad_norm_(model->parameters(), max_norm));
      scaler.step(optimizer);
      scaler.update();
    }
  }
  const torch::Tensor all = torch::stack(norms).cpu();
  std::cout << "on " << device << ": " << norms.size() << " batches, norms from "
            << all.min().item<float>() << " to " << all.max().item<float>() << ", "
            << all.gt(max_norm).sum().item<int64_t>() << " clipped to " << max_norm << '\n';
}

int main(int argc, char** argv) {
  const auto arguments = examples::parse_arguments(argc, argv, "Trains a small CNN and clips.");
  return examples::run_program([&] { train(arguments); });
}
