// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

#include <torchamp/core/grad_scaler.h>
#include <torchamp/optim/clip_grad.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using torchamp::clip_grad_norm_;
using torchamp::clip_grad_value_;

torch::Tensor parameter_with(const torch::Tensor& gradient) {
  auto parameter = torch::zeros(gradient.sizes(), gradient.options().layout(torch::kStrided));
  parameter.set_requires_grad(true);
  parameter.mutable_grad() = gradient;
  return parameter;
}

torch::Tensor parameter_of(std::initializer_list<double> gradient,
                           torch::ScalarType dtype = torch::kFloat) {
  return parameter_with(torch::tensor(std::vector<double>(gradient)).to(dtype));
}

/// Some random gradients of several shapes, the same at every call.
std::vector<torch::Tensor> random_parameters(torch::ScalarType dtype) {
  torch::manual_seed(7);
  std::vector<torch::Tensor> parameters;
  for (const int64_t size : {1, 3, 100, 1000}) {
    parameters.push_back(parameter_with(torch::randn({size, 2}).to(dtype)));
  }
  parameters.push_back(parameter_with(torch::randn({5, 3, 2}).to(dtype).transpose(0, 2)));
  parameters.push_back(torch::zeros({2}, dtype).requires_grad_());  // without a gradient
  return parameters;
}

double largest_difference(const std::vector<torch::Tensor>& a,
                          const std::vector<torch::Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].grad().defined()) continue;
    const auto difference = (a[i].grad() - b[i].grad()).abs().to(torch::kDouble).max();
    largest = std::max(largest, difference.item<double>());
  }
  return largest;
}

bool is_zero(const torch::Tensor& gradient) { return gradient.equal(torch::zeros_like(gradient)); }

}  // namespace

TEST_CASE("Gradients of norm 5 are clipped to norm 1, and the norm that they had is returned") {
  auto a = parameter_of({3}), b = parameter_of({4});

  const torch::Tensor norm = clip_grad_norm_({a, b}, /*max_norm=*/1.0);

  CHECK(norm.dim() == 0);
  CHECK(norm.scalar_type() == torch::kFloat);
  CHECK(norm.item<double>() == 5);
  CHECK(a.grad().item<double>() == doctest::Approx(0.6));
  CHECK(b.grad().item<double>() == doctest::Approx(0.8));
}

TEST_CASE("Gradients whose norm is within max_norm stay as they are, bit by bit") {
  auto parameter = parameter_of({3, 4});

  CHECK(clip_grad_norm_(parameter, 6.0).item<double>() == 5);

  CHECK(parameter.grad().equal(torch::tensor({3.0F, 4.0F})));
}

TEST_CASE("For float32 and float64 of every norm type the numbers are LibTorch's, bit by bit") {
  for (const auto dtype : {torch::kFloat, torch::kDouble}) {
    for (const double type : {1.0, 2.0, 3.0, 0.5, 0.0, -1.0, infinity, -infinity}) {
      for (const double max_norm : {0.0, 1e-4, 0.5, 1e6}) {
        CAPTURE(type);
        CAPTURE(max_norm);
        const auto ours = random_parameters(dtype), theirs = random_parameters(dtype);

        const auto norm = clip_grad_norm_(ours, max_norm, type);
        const double expected = torch::nn::utils::clip_grad_norm_(theirs, max_norm, type);

        CHECK(norm.item<double>() == expected);
        CHECK(norm.scalar_type() == dtype);
        // Of order 0 LibTorch's norm is in float32 whatever the gradients are.
        CHECK(largest_difference(ours, theirs) <= (type == 0 ? 1e-8 : 0));
      }
    }
  }
}

TEST_CASE("For half precision the norm is taken in float32, and near LibTorch's") {
  for (const auto dtype : {torch::kHalf, torch::kBFloat16}) {
    for (const double type : {1.0, 2.0, 3.0, infinity}) {
      const auto ours = random_parameters(dtype), theirs = random_parameters(dtype);

      const auto norm = clip_grad_norm_(ours, 0.5, type);
      const double expected = torch::nn::utils::clip_grad_norm_(theirs, 0.5, type);

      CHECK(norm.scalar_type() == torch::kFloat);
      CHECK(norm.item<double>() == doctest::Approx(expected).epsilon(0.01));
      CHECK(largest_difference(ours, theirs) <= 0.01);
    }
  }
}

TEST_CASE("A norm that float16 cannot hold does not lose the gradients") {
  auto parameter = parameter_with(torch::full({4}, 60000.0, torch::kHalf));

  CHECK(clip_grad_norm_(parameter, 60000.0).item<double>() == 120000);

  CHECK(parameter.grad().equal(torch::full({4}, 30000.0, torch::kHalf)));
}

TEST_CASE("Gradients of several dtypes have one norm, in the widest of them") {
  auto single = parameter_of({2}), wide = parameter_of({4}, torch::kDouble);
  auto brain = parameter_of({4}, torch::kBFloat16);

  const auto norm = clip_grad_norm_({single, wide, brain}, 3.0);

  CHECK(norm.scalar_type() == torch::kDouble);
  CHECK(norm.item<double>() == 6);
  CHECK(single.grad().item<double>() == doctest::Approx(1));
  CHECK(wide.grad().item<double>() == doctest::Approx(2));
  CHECK(brain.grad().item<double>() == doctest::Approx(2));
}

TEST_CASE("The norm of complex gradients is that of their magnitudes, of every type") {
  for (const auto dtype : {torch::kComplexFloat, torch::kComplexDouble}) {
    for (const double type : {1.0, 2.0, 3.0, infinity}) {
      auto parameter = parameter_with(
          torch::complex(torch::tensor({3.0, 0.0}), torch::tensor({4.0, 12.0})).to(dtype));
      const double expected = torch::tensor({5.0, 12.0}).norm(type).item<double>();

      CHECK(clip_grad_norm_(parameter, expected / 2, type).item<double>() ==
            doctest::Approx(expected));

      const auto clipped = torch::view_as_real(parameter.grad()).to(torch::kFloat);
      CHECK(clipped.allclose(torch::tensor({{1.5F, 2.0F}, {0.0F, 6.0F}})));
    }
  }
}

TEST_CASE("Entries of a sparse gradient at one index are one number") {
  const auto indices = torch::tensor({{0, 2, 0}});
  auto parameter =
      parameter_with(torch::sparse_coo_tensor(indices, torch::tensor({1.0F, 4.0F, 2.0F}), {3}));

  CHECK(clip_grad_norm_(parameter, 2.5).item<double>() == 5);
  CHECK(parameter.grad().to_dense().allclose(torch::tensor({1.5F, 0.0F, 2.0F})));

  parameter.mutable_grad() =
      torch::sparse_coo_tensor(indices, torch::tensor({1.0F, 4.0F, 2.0F}), {3});
  clip_grad_value_(parameter, 2.0);
  CHECK(parameter.grad().to_dense().equal(torch::tensor({2.0F, 0.0F, 2.0F})));
}

TEST_CASE("A compressed sparse gradient is clipped by its values") {
  const auto gradient = torch::tensor({{3.0F, 0.0F}, {0.0F, 4.0F}}).to_sparse_csr();
  std::map<std::string, torch::Tensor> named{{"weight", torch::zeros({2, 2}).to_sparse_csr()}};
  named["weight"].requires_grad_();
  named["weight"].mutable_grad() = gradient;

  CHECK(clip_grad_norm_(named, 2.5).item<double>() == 5);

  CHECK(named["weight"].grad().values().allclose(torch::tensor({1.5F, 2.0F})));
}

TEST_CASE("Optimizers, named parameters, one parameter and lists are all owners") {
  torch::nn::Linear linear(torch::nn::LinearOptions(1, 1).bias(false));
  torch::optim::SGD optimizer(linear->parameters(), 1.0);
  const auto clipped_to_one = [&](const auto& clip) {
    linear->weight.mutable_grad() = torch::full({1, 1}, 2.0);
    clip();
    return linear->weight.grad().item<float>() == doctest::Approx(1);
  };

  CHECK(clipped_to_one([&] { clip_grad_norm_(optimizer, 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_norm_(linear->parameters(), 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_norm_(linear->named_parameters(), 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_norm_(linear->weight, 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_norm_({linear->weight}, 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_value_(optimizer, 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_value_(linear->parameters(), 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_value_(linear->named_parameters(), 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_value_(linear->weight, 1.0); }));
  CHECK(clipped_to_one([&] { clip_grad_value_({linear->weight}, 1.0); }));
}

TEST_CASE("A gradient that stands there twice counts once and is clipped once") {
  auto tied = parameter_of({3, 4});
  const auto other = parameter_with(tied.grad());

  CHECK(clip_grad_norm_({tied, tied, other}, 2.5).item<double>() == 5);

  CHECK(tied.grad().allclose(torch::tensor({1.5F, 2.0F})));
}

TEST_CASE("The norm of type 0 is the number of gradients, those of zeros too, as LibTorch has it") {
  const auto zeros = parameter_of({0, 0}), ones = parameter_of({1, 1});

  CHECK(clip_grad_norm_({zeros, ones}, 1.0, 0.0).item<double>() == 2);
  CHECK(torch::nn::utils::clip_grad_norm_({zeros, ones}, 1.0, 0.0) == 2);
}

TEST_CASE("Without gradients, or with empty ones, the norm is 0") {
  auto without = torch::zeros({2}, torch::requires_grad());
  auto empty = parameter_with(torch::zeros({0}));
  for (const double type : {2.0, 0.0, -1.0, infinity, -infinity}) {
    CHECK(clip_grad_norm_(without, 1.0, type).item<double>() == 0);
    CHECK(clip_grad_norm_(std::vector<torch::Tensor>(), 1.0, type).item<double>() == 0);
    CHECK(clip_grad_norm_(empty, 1.0, type, /*error_if_nonfinite=*/true).item<double>() == 0);
  }
  clip_grad_value_({without, empty}, 1.0);

  CHECK_FALSE(without.grad().defined());
}

TEST_CASE("An expanded gradient is clipped, in a copy of its own") {
  auto parameter = parameter_with(torch::full({1}, 2.0).expand({4}));

  CHECK(clip_grad_norm_(parameter, 2.0).item<double>() == 4);
  CHECK(parameter.grad().allclose(torch::ones({4})));

  parameter.mutable_grad() = torch::full({1}, 2.0).expand({4});
  clip_grad_value_(parameter, 1.0);
  CHECK(parameter.grad().equal(torch::ones({4})));
}

TEST_CASE("An inf or NaN makes all gradients 0, whatever the norm type and dtype") {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
    for (const double type : {1.0, 2.0, 3.0, 0.5, 0.0, -1.0, infinity, -infinity}) {
      for (const double bad : {infinity, -infinity, not_a_number}) {
        CAPTURE(type);
        CAPTURE(bad);
        auto good = parameter_of({1}, torch::kFloat), poisoned = parameter_of({2, bad}, dtype);

        clip_grad_norm_({good, poisoned}, 1.0, type);

        CHECK(is_zero(good.grad()));
        CHECK(is_zero(poisoned.grad()));
      }
    }
  }
}

TEST_CASE("A step after a clipped inf leaves the parameters as they are") {
  auto parameter = parameter_of({infinity, 1});
  torch::optim::SGD optimizer({parameter}, 1.0);

  CHECK(clip_grad_norm_(optimizer, 1.0).item<double>() == infinity);
  optimizer.step();

  CHECK(parameter.equal(torch::zeros({2})));
}

TEST_CASE("An accelerator's way to make NaN 0 keeps every other bit") {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
    const auto values = torch::tensor({-0.0, 1.5, infinity, not_a_number}).to(dtype);
    const auto bits = values.element_size() == 2   ? torch::kShort
                      : values.element_size() == 4 ? torch::kInt
                                                   : torch::kLong;
    const auto before = values.clone();

    torchamp::detail::zero_if_nan_({values}, torch::tensor(0.5));
    CHECK(values.view(bits).equal(before.view(bits)));

    torchamp::detail::zero_if_nan_({values}, torch::tensor(not_a_number));
    CHECK(is_zero(values));
  }
}

TEST_CASE("A max_norm of infinity only measures, one of 0 makes the gradients 0") {
  auto parameter = parameter_of({3, infinity});
  CHECK(clip_grad_norm_(parameter, infinity).item<double>() == infinity);
  CHECK(parameter.grad().equal(torch::tensor({3.0, infinity}).to(torch::kFloat)));

  parameter.mutable_grad() = torch::tensor({3.0F, 4.0F});
  CHECK(clip_grad_norm_(parameter, 0.0).item<double>() == 5);
  CHECK(is_zero(parameter.grad()));
}

TEST_CASE("With error_if_nonfinite an inf or NaN is refused and nothing has changed") {
  for (const double type : {2.0, 0.0, -1.0, infinity}) {
    auto good = parameter_of({3}), bad = parameter_of({infinity});

    CHECK_ERROR(E25, clip_grad_norm_({good, bad}, 1.0, type, /*error_if_nonfinite=*/true));
    CHECK(good.grad().item<double>() == 3);
    CHECK(bad.grad().item<double>() == infinity);

    bad.mutable_grad() = torch::full({1}, not_a_number);
    CHECK_ERROR(E25, clip_grad_norm_({good, bad}, 1.0, type, /*error_if_nonfinite=*/true));
    CHECK(good.grad().item<double>() == 3);
  }
  auto good = parameter_of({3});
  CHECK(clip_grad_norm_(good, 1.0, 2.0, /*error_if_nonfinite=*/true).item<double>() == 3);
}

TEST_CASE("Arguments that make no sense are refused and nothing has changed") {
  auto parameter = parameter_of({3});

  CHECK_ERROR(E25, clip_grad_norm_(parameter, -1.0));
  CHECK_ERROR(E25, clip_grad_norm_(parameter, not_a_number));
  CHECK_ERROR(E25, clip_grad_norm_(parameter, 1.0, not_a_number));
  CHECK_ERROR(E25, clip_grad_value_(parameter, -1.0));
  CHECK_ERROR(E25, clip_grad_value_(parameter, not_a_number));
  CHECK_ERROR_SAYS("max_norm is -1", clip_grad_norm_(parameter, -1.0));

  CHECK(parameter.grad().item<double>() == 3);
}

TEST_CASE("Values are clipped as LibTorch clips them") {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16}) {
    for (const double bound : {0.0, 0.25, 100.0, infinity}) {
      const auto ours = random_parameters(dtype), theirs = random_parameters(dtype);

      clip_grad_value_(ours, bound);
      torch::nn::utils::clip_grad_value_(theirs, bound);

      CHECK(largest_difference(ours, theirs) == 0);
    }
  }
}

TEST_CASE("Values whose squares are too small for float32 are clipped too") {
  auto parameter = parameter_of({1e-30, -1e-30});

  clip_grad_value_(parameter, 1e-35);

  CHECK(parameter.grad().equal(torch::tensor({1e-35F, -1e-35F})));
}

TEST_CASE("Of values to clip an inf becomes the bound, and a NaN makes all gradients 0") {
  auto a = parameter_of({-infinity, 1, 5}), b = parameter_of({-3});

  clip_grad_value_({a, b}, 2.0);
  CHECK(a.grad().equal(torch::tensor({-2.0F, 1.0F, 2.0F})));
  CHECK(b.grad().item<double>() == -2);

  a.mutable_grad() = torch::tensor({not_a_number, infinity, 1.0}).to(torch::kFloat);
  clip_grad_value_({a, b}, 2.0);
  CHECK(is_zero(a.grad()));
  CHECK(is_zero(b.grad()));
}

TEST_CASE("Values of complex gradients are not clipped, and nothing has changed") {
  auto real = parameter_of({3});
  auto complex = parameter_with(torch::ones({1}, torch::kComplexFloat));

  CHECK_ERROR(E25, clip_grad_value_({real, complex}, 1.0));

  CHECK(real.grad().item<double>() == 3);
}

TEST_CASE("Clipping reads nothing on the host, unless asked to refuse what is not finite") {
  auto parameter = parameter_of({3, 4});
  HostReadCounter reads;

  for (const double type : {1.0, 2.0, 0.5, 0.0, -1.0, infinity}) {
    clip_grad_norm_(parameter, 1.0, type);
  }
  clip_grad_value_(parameter, 0.5);
  torchamp::detail::zero_if_nan_({parameter.grad()}, torch::tensor(1.0));
  CHECK(reads.more() == 0);

  clip_grad_norm_(parameter, 1.0, 2.0, /*error_if_nonfinite=*/true);
  CHECK(reads.more() == 1);
}

TEST_CASE("The operators that are called by clipping do not grow with the number of gradients") {
  const auto foreach_calls = [](int count) {
    std::vector<torch::Tensor> parameters;
    for (int i = 0; i < count; ++i) parameters.push_back(parameter_of({3}));
    int calls = 0;
    for (const char* name : {"aten::_foreach_norm", "aten::_foreach_mul_", "aten::stack"}) {
      OperatorCounter counter(name);
      clip_grad_norm_(parameters, 1e-6);
      calls += counter.more();
    }
    return calls;
  };

  CHECK(foreach_calls(1) == 3);
  CHECK(foreach_calls(100) == 3);
}

TEST_CASE("Gradients that carry a graph are clipped outside it") {
  auto parameter = torch::full({1}, 2.0, torch::requires_grad());
  auto gradient = torch::autograd::grad({(parameter * parameter).sum()}, {parameter}, {}, true,
                                        /*create_graph=*/true)[0];
  parameter.mutable_grad() = gradient;

  const auto norm = clip_grad_norm_(parameter, 1.0);

  CHECK_FALSE(norm.requires_grad());
  CHECK(parameter.grad().item<double>() == doctest::Approx(1));
}

TEST_CASE("With a scaler the true gradients are clipped, and an overflow still skips the step") {
  auto parameter = torch::zeros({2}, torch::requires_grad());
  torch::optim::SGD optimizer({parameter}, 1.0);
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(4));
  const auto iterate = [&](double factor) {
    optimizer.zero_grad();
    scaler.scale((parameter * torch::tensor({3.0, 4.0}) * factor).sum()).backward();
    scaler.unscale_(optimizer);
    const auto norm = clip_grad_norm_(optimizer, 2.5);
    const bool taken = scaler.step(optimizer).taken();
    scaler.update();
    return std::make_pair(norm.item<double>(), taken);
  };

  CHECK(iterate(1) == std::make_pair(5.0, true));
  CHECK(parameter.allclose(torch::tensor({-1.5F, -2.0F})));
  CHECK(iterate(infinity) == std::make_pair(infinity, false));
  CHECK(scaler.get_scale() == 2);
}
