// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include "support/fashion_mnist.h"

#include "default_data.h"
#include "examples/scratch_folder.h"
#include "support/doctest.h"

#include <stdexcept>
#include <string>

using examples::FashionMnist;

namespace {

std::string header(char dimensions, char count) {
  std::string bytes{0, 0, 8, dimensions, 0, 0, 0, count};
  if (dimensions == 3) bytes += std::string{0, 0, 0, 28, 0, 0, 0, 28};
  return bytes;
}

/// `count` images of which every pixel is 255.
std::string white_images(char count) {
  return header(3, count) + std::string(static_cast<std::size_t>(count) * 28 * 28, '\xFF');
}

void write_training_files(const ScratchFolder& folder, const std::string& images,
                          const std::string& labels) {
  folder.write("train-images-idx3-ubyte", images);
  write_gzipped(folder, "train-labels-idx1-ubyte.gz", labels);
}

FashionMnist read_training_part(const ScratchFolder& folder) {
  return FashionMnist(folder.path(), FashionMnist::Part::Train);
}

}  // namespace

TEST_CASE("The data that comes with torchamp is the first 2,000 and 500 images of Fashion-MNIST") {
  FashionMnist train(examples::default_data_directory, FashionMnist::Part::Train);
  FashionMnist test(examples::default_data_directory, FashionMnist::Part::Test);

  CHECK(train.size() == 2000);
  CHECK(test.size() == 500);
  CHECK(train.get(0).target.item<int64_t>() == 9);  // an ankle boot
  CHECK(train.get(1).target.item<int64_t>() == 0);  // a T-shirt
  CHECK(test.get(1).target.item<int64_t>() == 2);   // a pullover
}

TEST_CASE("Images are padded with black to 32 x 32, repeated to 3 channels, and go from 0 to 1") {
  const ScratchFolder folder;
  write_training_files(folder, white_images(1), header(1, 1) + std::string{7});

  const auto example = read_training_part(folder).get(0);

  CHECK(example.data.sizes() == torch::IntArrayRef({3, 32, 32}));
  CHECK(example.data.scalar_type() == torch::kFloat);
  CHECK(example.data.slice(1, 2, 30).slice(2, 2, 30).eq(1).all().item<bool>());
  CHECK(example.data.sum().item<double>() == 3 * 28 * 28);  // so the border is 0
  CHECK(example.target.item<int64_t>() == 7);
}

TEST_CASE("Images and labels of different number are refused") {
  const ScratchFolder folder;
  write_training_files(folder, white_images(2), header(1, 3) + std::string{1, 2, 3});

  CHECK_THROWS_WITH_AS(read_training_part(folder),
                       doctest::Contains("train-labels-idx1-ubyte.gz: expected 2 labels, one for "
                                         "each image of train-images-idx3-ubyte, found 3"),
                       std::runtime_error);
}

TEST_CASE("A label that is no class is refused with its place") {
  const ScratchFolder folder;
  write_training_files(folder, white_images(2), header(1, 2) + std::string{9, 10});

  CHECK_THROWS_WITH_AS(read_training_part(folder),
                       doctest::Contains("expected labels from 0 to 9, found 10 for image 1"),
                       std::runtime_error);
}

TEST_CASE("A folder without the files is refused with the name that was looked for") {
  const ScratchFolder folder;

  CHECK_THROWS_WITH_AS(read_training_part(folder),
                       doctest::Contains("train-images-idx3-ubyte.gz: expected this file"),
                       std::runtime_error);
}

TEST_CASE("Synthetic data is the same for the same seed and differs for another") {
  auto one = FashionMnist::synthetic(4, /*seed=*/1);
  auto same = FashionMnist::synthetic(4, /*seed=*/1);
  auto other = FashionMnist::synthetic(4, /*seed=*/2);

  CHECK(one.get(3).data.equal(same.get(3).data));
  CHECK_FALSE(one.get(3).data.equal(other.get(3).data));
}

TEST_CASE("first() keeps the first images, or all if there are fewer") {
  auto data = FashionMnist::synthetic(4, /*seed=*/1);

  CHECK(data.first(3).size() == 3);
  CHECK(data.first(9).size() == 4);
  CHECK(data.first(1).get(0).data.equal(data.get(0).data));
}
