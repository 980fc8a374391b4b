// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The C++ of docs/from_python.md, which tools/doc_snippets.py copies from between the markers here:
// so what the page shows compiles, runs, and does what the page says of it.
#include <torchamp/torchamp.h>

#include "support/doctest.h"

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace F = torch::nn::functional;

namespace {

struct Batch {
  torch::Tensor data = torch::ones({2, 4});
  torch::Tensor target = torch::zeros({2}, torch::kLong);
};

/// What the snippets take as given.
struct Given {
  torch::Device device = torch::kCPU;
  torch::nn::Sequential model{torch::nn::Linear(4, 3)};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.1)};
  torchamp::GradScaler scaler;
  std::vector<Batch> batches{2};

  torch::Tensor parameters() const {
    return torch::nn::utils::parameters_to_vector(model->parameters()).detach().clone();
  }
};

/// A file that is gone at the end of the test.
struct ScratchFile {
  std::string path;
  explicit ScratchFile(const char* name) : path(name) {}
  ~ScratchFile() { std::remove(path.c_str()); }
};

}  // namespace

TEST_CASE("from_python.md: training") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto before = given.parameters();

  // [training]
  torchamp::GradScaler scaler;
  for (auto& batch : loader) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      torchamp::AutocastGuard autocast(device, torch::kHalf);
      loss = F::cross_entropy(model->forward(batch.data), batch.target);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  }
  // [end]

  CHECK(scaler.taken_steps() == 2);
  CHECK_FALSE(given.parameters().equal(before));
}

TEST_CASE("from_python.md: bfloat16") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto before = given.parameters();

  // [bfloat16]
  for (auto& batch : loader) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      torchamp::AutocastGuard autocast(device, torch::kBFloat16);
      loss = F::cross_entropy(model->forward(batch.data), batch.target);
    }
    loss.backward();
    optimizer.step();
  }
  // [end]

  CHECK_FALSE(given.parameters().equal(before));
}

TEST_CASE("from_python.md: one loop with AMP on or off") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const bool use_amp = false;

  // [switch]
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().enabled(use_amp));
  const auto precision = torchamp::AutocastOptions(torch::kHalf).enabled(use_amp);
  for (auto& batch : loader) {
    optimizer.zero_grad();
    const auto loss = torchamp::autocast(device, precision, [&] {
      return F::cross_entropy(model->forward(batch.data), batch.target);
    });
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  }
  // [end]

  CHECK(scaler.get_scale() == 1);
}

TEST_CASE("from_python.md: clipping") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;
  const auto loss = F::cross_entropy(model->forward(loader[0].data), loader[0].target);

  // [clipping]
  scaler.scale(loss).backward();
  scaler.unscale_(optimizer);
  torch::nn::utils::clip_grad_norm_(model->parameters(), /*max_norm=*/1.0);
  scaler.step(optimizer);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: accumulation") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;

  // [accumulation]
  constexpr int accumulate = 2;
  int number = 0;
  for (auto& batch : loader) {
    const auto loss = torchamp::autocast(device, [&] {
      return F::cross_entropy(model->forward(batch.data), batch.target) / accumulate;
    });
    scaler.scale(loss).backward();
    if (++number % accumulate != 0) continue;
    scaler.step(optimizer);
    scaler.update();
    optimizer.zero_grad();
  }
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: gradient penalty") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;
  const auto& batch = loader[0];
  const auto parameters = model->parameters();

  // [penalty]
  auto loss = torchamp::autocast(
      device, [&] { return F::cross_entropy(model->forward(batch.data), batch.target); });
  const auto scaled_gradients =
      torch::autograd::grad({scaler.scale(loss)}, parameters, /*grad_outputs=*/{},
                            /*retain_graph=*/true, /*create_graph=*/true);
  const double inverse_scale = 1.0 / scaler.get_scale();
  loss = torchamp::autocast(device, [&] {
    auto sum_of_squares = torch::zeros({}, device);
    for (const auto& gradient : scaled_gradients) {
      sum_of_squares = sum_of_squares + (gradient * inverse_scale).square().sum();
    }
    return loss + sum_of_squares.sqrt();
  });
  scaler.scale(loss).backward();
  scaler.step(optimizer);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: several models, losses and optimizers") {
  Given first, second;
  torchamp::GradScaler scaler;
  auto& [device, model0, optimizer0, unused0, loader] = first;
  auto& model1 = second.model;
  auto& optimizer1 = second.optimizer;
  const auto& batch = loader[0];

  // [several]
  optimizer0.zero_grad();
  optimizer1.zero_grad();
  torch::Tensor loss0, loss1;
  {
    torchamp::AutocastGuard autocast(device);
    const auto output0 = model0->forward(batch.data), output1 = model1->forward(batch.data);
    loss0 = F::cross_entropy(2 * output0 + 3 * output1, batch.target);
    loss1 = F::cross_entropy(3 * output0 - 5 * output1, batch.target);
  }
  scaler.scale(loss0).backward({}, /*retain_graph=*/true);
  scaler.scale(loss1).backward();

  scaler.unscale_(optimizer0);  // only if something needs the true gradients
  scaler.step(optimizer0);
  scaler.step(optimizer1);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 2);
}

TEST_CASE("from_python.md: inference") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto& batch = loader[0];

  // [inference]
  model->eval();
  torch::NoGradGuard no_grad;
  torchamp::AutocastGuard autocast(device);
  const auto output = model->forward(batch.data);
  // [end]

  CHECK(output.scalar_type() == torch::kBFloat16);
}

TEST_CASE("from_python.md: a part in float32") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto weight = torch::full({4, 4}, 100.0);
  const auto& input = loader[0].data;

  // [full_precision]
  torchamp::AutocastGuard autocast(device, torch::kHalf);
  auto hidden = torch::mm(input, weight);  // float16
  {
    torchamp::FullPrecisionGuard full_precision(device);
    hidden = torch::mm(hidden.to(torch::kFloat), weight);  // float32
  }
  // [end]

  CHECK(hidden.scalar_type() == torch::kFloat);
  CHECK(hidden[0][0].item<float>() == 160000);  // more than float16 holds
}

// What the page says of names that have no snippet.
TEST_CASE("from_python.md: the table's defaults are those of the options") {
  const torchamp::GradScalerOptions options;

  CHECK(options.init_scale() == 65536);
  CHECK(options.growth_factor() == 2);
  CHECK(options.backoff_factor() == 0.5);
  CHECK(options.growth_interval() == 2000);
  CHECK(options.enabled());
}
