// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What do float32 master weights bring to a model whose weights are half precision?
//
// The same small network is trained four times: with float32 weights, with bfloat16 weights alone,
// and with bfloat16 and float16 weights that have float32 masters. Without masters most updates
// are too small to change a weight, and the loss stays behind.

#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "support/arguments.h"
#include "support/fashion_mnist.h"

using examples::FashionMnist;
using torch::optim::Adam;
using torch::optim::AdamOptions;

using MakeOptimizer =
    std::function<std::unique_ptr<torch::optim::Optimizer>(const std::vector<torch::Tensor>&)>;

torch::Tensor loss_of(torch::nn::Sequential& model, const torch::data::Example<>& batch,
                      torch::Device device, torch::ScalarType dtype) {
  const auto grey = batch.data.select(/*dim=*/1, /*index=*/0).flatten(/*start_dim=*/1);
  const auto scores = model->forward(grey.to(device, dtype));
  return torch::nn::functional::cross_entropy(scores.to(torch::kFloat), batch.target.to(device));
}

/// Trains, and returns the mean loss over the data afterwards.
double train(const examples::Arguments& arguments, torch::ScalarType dtype,
             const MakeOptimizer& make_optimizer) {
  torch::manual_seed(static_cast<uint64_t>(arguments.seed));
  const auto side = FashionMnist::image_size;
  torch::nn::Sequential model(torch::nn::Linear(side * side, 64), torch::nn::ReLU(),
                              torch::nn::Linear(64, 10));
  model->to(arguments.device, dtype);  // before the optimizer is made
  const auto optimizer = make_optimizer(model->parameters());
  // Float16 gradients need the scaler; here it does no harm to the others.
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().enabled(dtype == torch::kHalf));

  auto data = arguments.dataset(FashionMnist::Part::Train).map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(data), arguments.batch_size);
  for (int64_t epoch = 0; epoch < arguments.epochs; ++epoch) {
    for (const auto& batch : *loader) {
      optimizer->zero_grad();
      scaler.scale(loss_of(model, batch, arguments.device, dtype)).backward();
      scaler.step(*optimizer);
      scaler.update();
    }
  }

  const torch::NoGradGuard no_grad;
  double sum = 0;
  int64_t batches = 0;
  for (const auto& batch : *loader) {
    sum += loss_of(model, batch, arguments.device, dtype).item<double>();
    ++batches;
  }
  return sum / static_cast<double>(batches);
}

void compare(const examples::Arguments& arguments) {
  const AdamOptions options(/*lr=*/1e-4);
  const MakeOptimizer plain = [&](const auto& parameters) {
    return std::make_unique<Adam>(parameters, options);
  };
  const MakeOptimizer with_masters = [&](const auto& parameters) {
    return std::make_unique<torchamp::MasterWeights<Adam>>(parameters, options);
  };

  torchamp::Table table({"weights", "loss"});
  const auto row = [&](const std::string& name, torch::ScalarType dtype,
                       const MakeOptimizer& make) {
    table.add_row({name, torchamp::format_fixed(train(arguments, dtype, make), 4)});
  };
  row("float32", torch::kFloat, plain);
  row("bfloat16", torch::kBFloat16, plain);
  row("bfloat16 with masters", torch::kBFloat16, with_masters);
  row("float16 with masters", torch::kHalf, with_masters);
  std::cout << table << "trained four times on " << arguments.device << '\n';
}

int main(int argc, char** argv) {
  const auto arguments =
      examples::parse_arguments(argc, argv, "Trains a small network with half-precision weights.");
  return examples::run_program([&] { compare(arguments); });
}
