// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// How does a LibTorch training loop become a mixed-precision one?
//
// simple_cnn_fp32.cpp is the loop as everybody writes it; simple_cnn_amp.cpp is the same with
// automatic mixed precision. Look at what differs:
//
//     diff examples/simple_cnn_fp32.cpp examples/simple_cnn_amp.cpp

#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <iostream>

#include "support/arguments.h"
#include "support/fashion_mnist.h"
#include "support/simple_cnn.h"

using examples::FashionMnist;
using examples::SimpleCnn;

torch::Tensor loss_of(SimpleCnn& model, const torch::data::Example<>& batch, torch::Device device) {
  torchamp::AutocastGuard autocast(device.type());
  const auto scores = model->forward(batch.data.to(device));
  return torch::nn::functional::cross_entropy(scores, batch.target.to(device));
}

void train(const examples::Arguments& arguments) {
  const torch::Device device = arguments.device;
  torch::manual_seed(static_cast<uint64_t>(arguments.seed));

  SimpleCnn model(FashionMnist::image_size);
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), /*lr=*/1e-3);
  torchamp::GradScaler scaler;
  auto data = arguments.dataset(FashionMnist::Part::Train).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(data), arguments.batch_size);

  std::cout << "training on " << device << '\n';
  int64_t step = 0;
  for (int64_t epoch = 1; epoch <= arguments.epochs; ++epoch) {
    for (const auto& batch : *loader) {
      optimizer.zero_grad();
      const torch::Tensor loss = loss_of(model, batch, device);
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
  const auto arguments = examples::parse_arguments(argc, argv, "Trains a small CNN on images.");
  return examples::run_program([&] { train(arguments); });
}
