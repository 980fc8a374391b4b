// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/custom_function.h>

#include "support/doctest.h"

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using torchamp::AutocastGuard;
using torchamp::AutocastOptions;

namespace {

const auto cpu = torch::kCPU;

/// What a function saw while it ran.
struct Seen {
  bool enabled = false;
  torch::Dtype dtype = torch::kInt;
  torch::Dtype input = torch::kInt;
};
Seen in_forward, in_backward;

Seen look(const torch::Tensor& tensor) {
  return {at::autocast::is_autocast_enabled(cpu), at::autocast::get_autocast_dtype(cpu),
          tensor.scalar_type()};
}

/// A product of matrices that notes what it sees.
template <class Derived>
struct Product : torchamp::AutocastFunction<Derived> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& a,
                               const torch::Tensor& b) {
    in_forward = look(a);
    context->save_for_backward({a, b});
    return a.mm(b);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    in_backward = look(gradients[0]);
    const auto saved = context->get_saved_variables();
    return {gradients[0].mm(saved[1].t()), saved[0].t().mm(gradients[0])};
  }
};
struct PlainProduct : Product<PlainProduct> {};
struct FloatProduct : Product<FloatProduct> {
  static constexpr auto cast_inputs = at::kFloat;
};
struct BFloat16Product : Product<BFloat16Product> {
  static constexpr auto cast_inputs = at::kBFloat16;
};

/// Hands back the dtypes of everything that it was given.
struct Inspect : torchamp::AutocastFunction<Inspect> {
  static constexpr auto cast_inputs = at::kFloat;

  using Nest = std::map<std::string, std::vector<std::pair<torch::Tensor, torch::Tensor>>>;

  static torch::Tensor forward(AutogradContext* /*context*/, const torch::Tensor& tensor,
                               const std::optional<torch::Tensor>& optional, at::TensorList list,
                               const Nest& nest, const std::string& text, int number) {
    dtypes = {tensor.scalar_type(), optional ? optional->scalar_type() : torch::kBool,
              list[0].scalar_type(), nest.at("key")[0].first.scalar_type(),
              nest.at("key")[0].second.scalar_type()};
    text_and_number = {text, number};
    return tensor.clone();
  }
  static variable_list backward(AutogradContext* /*context*/, const variable_list& gradients) {
    return {gradients[0], {}, {}, {}, {}, {}};
  }

  inline static std::vector<torch::Dtype> dtypes;
  inline static std::pair<std::string, int> text_and_number;
};

/// Calls another custom function.
struct Outer : torchamp::AutocastFunction<Outer> {
  static constexpr auto cast_inputs = at::kFloat;
  static torch::Tensor forward(AutogradContext* /*context*/, const torch::Tensor& a) {
    return PlainProduct::apply(a, a);
  }
  static variable_list backward(AutogradContext* /*context*/, variable_list gradients) {
    return gradients;
  }
};

/// Fails in forward.
struct Throws : torchamp::AutocastFunction<Throws> {
  static constexpr auto cast_inputs = at::kFloat;
  static torch::Tensor forward(AutogradContext* /*context*/, torch::Tensor /*a*/) {
    throw std::runtime_error("passes");
  }
  static variable_list backward(AutogradContext* /*context*/, variable_list gradients) {
    return gradients;
  }
};

torch::Tensor ones(torch::Dtype dtype) {
  return torch::ones({2, 2}, torch::dtype(dtype).requires_grad(true));
}

}  // namespace

TEST_CASE("Without cast_inputs forward runs as it is, and backward in forward's state") {
  const auto a = ones(torch::kFloat), b = ones(torch::kFloat);
  torch::Tensor output;
  {
    AutocastGuard autocast(cpu, torch::kHalf);
    output = PlainProduct::apply(a, b);
  }
  CHECK(in_forward.enabled);
  CHECK(in_forward.input == torch::kFloat);
  CHECK(output.scalar_type() == torch::kHalf);

  output.sum().backward();

  CHECK(in_backward.enabled);
  CHECK(in_backward.dtype == torch::kHalf);
  CHECK(a.grad().equal(torch::full({2, 2}, 2.0)));
  CHECK_FALSE(at::autocast::is_autocast_enabled(cpu));
}

TEST_CASE(
    "backward runs in forward's state inside a region of another dtype and on another thread") {
  torch::Tensor output;
  {
    AutocastGuard autocast(cpu, torch::kHalf);
    output = PlainProduct::apply(ones(torch::kFloat), ones(torch::kFloat));
  }
  SUBCASE("another region") {
    AutocastGuard autocast(cpu, torch::kBFloat16);
    output.sum().backward();
    CHECK(at::autocast::get_autocast_dtype(cpu) == torch::kBFloat16);
  }
  SUBCASE("another thread") {
    std::thread([&] { output.sum().backward(); }).join();
  }
  CHECK(in_backward.enabled);
  CHECK(in_backward.dtype == torch::kHalf);
}

TEST_CASE("A forward outside regions has its backward without autocast inside one") {
  const auto output = PlainProduct::apply(ones(torch::kFloat), ones(torch::kFloat));
  CHECK_FALSE(in_forward.enabled);

  AutocastGuard autocast(cpu);
  output.sum().backward();

  CHECK_FALSE(in_backward.enabled);
}

TEST_CASE("With cast_inputs forward gets that dtype with autocast off, and so does backward") {
  const auto a = ones(torch::kBFloat16), b = ones(torch::kFloat);
  torch::Tensor output;
  {
    AutocastGuard autocast(cpu);
    output = FloatProduct::apply(a, b);
    CHECK(at::autocast::is_autocast_enabled(cpu));
  }
  CHECK_FALSE(in_forward.enabled);
  CHECK(in_forward.input == torch::kFloat);
  CHECK(output.scalar_type() == torch::kFloat);

  AutocastGuard elsewhere(cpu);
  output.sum().backward();

  CHECK_FALSE(in_backward.enabled);
  CHECK(a.grad().scalar_type() == torch::kBFloat16);  // autograd casts back to the input's dtype
  CHECK(a.grad().to(torch::kFloat).equal(torch::full({2, 2}, 2.0)));
  CHECK(b.grad().equal(torch::full({2, 2}, 2.0)));
}

TEST_CASE("cast_inputs can be half precision") {
  AutocastGuard autocast(cpu);

  const auto output = BFloat16Product::apply(ones(torch::kFloat), ones(torch::kFloat));

  CHECK_FALSE(in_forward.enabled);
  CHECK(in_forward.input == torch::kBFloat16);
  CHECK(output.scalar_type() == torch::kBFloat16);
}

TEST_CASE("Outside regions and in disabled ones nothing is cast") {
  SUBCASE("outside") { BFloat16Product::apply(ones(torch::kFloat), ones(torch::kFloat)); }
  SUBCASE("disabled") {
    AutocastGuard autocast(cpu, AutocastOptions().enabled(false));
    BFloat16Product::apply(ones(torch::kFloat), ones(torch::kFloat));
  }
  SUBCASE("a region of another device") {
    AutocastGuard autocast(torch::kCUDA);
    BFloat16Product::apply(ones(torch::kFloat), ones(torch::kFloat));
  }
  CHECK(in_forward.input == torch::kFloat);
}

TEST_CASE("Float64 and integers keep their dtype") {
  AutocastGuard autocast(cpu);
  const auto seen = [](torch::Dtype dtype) {
    const auto matrix = torch::ones({2, 2}, dtype);
    FloatProduct::apply(matrix, matrix);
    return in_forward.input;
  };

  CHECK(seen(torch::kDouble) == torch::kDouble);
  CHECK(seen(torch::kLong) == torch::kLong);
  CHECK(seen(torch::kHalf) == torch::kFloat);
}

TEST_CASE(
    "Tensors in optional, list and nested containers are cast, other arguments handed through") {
  const auto half = ones(torch::kHalf), whole = torch::ones({1}, torch::kLong);
  const std::vector<torch::Tensor> list{half};
  const Inspect::Nest nest{{"key", {{half, whole}}}};
  AutocastGuard autocast(cpu);

  const auto output = Inspect::apply(half, std::optional<torch::Tensor>(half), at::TensorList(list),
                                     nest, std::string("text"), 7);

  CHECK(Inspect::dtypes == std::vector<torch::Dtype>{torch::kFloat, torch::kFloat, torch::kFloat,
                                                     torch::kFloat, torch::kLong});
  CHECK(Inspect::text_and_number == std::pair<std::string, int>("text", 7));
  CHECK(nest.at("key")[0].first.scalar_type() == torch::kHalf);
  output.sum().backward();
  CHECK(half.grad().equal(torch::ones({2, 2}, torch::kHalf)));

  Inspect::apply(half, std::optional<torch::Tensor>(), at::TensorList(list), nest, std::string(),
                 0);
  CHECK(Inspect::dtypes[1] == torch::kBool);
}

TEST_CASE("A custom function inside another runs in the state that the outer one gives it") {
  AutocastGuard autocast(cpu);

  CHECK(Outer::apply(ones(torch::kHalf)).scalar_type() == torch::kFloat);
  CHECK_FALSE(in_forward.enabled);

  CHECK(PlainProduct::apply(ones(torch::kFloat), ones(torch::kFloat)).scalar_type() ==
        torch::kBFloat16);
}

TEST_CASE("A weight used inside forward, where gradients are off, keeps its gradients elsewhere") {
  const auto weight = ones(torch::kFloat);
  AutocastGuard autocast(cpu, AutocastOptions().cache_enabled(true));

  PlainProduct::apply(ones(torch::kFloat), weight);

  CHECK(torch::mm(weight, weight).requires_grad());
}

TEST_CASE("Without gradients forward works the same, and an exception restores the state") {
  torch::NoGradGuard no_grad;
  AutocastGuard autocast(cpu);

  CHECK(FloatProduct::apply(ones(torch::kHalf), ones(torch::kFloat)).scalar_type() ==
        torch::kFloat);
  CHECK_THROWS_AS(Throws::apply(ones(torch::kFloat)), std::runtime_error);
  CHECK(at::autocast::is_autocast_enabled(cpu));
}

TEST_CASE("forward may return several tensors, and gradients may be taken twice") {
  struct Split : torchamp::AutocastFunction<Split> {
    static variable_list forward(AutogradContext* context, const torch::Tensor& a) {
      context->save_for_backward({a});
      return {a * a, a * 3};
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
      const auto a = context->get_saved_variables()[0];
      return {gradients[0] * a * 2 + gradients[1] * 3};
    }
  };
  const auto a = torch::full({1}, 5.0, torch::requires_grad());
  AutocastGuard autocast(cpu);

  const auto outputs = Split::apply(a);
  const auto first = torch::autograd::grad({outputs[0]}, {a}, {}, true, /*create_graph=*/true)[0];
  const auto second = torch::autograd::grad({first}, {a})[0];

  CHECK(outputs[1].item<float>() == 15);
  CHECK(first.item<float>() == 10);
  CHECK(second.item<float>() == 2);
}
