// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/named_scope.h>
#include <torchamp/diagnose/range_observer.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <functional>
#include <memory>

using torchamp::detail::RangeObservation;
using torchamp::detail::RangeObserver;
using Kind = torchamp::detail::RangeObservation::Kind;

namespace {

/// A layer of one weight, called "weight".
struct Layer : torch::nn::Module {
  explicit Layer(double value) {
    weight = register_parameter("weight", torch::full({1, 1}, value));
  }
  torch::Tensor forward(const torch::Tensor& x) { return torch::mm(x, weight); }
  torch::Tensor weight;
};

std::shared_ptr<RangeObserver> watch(Layer& layer, const std::function<void()>& step) {
  auto observer = std::make_shared<RangeObserver>(layer.named_parameters(), torch::kCUDA);
  const torchamp::OperatorScope scope(observer);
  step();
  return observer;
}

std::vector<RangeObservation> of_kind(const RangeObserver& observer, Kind kind) {
  std::vector<RangeObservation> found;
  for (const auto& seen : observer.observations()) {
    if (seen.kind == kind) found.push_back(seen);
  }
  return found;
}

const torch::Tensor x = torch::full({1, 1}, 3.0f);

}  // namespace

TEST_CASE("An observer measures what goes into lower precision, what comes out, and its gradient") {
  Layer layer(2);
  const auto observer = watch(layer, [&] { layer.forward(x).sum().backward(); });
  const auto ranges = std::move(observer->readings()).read();

  const auto entering = of_kind(*observer, Kind::Entering);
  REQUIRE(entering.size() == 1);
  CHECK(entering[0].op == "aten::mm");
  CHECK(ranges[entering[0].reading].largest == 3);

  const auto outputs = of_kind(*observer, Kind::Output);
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].op == "aten::mm");
  CHECK(outputs[0].lower);
  CHECK(ranges[outputs[0].reading].largest == 6);
  CHECK(outputs[1].op == "aten::sum");
  CHECK_FALSE(outputs[1].lower);

  const auto gradients = of_kind(*observer, Kind::Gradient);
  REQUIRE(gradients.size() == 2);
  CHECK(gradients[0].op == "SumBackward0");
  CHECK_FALSE(gradients[0].lower);
  CHECK(gradients[1].op == "MmBackward0");
  CHECK(gradients[1].lower);
  CHECK(gradients[1].place == outputs[0].place);

  CHECK(observer->cast_parameters() == std::set<std::string>{"weight"});
  CHECK(observer->lower_operators() == 1);
  CHECK(observer->saw_backward());
  CHECK(observer->failure() == nullptr);
}

TEST_CASE("The gradient of a float32 tensor that lower precision takes up is in lower precision") {
  Layer layer(2);
  const auto observer = watch(layer, [&] {
    const auto wide = torch::exp(layer.forward(x));  // float32 in a region
    layer.forward(wide).sum().backward();
  });

  bool found = false;
  for (const auto& gradient : of_kind(*observer, Kind::Gradient)) {
    if (gradient.op != "ExpBackward0") continue;
    found = true;
    CHECK(gradient.lower);
  }
  CHECK(found);
}

TEST_CASE("Operators inside backward nodes are not activations") {
  Layer layer(2);
  const auto observer = watch(layer, [&] {
    const auto y = layer.forward(x);
    (y * y).sum().backward();  // y is used twice, so its gradients are added up
  });

  for (const auto& seen : of_kind(*observer, Kind::Output)) {
    CAPTURE(seen.op);
    CHECK((seen.op == "aten::mm" || seen.op == "aten::mul" || seen.op == "aten::sum"));
  }
}

TEST_CASE("A custom autograd function is named as its node, and taken for lower precision") {
  struct Twice : torch::autograd::Function<Twice> {
    static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& input) {
      return input * 2;
    }
    static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::tensor_list& gradients) {
      return {gradients[0] * 2};
    }
  };
  Layer layer(2);
  const auto observer = watch(layer, [&] { Twice::apply(layer.forward(x)).sum().backward(); });

  bool found = false;
  for (const auto& gradient : of_kind(*observer, Kind::Gradient)) {
    if (gradient.op.find("Twice") == std::string::npos) continue;
    found = true;
    CHECK(gradient.lower);
    CHECK(gradient.place.find("backward of ") == 0);
  }
  CHECK(found);
}

TEST_CASE("Scopes nest in the name of a place, and end") {
  Layer layer(2);
  const auto observer = watch(layer, [&] {
    const auto y = layer.forward(x);
    {
      const torchamp::NamedScope outer("head");
      const torchamp::NamedScope inner("0");
      torch::sin(y);
    }
    torch::cos(y);
  });

  const auto outputs = of_kind(*observer, Kind::Output);
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[1].place == "head.0");
  CHECK(outputs[2].place == "after the outermost module");
}

TEST_CASE("An operator that throws is over, and those after it are seen as before") {
  Layer layer(2);
  const auto observer = watch(layer, [&] {
    CHECK_THROWS(torch::mm(x, torch::ones({2, 2})));
    layer.forward(x);
  });

  const auto outputs = of_kind(*observer, Kind::Output);
  REQUIRE(outputs.size() == 1);
  CHECK(outputs[0].place == "the outermost module");
  CHECK(observer->failure() == nullptr);
}

TEST_CASE("An autocast region is noticed") {
  Layer layer(2);
  CHECK(watch(layer, [&] { layer.forward(x); })->in_autocast().empty());
  CHECK(watch(layer, [&] {
          const torchamp::AutocastGuard region(torch::kCPU);
          layer.forward(x);
        })->in_autocast() == "aten::mm");
  CHECK(watch(layer,
              [&] {
                const torchamp::AutocastGuard region(torch::kCPU);
                const torchamp::FullPrecisionGuard outside(torch::kCPU);
                layer.forward(x);
              })
            ->in_autocast()
            .empty());
}

TEST_CASE("Refused operators are noted with their place") {
  Layer layer(0.1);
  const auto observer = watch(layer, [&] {
    torch::binary_cross_entropy(layer.forward(x), torch::ones({1, 1}));
  });

  REQUIRE(observer->refused().size() == 1);
  CHECK(observer->refused()[0].first == "aten::binary_cross_entropy");
  CHECK(observer->refused()[0].second == "after the outermost module");
}

TEST_CASE("Watching reads nothing, and its own operators are seen by nobody") {
  Layer layer(2);
  OperatorCounter operators;
  layer.forward(x);
  const int unwatched = operators.more();
  HostReadCounter reads;

  watch(layer, [&] { layer.forward(x); });

  CHECK(operators.more() == unwatched);
  CHECK(reads.more() == 0);
}
