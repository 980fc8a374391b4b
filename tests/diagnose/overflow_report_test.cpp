// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/grad_scaler.h>
#include <torchamp/diagnose/overflow_report.h>
#include <torchamp/optim/clip_scaled_grad.h>
#include <torchamp/optim/flat_parameters.h>
#include <torchamp/optim/fused_sgd.h>
#include <torchamp/optim/master_weights.h>

#include "support/doctest.h"
#include "support/operators.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using torchamp::GradScaler;
using torchamp::GradScalerOptions;
using torchamp::OverflowReport;
using torchamp::report_overflows;

namespace {

const float infinity = std::numeric_limits<float>::infinity();

struct Net : torch::nn::Module {
  torch::Tensor a = register_parameter("a", torch::ones({2}));
  torch::Tensor b = register_parameter("b", torch::ones({2}));

  /// With gradients of 3 for `a`, of 3 and `gradient` for `b`.
  torch::Tensor loss(float gradient) const {
    return (3 * a).sum() +
           (b * torch::tensor({3.0F, gradient}, b.options().requires_grad(false))).sum();
  }
};

/// Keeps the reports.
struct Desk {
  std::shared_ptr<std::vector<OverflowReport>> reports =
      std::make_shared<std::vector<OverflowReport>>();
  void operator()(const OverflowReport& report) const { reports->push_back(report); }
  const OverflowReport& only() const {
    REQUIRE(reports->size() == 1);
    return reports->at(0);
  }
};

torch::optim::SGDOptions rate() { return torch::optim::SGDOptions(1.0); }

template <class Optimizer>
void step(GradScaler& scaler, Net& net, Optimizer& optimizer, float gradient) {
  net.zero_grad();
  optimizer.zero_grad();
  scaler.scale(net.loss(gradient)).backward();
  scaler.step(optimizer);
  scaler.update();
}

GradScaler scaler_of_8() { return GradScaler(GradScalerOptions().init_scale(8)); }

}  // namespace

TEST_CASE("An overflow is reported with the parameter's name, its place, the scale and the step") {
  Net net;
  torch::optim::SGD optimizer(net.parameters(), rate());
  auto scaler = scaler_of_8();
  Desk desk;
  scaler.on_overflow(report_overflows(net, desk));

  step(scaler, net, optimizer, 1);
  CHECK(desk.reports->empty());
  step(scaler, net, optimizer, infinity);

  const auto& report = desk.only();
  CHECK(report.step == 2);
  CHECK(report.scale == 8);
  REQUIRE(report.gradients.tensors.size() == 1);
  CHECK(report.gradients.tensors[0].name == "b");
  CHECK(report.gradients.tensors[0].inf_count == 1);
  CHECK(report.gradients.tensors[0].first_index == 1);
  CHECK(report.gradients.tensors[0].largest_finite == 3);  // not 24: divided
  CHECK(report.to_text() ==
        "step 2 was skipped, the scale was 8, finite gradients are divided by it\n"
        "1 of 2 gradients is not finite\n"
        "  b  Float [2]: 1 inf of 2; first at 1; largest finite 3\n");
}

TEST_CASE("Modules, what holds them, and named parameters give names; others have their place") {
  torch::nn::Linear linear(torch::nn::LinearOptions(1, 1).bias(false));
  const std::vector<std::pair<std::string, torch::Tensor>> pairs{{"pair", linear->weight}};
  const auto name_with = [&](auto&& model) {
    torch::optim::SGD optimizer(linear->parameters(), rate());
    GradScaler scaler;
    Desk desk;
    scaler.on_overflow(report_overflows(model, desk));
    optimizer.zero_grad();
    scaler.scale(linear(torch::full({1, 1}, infinity)).sum()).backward();
    scaler.step(optimizer);
    return desk.only().gradients.tensors.at(0).name;
  };

  CHECK(name_with(linear) == "weight");
  CHECK(name_with(*linear) == "weight");
  CHECK(name_with(linear.ptr()) == "weight");
  CHECK(name_with(linear->named_parameters()) == "weight");
  CHECK(name_with(pairs) == "pair");
  CHECK(name_with(Net()) == "parameter 0 of group 0");
}

TEST_CASE("Only the gradients of the optimizer that was skipped are in the report") {
  Net net;
  torch::optim::SGD first({net.a}, rate()), second({net.b}, rate());
  GradScaler scaler;
  Desk desk;
  scaler.on_overflow(report_overflows(net, desk));
  scaler.scale(net.loss(infinity)).backward();
  net.a.mutable_grad()[0] = infinity;  // would be reported twice otherwise

  scaler.step(second);
  CHECK(desk.only().gradients.tensors.at(0).name == "b");
  CHECK(desk.only().gradients.tensors.size() == 1);
}

TEST_CASE("Fused optimizers and flat parameters are reported by the names in the model") {
  Net net;
  torchamp::FlatParameters flat(net.parameters());
  torchamp::FusedSGD optimizer(flat.parameters(), rate());
  auto scaler = scaler_of_8();
  Desk desk;
  scaler.on_overflow(report_overflows(net, desk));

  step(scaler, net, optimizer, infinity);

  CHECK(desk.only().gradients.tensors.size() == 1);
  CHECK(desk.only().gradients.tensors.at(0).name == "b");
  CHECK(desk.only().gradients.tensors.at(0).largest_finite == 3);
  CHECK(desk.only().gradients.finite == 1);
}

TEST_CASE("With master weights the model's own gradients are reported, as they are") {
  Net net;
  net.to(torch::kHalf);
  torchamp::MasterWeights<torchamp::FusedSGD> optimizer(net.parameters(), rate());
  auto scaler = scaler_of_8();
  Desk desk;
  scaler.on_overflow(report_overflows(net, desk));

  step(scaler, net, optimizer, 60000);

  const auto& report = desk.only();
  CHECK_FALSE(report.gradients_are_divided);
  CHECK(report.gradients.tensors.at(0).name == "b");
  CHECK(report.gradients.tensors.at(0).dtype == torch::kHalf);
  CHECK(report.gradients.tensors.at(0).largest_finite == 24);
  CHECK(report.to_text().find("not yet divided") != std::string::npos);
}

TEST_CASE("A norm that overflows although all gradients are finite is reported as such") {
  Net net;
  torchamp::FusedSGD optimizer(net.parameters(), rate());
  auto scaler = scaler_of_8();
  Desk desk;
  scaler.on_overflow(report_overflows(net, desk));
  net.zero_grad();
  scaler.scale(net.loss(1e37F)).backward();
  torchamp::clip_grad_norm_(scaler, optimizer, 1.0);

  CHECK(scaler.step(optimizer).skipped());
  CHECK(desk.only().gradients.empty());
  CHECK_FALSE(desk.only().gradients_are_divided);
  CHECK(desk.only().to_text().find("their norm") != std::string::npos);
}

TEST_CASE("Reports cost no operator as long as nothing overflows, and no read on a CPU at all") {
  const auto operators = [](bool reports) {
    Net net;
    torch::optim::SGD optimizer(net.parameters(), rate());
    auto scaler = scaler_of_8();
    if (reports) scaler.on_overflow(report_overflows(net, Desk()));
    step(scaler, net, optimizer, 1);
    OperatorCounter counter;
    step(scaler, net, optimizer, 1);
    return counter.more();
  };
  CHECK(operators(true) == operators(false));

  Net net;
  torchamp::FusedSGD optimizer(net.parameters(), rate());
  auto scaler = scaler_of_8();
  Desk desk;
  scaler.on_overflow(report_overflows(net, desk));
  HostReadCounter reads;
  step(scaler, net, optimizer, infinity);
  CHECK(reads.more() == 0);
  CHECK(desk.reports->size() == 1);
}

TEST_CASE("The names live as long as the listener, whatever becomes of the model") {
  auto net = std::make_unique<Net>();
  torch::optim::SGD optimizer(net->parameters(), rate());
  auto scaler = scaler_of_8();
  Desk desk;
  scaler.on_overflow(report_overflows(*net, desk));
  scaler.scale(net->loss(infinity)).backward();
  net.reset();

  scaler.step(optimizer);
  CHECK(desk.only().gradients.tensors.at(0).name == "b");
}
