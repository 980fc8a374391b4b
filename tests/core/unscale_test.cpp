// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/unscale.h>

#include "support/doctest.h"

#include <limits>
#include <vector>

using torchamp::FoundInf;
using torchamp::detail::Gradients;
using torchamp::detail::HalfGradients;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();

torch::optim::SGD optimizer_with(const std::vector<torch::Tensor>& gradients) {
  std::vector<torch::Tensor> parameters;
  for (const auto& gradient : gradients) {
    parameters.push_back(torch::zeros_like(gradient).requires_grad_());
    parameters.back().mutable_grad() = gradient;
  }
  return torch::optim::SGD(parameters, /*lr=*/1.0);
}

float found_after_unscaling(const std::vector<torch::Tensor>& gradients, float inverse) {
  auto optimizer = optimizer_with(gradients);
  const bool may_overflow = inverse > 1;
  const auto found =
      torchamp::detail::unscale_(Gradients::of(optimizer, HalfGradients::Allowed, "test()"),
                                 torch::full({}, inverse), may_overflow);
  return found.combined(torch::kCPU).item<float>();
}

torch::Tensor fours(torch::Dtype dtype = torch::kFloat) { return torch::full({2, 3}, 4, dtype); }

torch::Tensor sparse_fours() {
  return torch::sparse_coo_tensor(torch::tensor({{0, 2}}), torch::full({2}, 4.0), {3});
}

/// One gradient of each kind, all of them fours.
std::vector<torch::Tensor> every_kind() {
  return {fours(),
          fours(torch::kDouble),
          fours(torch::kBFloat16),
          fours(torch::kComplexFloat),
          fours().t(),                                          // transposed
          torch::full({2, 6}, 4.0).slice(1, 0, 6, /*step=*/2),  // neither contiguous nor dense
          sparse_fours(),
          torch::empty({0})};
}

}  // namespace

TEST_CASE("Every kind of gradient is divided by the scale, and none is found infinite") {
  const auto gradients = every_kind();

  CHECK(found_after_unscaling(gradients, 0.25F) == 0);

  for (const auto& gradient : gradients) {
    CAPTURE(gradient.toString());
    const auto values = torchamp::detail::reachable_values(gradient).to(torch::kFloat);
    if (gradient.is_complex()) {
      CHECK(torch::real(gradient).eq(1).all().item<bool>());
    } else {
      CHECK(values.eq(1).all().item<bool>());
    }
  }
}

TEST_CASE(
    "An inf or NaN is found in whichever gradient it stands, at the first or the last place") {
  for (const float bad : {infinity, -infinity, not_a_number}) {
    for (std::size_t culprit = 0; culprit + 1 < every_kind().size(); ++culprit) {
      for (const bool last : {false, true}) {
        CAPTURE(bad);
        CAPTURE(culprit);
        auto gradients = every_kind();
        auto values = torchamp::detail::reachable_values(gradients[culprit]);
        while (values.dim() > 0) values = values.select(0, last ? -1 : 0);
        values.fill_(bad);

        CHECK(found_after_unscaling(gradients, 0.25F) == 1);
      }
    }
  }
}

TEST_CASE("Stock operators unscale and find as LibTorch's own operator does") {
  const auto unscale = [](const torch::Tensor& gradient) {
    auto found = torch::zeros({});
    torchamp::detail::unscale_with_stock_operators_({fours(torch::kBFloat16), gradient}, found,
                                                    torch::full({}, 0.25F));
    return found.item<float>();
  };
  auto good = fours(torch::kBFloat16);

  CHECK(unscale(good) == 0);
  CHECK(good.eq(1).all().item<bool>());
  CHECK(unscale(torch::full({2}, infinity, torch::kBFloat16)) == 1);
  CHECK(unscale(torch::full({2}, not_a_number, torch::kBFloat16)) == 1);
}

TEST_CASE("Stock operators keep what an earlier group found") {
  auto found = torch::ones({});

  torchamp::detail::unscale_with_stock_operators_({fours(torch::kBFloat16)}, found,
                                                  torch::full({}, 0.25F));

  CHECK(found.item<float>() == 1);
}

TEST_CASE("Findings of several devices combine to 0 or 1, never 2") {
  FoundInf found;
  CHECK(found.empty());
  found.on(torch::Device("cpu")).fill_(1);
  found.on(torch::Device("cpu:0")).fill_(1);
  REQUIRE(found.per_device().size() == 2);

  CHECK(found.combined(torch::kCPU).item<float>() == 1);
  found.on(torch::Device("cpu")).fill_(0);
  CHECK(found.combined(torch::kCPU).item<float>() == 1);
  found.on(torch::Device("cpu:0")).fill_(0);
  CHECK(found.combined(torch::kCPU).item<float>() == 0);
}

TEST_CASE("A device has one finding however often it is asked for") {
  FoundInf found;
  found.on(torch::kCPU).fill_(1);

  CHECK(found.on(torch::kCPU).item<float>() == 1);
  CHECK(found.per_device().size() == 1);
}

TEST_CASE("A gradient that overflows by being unscaled is found") {
  CHECK(found_after_unscaling({torch::full({2}, 1e38)}, 2) == 0);
  CHECK(found_after_unscaling({fours(), torch::full({2}, 1e38)}, 4) == 1);
  CHECK(found_after_unscaling({torch::full({2}, 40000.0, torch::kHalf)}, 2) == 1);
}

TEST_CASE("Looking for overflow by unscaling does not multiply twice") {
  const auto gradient = fours();

  found_after_unscaling({gradient}, 2);

  CHECK(gradient.eq(8).all().item<bool>());
}

TEST_CASE("Findings merge device by device and leave what was merged as it was") {
  FoundInf found, other;
  found.on(torch::kCPU);
  other.on(torch::kCPU).fill_(1);
  other.on(torch::Device("cpu:0"));

  found.merge(other);

  CHECK(found.per_device().size() == 2);
  CHECK(found.on(torch::kCPU).item<float>() == 1);
  CHECK(found.on(torch::Device("cpu:0")).item<float>() == 0);
  found.on(torch::kCPU).fill_(0);
  CHECK(other.on(torch::kCPU).item<float>() == 1);
}

TEST_CASE("A sparse half gradient with duplicates is coalesced and then unscaled") {
  auto optimizer =
      optimizer_with({torch::sparse_coo_tensor(torch::tensor({{0, 0}}), torch::full({2}, 4.0), {3})
                          .to(torch::kHalf)});

  torchamp::detail::unscale_(Gradients::of(optimizer, HalfGradients::Allowed, "test()"),
                             torch::full({}, 0.25F), /*may_overflow=*/false);

  const auto& gradient = optimizer.param_groups()[0].params()[0].grad();
  CHECK(gradient.is_coalesced());
  CHECK(gradient.to_dense()[0].item<float>() == 2);
}
