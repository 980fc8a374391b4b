// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// How does a step stay cheap when a model has many small parameters?
//
// A deep net of narrow layers, whose 82 parameters the optimizer steps as one tensor. What is new
// to the loop is FlatParameters, and that the optimizer is made over it.

#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <iostream>

#include "support/arguments.h"
#include "support/fashion_mnist.h"

using examples::FashionMnist;

torch::nn::Sequential deep_net() {
  constexpr int64_t width = 32;
  torch::nn::Sequential net{
      torch::nn::Flatten(),
      torch::nn::Linear(3 * FashionMnist::image_size * FashionMnist::image_size, width)};
  for (int layer = 0; layer < 39; ++layer) {
    net->push_back(torch::nn::ReLU());
    net->push_back(torch::nn::Linear(width, width));
  }
  net->push_back(torch::nn::Linear(width, FashionMnist::classes));
  return net;
}

void train(const examples::Arguments& arguments) {
  const torch::Device device = arguments.device;
  torch::manual_seed(static_cast<uint64_t>(arguments.seed));

  auto net = deep_net();
  net->to(device);  // first: FlatParameters is for parameters that stay where they are
  torchamp::FlatParameters flat(net->named_parameters());
  torchamp::FusedAdam optimizer(flat.parameters(), /*lr=*/1e-3);
  torchamp::GradScaler scaler;
  auto data = arguments.dataset(FashionMnist::Part::Train).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(data), arguments.batch_size);

  std::cout << "training on " << device << ": " << net->parameters().size() << " parameters of "
            << flat.numel() << " numbers in " << flat.parameters().size() << " tensor\n";
  int64_t step = 0;
  for (int64_t epoch = 1; epoch <= arguments.epochs; ++epoch) {
    for (const auto& batch : *loader) {
      optimizer.zero_grad();
      torch::Tensor loss;
      {
        torchamp::AutocastGuard autocast(device.type());
        const auto scores = net->forward(batch.data.to(device));
        loss = torch::nn::functional::cross_entropy(scores, batch.target.to(device));
      }
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      if (++step % 20 == 0) {
        std::cout << "epoch " << epoch << ", batch " << step << ": loss " << loss.item<float>()
                  << std::endl;
      }
    }
  }
  std::cout << "trained with " << step << " batches\n";
}

int main(int argc, char** argv) {
  const auto arguments =
      examples::parse_arguments(argc, argv, "Trains a deep net of narrow layers, made flat.");
  return examples::run_program([&] { train(arguments); });
}
