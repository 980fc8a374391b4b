// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/idx.h"

namespace examples {

/// Fashion-MNIST, as a torch::data dataset: images of 3 x 32 x 32 floats from 0 to 1, labels 0
/// to 9. The 28 x 28 grey images get a black border and equal red, green and blue.
class FashionMnist : public torch::data::datasets::Dataset<FashionMnist> {
 public:
  enum class Part { Train, Test };

  static constexpr std::int64_t image_size = 32;
  static constexpr std::int64_t classes = 10;

  /// Reads the standard files from `directory`, each plain or with ".gz".
  /// Throws: std::runtime_error that names the file, what was expected and what was found.
  FashionMnist(const std::filesystem::path& directory, Part part);

  /// Random images with random labels, the same for the same `seed`: nothing to learn, no files.
  static FashionMnist synthetic(std::int64_t count, std::int64_t seed);

  /// The first `count` images, or all if there are fewer.
  FashionMnist first(std::int64_t count) const {
    return FashionMnist(images_.slice(/*dim=*/0, 0, count), labels_.slice(/*dim=*/0, 0, count));
  }

  torch::data::Example<> get(size_t index) override;
  std::optional<size_t> size() const override { return static_cast<size_t>(images_.size(0)); }

 private:
  FashionMnist(torch::Tensor images, torch::Tensor labels)
      : images_(std::move(images)), labels_(std::move(labels)) {}

  static constexpr std::int64_t file_size = 28;
  static constexpr std::int64_t border = (image_size - file_size) / 2;

  torch::Tensor images_;  // count x 28 x 28 bytes, as in the file
  torch::Tensor labels_;  // count
};

namespace detail {

inline std::filesystem::path plain_or_gzipped(const std::filesystem::path& directory,
                                              const std::string& name) {
  const auto plain = directory / name;
  const auto gzipped = directory / (name + ".gz");
  if (std::filesystem::exists(plain)) return plain;
  if (std::filesystem::exists(gzipped)) return gzipped;
  throw std::runtime_error(gzipped.string() +
                           ": expected this file, or the same without .gz, found neither");
}

inline torch::Tensor to_tensor(const IdxFile& file, torch::IntArrayRef sizes) {
  const auto bytes = torch::TensorOptions(torch::kUInt8);
  // from_blob only borrows the memory, and promises not to write to it; clone makes it our own.
  return torch::from_blob(const_cast<std::uint8_t*>(file.bytes.data()), sizes, bytes).clone();
}

}  // namespace detail

inline FashionMnist::FashionMnist(const std::filesystem::path& directory, Part part) {
  const std::string prefix = part == Part::Train ? "train" : "t10k";
  const auto image_path = detail::plain_or_gzipped(directory, prefix + "-images-idx3-ubyte");
  const auto label_path = detail::plain_or_gzipped(directory, prefix + "-labels-idx1-ubyte");
  const IdxFile images = read_idx(image_path, {file_size, file_size});
  const IdxFile labels = read_idx(label_path, {});

  if (labels.count != images.count) {
    throw std::runtime_error(label_path.string() + ": expected " + std::to_string(images.count) +
                             " labels, one for each image of " + image_path.filename().string() +
                             ", found " + std::to_string(labels.count));
  }
  for (std::size_t i = 0; i < labels.bytes.size(); ++i) {
    if (labels.bytes[i] >= classes) {
      throw std::runtime_error(label_path.string() + ": expected labels from 0 to 9, found " +
                               std::to_string(labels.bytes[i]) + " for image " + std::to_string(i));
    }
  }
  images_ = detail::to_tensor(images, {images.count, file_size, file_size});
  labels_ = detail::to_tensor(labels, {labels.count}).to(torch::kInt64);
}

inline FashionMnist FashionMnist::synthetic(std::int64_t count, std::int64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed));
  const auto images = torch::randint(256, {count, file_size, file_size}, generator, torch::kUInt8);
  const auto labels = torch::randint(classes, {count}, generator, torch::kInt64);
  return FashionMnist(images, labels);
}

inline torch::data::Example<> FashionMnist::get(size_t index) {
  const auto i = static_cast<std::int64_t>(index);
  const auto grey = images_[i].to(torch::kFloat) / 255;
  const auto image = torch::constant_pad_nd(grey, {border, border, border, border});
  return {image.expand({3, image_size, image_size}), labels_[i]};
}

}  // namespace examples
