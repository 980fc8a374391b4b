// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "support/fashion_mnist.h"

namespace examples {

/// Batches of a data set without end: epoch after epoch, each in another random order, without the
/// last batch where that is smaller, so that every step does equal work.
class Batches {
 public:
  Batches(const FashionMnist& data, std::int64_t batch_size, torch::Device device)
      : device_(device),
        images_(static_cast<std::int64_t>(*data.size())),
        batch_size_((std::min)(batch_size, images_)),
        loader_(torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
            FashionMnist(data).map(torch::data::transforms::Stack<>()),
            torch::data::DataLoaderOptions(batch_size_).drop_last(true))) {}

  std::int64_t batch_size() const { return batch_size_; }
  std::int64_t batches_per_epoch() const { return images_ / batch_size_; }

  /// Loads the next one to the device.
  void advance() {
    if (!next_ || *next_ == loader_->end()) next_ = loader_->begin();
    auto& batch = **next_;
    images = batch.data.to(device_);
    labels = batch.target.to(device_);
    ++*next_;
  }

  /// The batch that was loaded last.
  torch::Tensor images;
  torch::Tensor labels;

 private:
  using Data = torch::data::datasets::MapDataset<FashionMnist, torch::data::transforms::Stack<>>;
  using Loader = torch::data::StatelessDataLoader<Data, torch::data::samplers::RandomSampler>;

  torch::Device device_;
  std::int64_t images_;
  std::int64_t batch_size_;
  std::unique_ptr<Loader> loader_;
  std::optional<torch::data::Iterator<torch::data::Example<>>> next_;
};

}  // namespace examples
