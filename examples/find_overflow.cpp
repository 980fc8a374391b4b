// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The loss is NaN and every step is skipped: which operation was the first, and what cures it?
//
// A small net learns in float16 from lengths in millimetres, by the shares that its features have
// of their energy. A square beyond 65504 is inf in float16, and inf of inf is NaN: from there on
// all is NaN, and all gradients are. The tracer names the operator that made the first inf of
// finite numbers, and where it stands; with that line in float32 the net learns.

#include <torchamp/diagnose/named_scope.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/diagnose/non_finite_tracer.h>
#include <torchamp/torchamp.h>
#include <torch/torch.h>

#include <iostream>

#include "support/arguments.h"

struct Net : torch::nn::Module {
  explicit Net(bool shares_in_float32) : in_float32(shares_in_float32) {}

  torch::Tensor forward(const torch::Tensor& lengths) {
    const auto features = torchamp::named_call(*this, first, lengths);
    return torchamp::named_call(*this, last, shares_of(features));
  }

  torch::Tensor shares_of(torch::Tensor features) const {
    const torchamp::NamedScope name("shares");
    if (in_float32) features = features.to(torch::kFloat);  // the cure
    const auto energy = features * features;
    return energy / energy.sum(/*dim=*/1, /*keepdim=*/true);
  }

  bool in_float32;
  torch::nn::Linear first = register_module("first", torch::nn::Linear(8, 32));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(32, 1));
};

struct Training {
  Training(torch::Device where, bool shares_in_float32) : net(shares_in_float32), device(where) {
    net.to(device);
  }

  /// True if the step was taken.
  bool step() {
    optimizer.zero_grad();
    loss = torchamp::autocast(device, torch::kHalf, [&] {
      return torch::mse_loss(net.forward(millimetres).to(torch::kFloat), target);
    });
    scaler.scale(loss).backward();
    const bool taken = scaler.step(optimizer).taken();
    scaler.update();
    return taken;
  }

  void steps(const char* dtype) {
    int taken = 0;
    for (int i = 0; i < 20; ++i) taken += step() ? 1 : 0;
    std::cout << "shares in " << dtype << ": loss " << loss.item<float>() << ", " << taken
              << " of 20 steps taken\n";
  }

  Net net;
  torch::Device device;
  torch::optim::Adam optimizer{net.parameters(), /*lr=*/1e-2};
  torchamp::GradScaler scaler;
  torch::Tensor millimetres = 1000 * torch::rand({64, 8}, device);
  torch::Tensor target = millimetres.slice(1, 0, 4).sum(1, true) / millimetres.sum(1, true);
  torch::Tensor loss;
};

void find_and_cure(const examples::Arguments& arguments) {
  torch::manual_seed(static_cast<uint64_t>(arguments.seed));
  std::cout << "on " << arguments.device << '\n';

  Training training(arguments.device, /*shares_in_float32=*/false);
  training.steps("float16");
  std::cout << torchamp::find_non_finite(training.net);
  training.optimizer.zero_grad();  // old NaNs are not to be found again
  {
    const torchamp::NonFiniteTracer tracer(training.net);
    training.step();
    std::cout << tracer;
  }

  Training cured(arguments.device, /*shares_in_float32=*/true);
  cured.steps("float32");
}

int main(int argc, char** argv) {
  const auto arguments = examples::parse_arguments(argc, argv, "Finds an overflow, and cures it.");
  return examples::run_program([&] { find_and_cure(arguments); });
}
