// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/forecast_tensors.h>

#include "support/doctest.h"

#include <optional>

using torchamp::detail::ForecastTensors;
using torchamp::detail::module_with;
using torchamp::detail::TensorForecast;
using torchamp::detail::tensors_in;

TEST_CASE("A tensor has the forecast that it was given last") {
  ForecastTensors tensors;
  const auto x = torch::ones({1});
  CHECK(tensors.find(x) == nullptr);

  TensorForecast forecast;
  forecast.module = "conv1";
  tensors.set(x, forecast);
  REQUIRE(tensors.find(x) != nullptr);
  CHECK(tensors.find(x)->module == "conv1");

  forecast.module = "conv2";
  tensors.set(x, forecast);
  CHECK(tensors.find(x)->module == "conv2");
}

TEST_CASE("A later tensor is never taken for one that is gone") {
  ForecastTensors tensors;
  for (int i = 0; i < 100; ++i) {
    const auto x = torch::ones({1});
    CHECK(tensors.find(x) == nullptr);
    tensors.set(x, {});
  }
}

TEST_CASE("The memory of a tensor that is gone is free") {
  ForecastTensors tensors;
  auto x = torch::ones({1});
  const c10::weak_intrusive_ptr<c10::StorageImpl> memory = x.storage().getWeakStorageImpl();
  tensors.set(x, {});
  x = torch::Tensor();

  CHECK(memory.expired());
}

TEST_CASE("Tensors are found in lists, optional ones and tuples too; undefined ones are not") {
  const auto x = torch::ones({1});
  std::vector<c10::IValue> values;
  values.emplace_back(x);
  values.emplace_back(torch::Tensor());
  values.emplace_back(3);
  values.emplace_back(std::vector<torch::Tensor>{x, x});
  values.emplace_back(c10::List<std::optional<torch::Tensor>>({x, std::nullopt}));
  values.emplace_back(c10::ivalue::Tuple::create({c10::IValue(x), c10::IValue(1)}));

  CHECK(tensors_in(values).size() == 5);
}

TEST_CASE("A module's name is that of its parameter without the last part") {
  CHECK(module_with("conv2.weight") == "conv2");
  CHECK(module_with("encoder.0.weight") == "encoder.0");
  CHECK(module_with("weight") == "the outermost module");
}
