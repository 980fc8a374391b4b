// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// That master weights bring half-precision weights to the loss of float32 is claimed on the data
// that comes with torchamp, so it is tested on it.
#include <torchamp/core/grad_scaler.h>
#include <torchamp/optim/master_weights.h>

#include "default_data.h"
#include "support/doctest.h"
#include "support/fashion_mnist.h"

#include <memory>
#include <utility>
#include <vector>

namespace {

using torch::optim::Adam;
using torch::optim::AdamOptions;

/// All images, N x 1024, in grey, and their labels.
std::pair<torch::Tensor, torch::Tensor> shipped_data() {
  auto data =
      examples::FashionMnist(examples::default_data_directory, examples::FashionMnist::Part::Train)
          .map(torch::data::transforms::Stack<>());
  std::vector<size_t> all(data.size().value());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto batch = data.get_batch(all);
  return {batch.data.select(1, 0).flatten(1), batch.target};
}

/// The loss over all images after six times through them in batches of 50.
template <class Optimizer>
double loss_after_training(torch::ScalarType dtype) {
  static const auto data = shipped_data();
  const torch::Tensor &images = data.first, &labels = data.second;
  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(images.size(1), 32), torch::nn::ReLU(),
                              torch::nn::Linear(32, 10));
  model->to(dtype);
  Optimizer optimizer(model->parameters(), AdamOptions(1e-4));
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().enabled(dtype == torch::kHalf));
  const auto loss_of = [&](int64_t first, int64_t count) {
    const auto scores = model->forward(images.narrow(0, first, count).to(dtype));
    return torch::nn::functional::cross_entropy(scores.to(torch::kFloat),
                                                labels.narrow(0, first, count));
  };
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (int64_t first = 0; first + 50 <= images.size(0); first += 50) {
      optimizer.zero_grad();
      scaler.scale(loss_of(first, 50)).backward();
      scaler.step(optimizer);
      scaler.update();
    }
  }
  const torch::NoGradGuard no_grad;
  const torch::Tensor loss = loss_of(0, images.size(0));
  return loss.item<double>();
}

}  // namespace

TEST_CASE("Half-precision weights with masters reach the loss of float32, without they do not") {
  torch::set_num_threads(1);  // the network is too small for more
  using Mastered = torchamp::MasterWeights<Adam>;
  const double full = loss_after_training<Adam>(torch::kFloat);
  const double plain = loss_after_training<Adam>(torch::kBFloat16);
  const double bfloat16 = loss_after_training<Mastered>(torch::kBFloat16);
  const double float16 = loss_after_training<Mastered>(torch::kHalf);
  MESSAGE("float32 ", full, ", bfloat16 alone ", plain, ", bfloat16 with masters ", bfloat16,
          ", float16 with masters ", float16);

  CHECK(full < 1.5);  // 2.3 is chance
  CHECK(bfloat16 == doctest::Approx(full).epsilon(0.01));
  CHECK(float16 == doctest::Approx(full).epsilon(0.01));
  CHECK(plain > full + 0.15);
}
