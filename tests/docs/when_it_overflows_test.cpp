// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The C++ of docs/when_it_overflows.md, which tools/doc_snippets.py copies from between the markers
// here, and the claims of its table.
#include <torchamp/diagnose/dry_run.h>
#include <torchamp/diagnose/inject.h>
#include <torchamp/diagnose/named_scope.h>
#include <torchamp/diagnose/non_finite.h>
#include <torchamp/diagnose/non_finite_tracer.h>
#include <torchamp/diagnose/op_stats.h>
#include <torchamp/diagnose/overflow_report.h>
#include <torchamp/diagnose/underflow.h>
#include <torchamp/torchamp.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace F = torch::nn::functional;

namespace {

struct Batch {
  torch::Tensor data = torch::ones({2, 4});
  torch::Tensor target = torch::zeros({2}, torch::kLong);
};

/// What the snippets take as given. What they print comes into `out`, which they call std::cerr.
struct Given {
  torch::Device device = torch::kCPU;
  torch::nn::Sequential model{torch::nn::Linear(4, 3)};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.1)};
  torchamp::GradScaler scaler;
  Batch batch;

  torch::Tensor loss() { return F::cross_entropy(model->forward(batch.data), batch.target); }
};

/// What is written to std::cerr while this lives.
class Cerr {
 public:
  Cerr() : old_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~Cerr() { std::cerr.rdbuf(old_); }
  Cerr(const Cerr&) = delete;
  Cerr& operator=(const Cerr&) = delete;

  bool has(const std::string& words) const { return text_.str().find(words) != std::string::npos; }

 private:
  std::ostringstream text_;
  std::streambuf* old_;
};

/// The largest float16 is 65504.
torch::Tensor half(double value) { return torch::full({1}, value, torch::kHalf); }

}  // namespace

TEST_CASE("when_it_overflows.md: which gradients") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const Cerr cerr;

  // [listen]
  scaler.on_overflow(torchamp::report_overflows(
      *model, [](const torchamp::OverflowReport& report) { std::cerr << report; }));
  // [end]

  const torchamp::GradientInjection fault(model, "0.bias");
  scaler.scale(given.loss()).backward();
  scaler.step(optimizer);
  CHECK(cerr.has("step 1 was skipped, the scale was 65536"));
  CHECK(cerr.has("0.bias  Float [3]: 1 inf of 3"));
}

TEST_CASE("when_it_overflows.md: once, by hand") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const torchamp::GradientInjection fault(model, "0.bias");
  scaler.scale(given.loss()).backward();
  const Cerr cerr;

  // [by_hand]
  if (scaler.step(optimizer).skipped()) std::cerr << torchamp::find_non_finite(*model);
  scaler.update();
  // [end]

  CHECK(cerr.has("1 of 2 gradients is not finite"));
}

TEST_CASE("when_it_overflows.md: data and parameters") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  batch.data[1][3] = NAN;
  const Cerr cerr;

  // [values]
  std::cerr << torchamp::find_non_finite({{"data", batch.data}, {"target", batch.target}})
            << torchamp::find_non_finite(*model, torchamp::NonFiniteIn::Values);
  // [end]

  CHECK(cerr.has(
      "1 of 2 tensors is not finite\n  data  Float [2, 4]: 1 NaN of 8; first at 7 = [1, 3]"));
  CHECK(cerr.has("2 tensors, all finite"));
}

TEST_CASE("when_it_overflows.md: which operator") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const Cerr cerr;
  const torchamp::OutputInjection fault("aten::addmm");

  // [trace]
  optimizer.zero_grad();
  {
    const torchamp::NonFiniteTracer tracer(*model);
    const auto loss = F::cross_entropy(torchamp::named_forward(model, batch.data), batch.target);
    scaler.scale(loss).backward();
    std::cerr << tracer;
  }
  // [end]

  CHECK(cerr.has("aten::"));
  CHECK(cerr.has("not finite"));
}

namespace {

struct Distance : torch::nn::Module {
  torch::nn::Conv2d conv2 =
      register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 1, 1).bias(false)));

  // [names]
  torch::Tensor forward(torch::Tensor x) {
    x = torchamp::named_call(*this, conv2, x);  // conv2->forward(x), in a scope "conv2"
    const torchamp::NamedScope scope("distance");
    return x.pow(2).sum().sqrt();
  }
  // [end]
};

}  // namespace

TEST_CASE("when_it_overflows.md: names, and what is said of backward") {
  Distance model;
  const torchamp::NonFiniteTracer tracer(model);

  model.forward(torch::zeros({1, 1, 1, 1})).backward();

  CHECK(
      tracer.to_text().find(
          "aten::div made values that are not finite, in distance\n"
          "  result  Float []: 1 inf of 1; first at 0\n"
          "  self  Float []: finite, largest 1\n"
          "  other  Float []: finite, largest 0\n"
          "  in backward: SqrtBackward0, of aten::sqrt in the scopes distance\n"
          "  likely cure: clamp() what goes in, or an epsilon: in a divisor, or inside a root or a"
          " logarithm\n") == 0);
}

TEST_CASE("when_it_overflows.md: options of the tracer") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const auto x = torch::zeros({1});
  const auto traced = [&, model = model](const auto& train_step) {
    // [options]
    const auto options = torchamp::NonFiniteTracerOptions()
                             .allowed({"aten::log"})                     // log(0) is a mask here
                             .on_finding(torchamp::OnNonFinite::Throw);  // or Warn, or Note
    const torchamp::NonFiniteTracer tracer(*model, options);
    tracer.run([&] { train_step(); });  // throws [torchamp.E32] at its end, as named_call() does
    // [end]
  };

  CHECK_NOTHROW(traced([&] { x.log(); }));
  CHECK_ERROR(E32, traced([&] { x.log2(); }));
}

TEST_CASE("when_it_overflows.md: too small for float16") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const auto loss = given.loss();
  const Cerr cerr;

  // [underflow]
  scaler.scale(loss).backward();
  std::cerr << torchamp::find_underflow(*model, scaler, torchamp::GradientsAre::Scaled);
  // [end]

  CHECK(cerr.has("2 gradients, 15 numbers, at a scale of 65536"));
  CHECK(cerr.has("Best scale: "));
}

TEST_CASE("when_it_overflows.md: before training") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  batch.data.fill_(1e6);  // float16 ends at 65504
  const auto before = model->parameters()[0].clone();
  const Cerr cerr;

  // [dry_run]
  std::cerr << torchamp::dry_run(
      *model, [&] { F::cross_entropy(model->forward(batch.data), batch.target).backward(); });
  // [end]

  CHECK(cerr.has("65504"));
  CHECK(model->parameters()[0].equal(before));
  CHECK_FALSE(model->parameters()[0].grad().defined());
}

TEST_CASE("when_it_overflows.md: what ran in which dtype") {
  Given given;
  const auto train_step = [&given] {
    const torchamp::AutocastGuard autocast(given.device, torch::kHalf);
    given.loss();
  };
  const Cerr cerr;

  // [op_stats]
  {
    const torchamp::OpStats stats;
    train_step();
    std::cerr << stats;
  }
  // [end]

  CHECK(cerr.has("aten::addmm"));
  CHECK(cerr.has("Half"));
}

TEST_CASE("when_it_overflows.md: float32 for a part") {
  const torch::Device device = torch::kCPU;
  const auto weight = torch::eye(2);
  const auto data = torch::full({2, 2}, 300.0);
  torchamp::AutocastGuard autocast(device, torch::kHalf);
  CHECK(torch::mm(data, weight).square().isinf().all().item<bool>());

  // [float32]
  auto features = torch::mm(data, weight);  // float16
  {
    torchamp::FullPrecisionGuard full_precision(device);
    features = features.to(torch::kFloat);  // before it overflows, not behind
    features = features.square() / features.square().sum();
  }
  // [end]

  CHECK(features.eq(0.25).all().item<bool>());
}

TEST_CASE("when_it_overflows.md: masks") {
  const auto scores = torch::zeros({1, 2}, torch::kHalf);
  const auto mask = torch::tensor({{true, true}});
  CHECK_THROWS(scores.masked_fill(mask, -1e9));
  CHECK(scores.masked_fill(mask, -INFINITY).softmax(1).isnan().all().item<bool>());

  // [mask]
  const double lowest = std::numeric_limits<c10::Half>::lowest();  // -65504
  const auto weights = scores.masked_fill(mask, lowest).softmax(1);
  // [end]

  CHECK(weights.eq(0.5).all().item<bool>());
}

TEST_CASE("when_it_overflows.md: bfloat16") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const Cerr cerr;
  for (int64_t step = 0; step < 101; ++step) {
    optimizer.zero_grad();
    given.loss().backward();
    if (step == 100) model->parameters()[0].mutable_grad().fill_(NAN);

    // [unscaled]
    if (step % 100 == 0) {
      const auto report = torchamp::find_non_finite(*model);
      if (!report.empty()) std::cerr << "step " << step << ": " << report;
    }
    // [end]
  }
  CHECK(cerr.has("step 100: 1 of 2 gradients is not finite"));
  CHECK_FALSE(cerr.has("step 0"));
}

TEST_CASE("when_it_overflows.md: faults on purpose") {
  Given given;
  auto& [device, model, optimizer, scaler, batch] = given;
  const auto train = [&, model = model] {
    for (int step = 0; step < 5; ++step) {
      given.optimizer.zero_grad();
      given.scaler.scale(given.loss()).backward();
      given.scaler.step(given.optimizer);
      given.scaler.update();
    }
  };

  // [inject]
  {
    const torchamp::GradientInjection fault(*model, "0.weight", torchamp::Injection().call(3));
    train();  // with inf in that gradient in the third step
  }
  {
    const torchamp::OutputInjection fault("aten::addmm", torchamp::Injection().value(NAN).call(2));
    train();  // with NaN in what the second call of addmm returns
  }
  // [end]

  CHECK(scaler.skipped_steps() == 2);
  CHECK(torchamp::find_non_finite(*model, torchamp::NonFiniteIn::Values).empty());
}

TEST_CASE("when_it_overflows.md: the numbers in the table") {
  CHECK(half(65504).isfinite().item<bool>());
  CHECK((half(256) * 256).isinf().item<bool>());  // squares of 256 and more
  CHECK((half(11) + 0.1).exp().isinf().item<bool>());
  CHECK(half(11).exp().isfinite().item<bool>());
  CHECK(half(1e-8).item<float>() == 0);  // an epsilon
  CHECK(half(6e-8).item<float>() > 0);   // the smallest number
  const auto zero = torch::zeros({1}, torch::requires_grad());
  (zero.sqrt() * 0).sum().backward();
  CHECK(zero.grad().isnan().item<bool>());
  // Divided by inf all is 0, forward and backward, and no step is skipped.
  const auto x = torch::full({1}, 300.0, torch::kHalf).requires_grad_();
  const auto normalised = x / (x * x).mean().sqrt();
  CHECK(normalised.item<float>() == 0);
  normalised.sum().backward();
  CHECK(x.grad().item<float>() == 0);
}
