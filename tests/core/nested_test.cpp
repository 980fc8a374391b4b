// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/nested.h>

#include "support/doctest.h"

#include <array>
#include <deque>
#include <forward_list>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

torch::Tensor number(float value) { return torch::full({}, value); }

const auto doubled = [](const torch::Tensor& tensor) { return tensor * 2; };

float value(const torch::Tensor& tensor) { return tensor.item<float>(); }

/// As std::span is: constness of the view is not that of the elements.
struct View {
  torch::Tensor* first;
  torch::Tensor* last;
  torch::Tensor* begin() const { return first; }
  torch::Tensor* end() const { return last; }
};

struct Batch {
  std::vector<torch::Tensor> losses;
  std::string name;
  auto begin() { return losses.begin(); }
  auto end() { return losses.end(); }
  auto begin() const { return losses.begin(); }
  auto end() const { return losses.end(); }
};

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

  const std::list<torch::Tensor> list{number(1), number(2)};
  const std::deque<torch::Tensor> deque{number(1), number(2)};
  const std::forward_list<torch::Tensor> forward_list{number(2)};
  const std::multimap<int, torch::Tensor> multimap{{7, number(1)}, {7, number(2)}};

  CHECK(value(torchamp::transform_tensors(list, doubled).back()) == 4);
  CHECK(value(torchamp::transform_tensors(deque, doubled)[1]) == 4);
  CHECK(value(torchamp::transform_tensors(forward_list, doubled).front()) == 4);
  CHECK(value(torchamp::transform_tensors(multimap, doubled).rbegin()->second) == 4);
  static_assert(std::is_same_v<decltype(torchamp::transform_tensors(list, doubled)),
                               std::list<torch::Tensor>>);
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

TEST_CASE("The original is left as it was") {
  const std::vector<torch::Tensor> vector{number(1)};
  const std::map<int, torch::Tensor> map{{1, number(1)}};
  auto a = number(1), b = number(2);

  torchamp::transform_tensors(vector, doubled);
  torchamp::transform_tensors(map, doubled);
  const auto tied = torchamp::transform_tensors(std::tie(a, b), doubled);

  CHECK(value(vector[0]) == 1);
  CHECK(value(map.at(1)) == 1);
  CHECK(value(a) == 1);
  CHECK(value(std::get<0>(tied)) == 2);
}

TEST_CASE(
    "Ranges that only refer to their elements come back as a vector, the elements untouched") {
  torch::Tensor array[] = {number(1), number(2)};
  const View view{array, array + 2};

  const std::vector<torch::Tensor> from_array = torchamp::transform_tensors(array, doubled);
  const auto from_view = torchamp::transform_tensors(view, doubled);
  const std::vector<torch::Tensor> from_list =
      torchamp::transform_tensors(torch::TensorList(array), doubled);

  CHECK(value(from_array[1]) == 4);
  CHECK(value(*std::next(from_view.begin())) == 4);
  CHECK(value(from_list[1]) == 4);
  CHECK(value(array[1]) == 2);
}

TEST_CASE("A map keeps its order") {
  const std::map<int, torch::Tensor, std::greater<int>> descending{{1, number(1)}, {2, number(2)}};

  CHECK(torchamp::transform_tensors(descending, doubled).begin()->first == 2);
}

TEST_CASE("Containers of a program's own come back as they are") {
  const Batch batch{{number(1), number(2)}, "name"};

  const Batch result = torchamp::transform_tensors(batch, doubled);

  CHECK(value(result.losses[1]) == 4);
  CHECK(result.name == "name");
}

TEST_CASE("Views in containers become vectors of new tensors, not views of what is gone") {
  const std::vector<torch::Tensor> tensors{number(1), number(2)};
  const std::vector<torch::TensorList> views{tensors, tensors};
  const std::optional<torch::TensorList> view(tensors);

  const std::vector<std::vector<torch::Tensor>> from_views =
      torchamp::transform_tensors(views, doubled);
  const std::optional<std::vector<torch::Tensor>> from_view =
      torchamp::transform_tensors(view, doubled);

  CHECK(value(from_views[1][1]) == 4);
  CHECK(value(from_view->at(1)) == 4);
  CHECK(value(tensors[1]) == 2);
}
