// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/torchamp.h>

int main() {
  torch::nn::Linear model(4, 2);
  torch::optim::SGD optimizer(model->parameters(), 0.1);
  torchamp::GradScaler scaler;
  scaler.scale(model->forward(torch::ones({3, 4})).sum()).backward();
  scaler.step(optimizer);
  scaler.update();
}
