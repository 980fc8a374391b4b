// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/nested.h>

#include "support/doctest.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

torch::Tensor number(float value) { return torch::full({}, value); }

const auto doubled = [](const torch::Tensor& tensor) { return tensor * 2; };

float value(const torch::Tensor& tensor) { return tensor.item<float>(); }

}  // namespace

TEST_CASE("A tensor alone is transformed") {
  CHECK(value(torchamp::transform_tensors(number(3), doubled)) == 6);
}

TEST_CASE("Every standard container gives back one of its own type") {
  const std::vector<torch::Tensor> vector{number(1), number(2)};
  const std::array<torch::Tensor, 2> array{number(1), number(2)};
  const std::pair<torch::Tensor, torch::Tensor> pair{number(1), number(2)};
  const std::tuple<torch::Tensor, torch::Tensor> tuple{number(1), number(2)};
  const std::map<std::string, torch::Tensor> map{{"a", number(2)}};
  const std::unordered_map<int, torch::Tensor> unordered{{7, number(2)}};

  CHECK(value(torchamp::transform_tensors(vector, doubled)[1]) == 4);
  CHECK(value(torchamp::transform_tensors(array, doubled)[1]) == 4);
  CHECK(value(torchamp::transform_tensors(pair, doubled).second) == 4);
  CHECK(value(std::get<1>(torchamp::transform_tensors(tuple, doubled))) == 4);
  CHECK(value(torchamp::transform_tensors(map, doubled).at("a")) == 4);
  CHECK(value(torchamp::transform_tensors(unordered, doubled).at(7)) == 4);
}

TEST_CASE("An empty optional stays empty, and a full one is transformed") {
  CHECK_FALSE(torchamp::transform_tensors(std::optional<torch::Tensor>(), doubled).has_value());
  CHECK(value(*torchamp::transform_tensors(std::optional(number(3)), doubled)) == 6);
}

TEST_CASE("Containers nest to any depth") {
  const std::vector<std::pair<torch::Tensor, std::optional<std::vector<torch::Tensor>>>> nested{
      {number(1), std::vector{number(2), number(3)}}, {number(4), std::nullopt}};

  const auto result = torchamp::transform_tensors(nested, doubled);

  CHECK(value(result[0].first) == 2);
  CHECK(value(result[0].second->at(1)) == 6);
  CHECK(value(result[1].first) == 8);
  CHECK_FALSE(result[1].second.has_value());
}
