// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The behaviours that PyTorch's own tests ask of its GradScaler, asked of ours. tests/PEER_TESTS.md
// says which test here stands for which test there.
#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

using torchamp::AutocastGuard;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();

// --- Two equal trainings, one of them scaled ---------------------------------------------------

constexpr int skip_iteration = 2;  // where a gradient of the scaled training becomes inf

torch::nn::Sequential small_model() {
  return torch::nn::Sequential(torch::nn::Linear(8, 8), torch::nn::Linear(8, 8));
}

/// A model and its optimizer. The models of two trainings made from one seed are equal.
struct Training {
  using Make = std::function<std::unique_ptr<torch::optim::Optimizer>(
      std::vector<torch::Tensor> parameters)>;

  explicit Training(const Make& make_optimizer, uint64_t seed = 1)
      : model((torch::manual_seed(seed), small_model())),
        optimizer(make_optimizer(model->parameters())) {}

  torch::Tensor parameters() const {
    return torch::nn::utils::parameters_to_vector(model->parameters());
  }
  torch::Tensor gradients() const {
    std::vector<torch::Tensor> flat;
    for (const auto& parameter : model->parameters()) flat.push_back(parameter.grad().flatten());
    return torch::cat(flat);
  }
  /// The weight of the second layer: where the overflow is put.
  torch::Tensor last_weight() const { return model->parameters()[2]; }

  torch::nn::Sequential model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

std::unique_ptr<torch::optim::Optimizer> sgd(std::vector<torch::Tensor> parameters) {
  return std::make_unique<torch::optim::SGD>(std::move(parameters), torch::optim::SGDOptions(1.0));
}

struct Batch {
  int number;
  torch::Tensor input, target;
};

std::vector<Batch> four_batches() {
  torch::manual_seed(7);
  std::vector<Batch> batches;
  for (int i = 0; i < 4; ++i) batches.push_back({i, torch::randn({8, 8}), torch::randn({8, 8})});
  return batches;
}

GradScaler scaler_from_128(bool enabled = true) {
  return GradScaler(
      GradScalerOptions().init_scale(128).growth_factor(2).growth_interval(1).enabled(enabled));
}

/// 128, doubled by every good iteration and halved by every other.
double scale_from_128(int unskipped, int skipped) {
  return 128 * std::pow(2.0, unskipped) * std::pow(0.5, skipped);
}

torch::Tensor loss_of(Training& training, const Batch& batch) {
  return torch::mse_loss(training.model->forward(batch.input), batch.target);
}

/// Puts inf where the tests want one: into a gradient of the scaled training at one iteration.
void overflow_at_skip_iteration(const torch::Tensor& parameter, const GradScaler& scaler,
                                const Batch& batch) {
  if (batch.number == skip_iteration && scaler.is_enabled()) {
    parameter.mutable_grad().fill_(infinity);
  }
}

using PlainIteration = std::function<void(Training&, const Batch&, bool steps)>;
using ScaledIteration = std::function<void(Training&, GradScaler&, const Batch&)>;

void plain_iteration(Training& training, const Batch& batch, bool steps) {
  training.optimizer->zero_grad();
  loss_of(training, batch).backward();
  if (steps) training.optimizer->step();
}

/// Trains for four iterations with a scaler, enabled and disabled, and beside it without one, where
/// the optimizer sits out what the scaler has to skip. Both must end at the same place.
void run_scaling_case(const ScaledIteration& scaled_iteration,
                      const PlainIteration& plain_iteration, int unskipped, int skipped,
                      double tolerance) {
  for (const bool enabled : {true, false}) {
    CAPTURE(enabled);
    Training control(sgd), scaled(sgd);
    auto scaler = scaler_from_128(enabled);
    const auto start = scaled.parameters();
    for (const auto& batch : four_batches()) {
      const bool skips = enabled && skipped > 0 && batch.number == skip_iteration;
      plain_iteration(control, batch, !skips);
      scaled_iteration(scaled, scaler, batch);
    }

    CHECK(scaler.get_scale() == (enabled ? scale_from_128(unskipped, skipped) : 1.0));
    CHECK_FALSE(torch::allclose(scaled.parameters(), start, /*rtol=*/0, 1e-2));
    CHECK(torch::allclose(scaled.parameters(), control.parameters(), /*rtol=*/0, tolerance));
    CHECK(torch::allclose(scaled.gradients(), control.gradients(), /*rtol=*/0, tolerance));
  }
}

/// One parameter with a gradient of every dtype and layout that can be unscaled, all of value 4.
struct PerfectStorm {
  PerfectStorm() {
    const auto add = [this](const torch::Tensor& gradient) {
      auto parameter = torch::zeros(gradient.sizes(), gradient.options().layout(torch::kStrided));
      parameter.set_requires_grad(true);
      parameter.mutable_grad() = gradient;
      parameters.push_back(parameter);
    };
    for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kBFloat16, torch::kComplexFloat,
                             torch::kComplexDouble}) {
      add(torch::full({4, 4}, 4, dtype));                 // in one piece
      add(torch::full({4, 4}, 4, dtype).t());             // transposed
      add(torch::full({4, 8}, 4, dtype).slice(1, 0, 4));  // with gaps
      add(torch::full({}, 4, dtype));                     // one number
      add(torch::full({3, 4}, 4, dtype).to_sparse());     // by index
      add(torch::full({1}, 4, dtype).expand({1, 1, 1}));  // a view
      add(torch::empty({0, 4}, dtype));                   // nothing
    }
  }

  static torch::Tensor values(const torch::Tensor& parameter) {
    const auto gradient = parameter.grad();
    return gradient.is_sparse() ? gradient._values() : gradient;
  }
  /// A view of the last number of a gradient that has one.
  static torch::Tensor last_number(const torch::Tensor& parameter) {
    auto number = values(parameter);
    while (number.dim() > 0) number = number.select(0, -1);
    return number;
  }

  std::vector<torch::Tensor> parameters;
};

/// Scale 4: a gradient of 4 is 1 when unscaled.
GradScaler scaler_at_4() {
  GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(2).backoff_factor(0.25));
  static_cast<void>(scaler.scale(torch::ones({})));
  return scaler;
}

}  // namespace

// --- unscale_ ----------------------------------------------------------------------------------

TEST_CASE("Gradients of every dtype and layout are divided in one call, and all come out as one") {
  PerfectStorm storm;
  torch::optim::SGD optimizer(storm.parameters, 1.0);
  auto scaler = scaler_at_4();

  scaler.unscale_(optimizer);

  for (const auto& parameter : storm.parameters) {
    CAPTURE(parameter.scalar_type());
    CHECK(PerfectStorm::values(parameter).eq(1).all().item<bool>());
  }
  scaler.update();
  CHECK(scaler.growth_tracker() == 1);
}

TEST_CASE("An inf or NaN in any one gradient, of any dtype and layout, is found") {
  for (const float bad : {infinity, -infinity, not_a_number}) {
    CAPTURE(bad);
    const auto count = PerfectStorm().parameters.size();
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(i);
      PerfectStorm storm;
      if (storm.parameters[i].grad().numel() == 0) continue;  // no place for one
      PerfectStorm::last_number(storm.parameters[i]).fill_(bad);
      torch::optim::SGD optimizer(storm.parameters, 1.0);
      auto scaler = scaler_at_4();

      const auto result = scaler.step(optimizer);
      scaler.update();

      CHECK(result.skipped());
      CHECK(result.found_inf().item<float>() == 1);
      CHECK(scaler.get_scale() == 1);
    }
  }
}

TEST_CASE("Infinities in several gradients at once are found as one") {
  PerfectStorm storm;
  for (const auto& parameter : storm.parameters) PerfectStorm::values(parameter).fill_(infinity);
  torch::optim::SGD optimizer(storm.parameters, 1.0);
  auto scaler = scaler_at_4();

  CHECK(scaler.step(optimizer).found_inf().item<float>() == 1);
}

TEST_CASE("Sparse gradients are divided where they stand, and an inf or NaN in them is found") {
  for (const float value : {8.0F, infinity, not_a_number}) {
    CAPTURE(value);
    auto parameter = torch::zeros({2, 3}, torch::requires_grad());
    parameter.mutable_grad() = torch::sparse_coo_tensor(
        torch::tensor({{0, 1, 1}, {2, 0, 2}}), torch::tensor({16.0F, value, 32.0F}), {2, 3});
    torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
    auto scaler = scaler_at_4();

    const auto result = scaler.step(optimizer);

    CHECK(result.taken() == (value == 8.0F));
    CHECK(parameter.grad().is_sparse());
    if (result.taken()) {
      CHECK(parameter.equal(torch::tensor({{0.0F, 0.0F, -4.0F}, {-2.0F, 0.0F, -8.0F}})));
    }
  }
}

// --- update ------------------------------------------------------------------------------------

TEST_CASE(
    "Two good steps double the scale, and one overflow quarters it and starts the count anew") {
  auto parameter = torch::zeros({1}, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  auto scaler = scaler_at_4();
  const auto train = [&](float gradient) {
    parameter.mutable_grad() = torch::full({1}, gradient);
    scaler.step(optimizer);
    scaler.update();
    return std::make_pair(scaler.get_scale(), scaler.growth_tracker());
  };

  CHECK(train(1) == std::make_pair(4.0, int64_t{1}));
  CHECK(train(1) == std::make_pair(8.0, int64_t{0}));
  CHECK(train(1) == std::make_pair(8.0, int64_t{1}));
  CHECK(train(infinity) == std::make_pair(2.0, int64_t{0}));
}

TEST_CASE("Growth stops short of what float32 holds") {
  auto parameter = torch::zeros({1}, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(1e38).growth_factor(16).growth_interval(1));
  static_cast<void>(scaler.scale(parameter.sum()));

  parameter.mutable_grad() = torch::ones({1});
  scaler.step(optimizer);
  scaler.update();

  CHECK(std::isfinite(scaler.get_scale()));
}

// --- Whole loops -------------------------------------------------------------------------------

TEST_CASE("A scaled loop with one overflow ends where a plain loop without that step does") {
  run_scaling_case(
      [](Training& training, GradScaler& scaler, const Batch& batch) {
        training.optimizer->zero_grad();
        scaler.scale(loss_of(training, batch)).backward();
        overflow_at_skip_iteration(training.last_weight(), scaler, batch);
        scaler.step(*training.optimizer);
        scaler.update();
      },
      plain_iteration, /*unskipped=*/3, /*skipped=*/1, /*tolerance=*/0);
}

TEST_CASE("Clipping scaled gradients to the scaled norm ends where plain clipping does") {
  constexpr double max_norm = 0.2;
  run_scaling_case(
      [](Training& training, GradScaler& scaler, const Batch& batch) {
        training.optimizer->zero_grad();
        scaler.scale(loss_of(training, batch)).backward();
        torch::nn::utils::clip_grad_norm_(training.model->parameters(),
                                          max_norm * scaler.get_scale());
        overflow_at_skip_iteration(training.last_weight(), scaler, batch);
        scaler.step(*training.optimizer);
        scaler.update();
      },
      [](Training& training, const Batch& batch, bool steps) {
        plain_iteration(training, batch, /*steps=*/false);
        torch::nn::utils::clip_grad_norm_(training.model->parameters(), max_norm);
        if (steps) training.optimizer->step();
      },
      /*unskipped=*/3, /*skipped=*/1, /*tolerance=*/1e-5);
}

TEST_CASE("Clipping between unscale_ and step ends where plain clipping does, also past an inf") {
  constexpr double max_norm = 0.2;
  run_scaling_case(
      [](Training& training, GradScaler& scaler, const Batch& batch) {
        training.optimizer->zero_grad();
        scaler.scale(loss_of(training, batch)).backward();
        overflow_at_skip_iteration(training.last_weight(), scaler, batch);
        scaler.unscale_(*training.optimizer);
        torch::nn::utils::clip_grad_norm_(training.model->parameters(), max_norm,
                                          /*norm_type=*/2.0, /*error_if_nonfinite=*/false);
        scaler.step(*training.optimizer);
        scaler.update();
      },
      [](Training& training, const Batch& batch, bool steps) {
        plain_iteration(training, batch, /*steps=*/false);
        torch::nn::utils::clip_grad_norm_(training.model->parameters(), max_norm);
        if (steps) training.optimizer->step();
      },
      /*unskipped=*/3, /*skipped=*/1, /*tolerance=*/1e-5);
}

TEST_CASE("A penalty on the gradient's norm, made from scaled gradients, trains as a plain one") {
  const auto norm_of = [](const std::vector<torch::Tensor>& gradients, double factor) {
    auto squares = torch::zeros({});
    for (const auto& gradient : gradients) squares = squares + (gradient * factor).square().sum();
    return squares.sqrt();
  };
  run_scaling_case(
      [&](Training& training, GradScaler& scaler, const Batch& batch) {
        training.optimizer->zero_grad();
        auto loss = loss_of(training, batch);
        const auto scaled_gradients = torch::autograd::grad(
            {scaler.scale(loss)}, training.model->parameters(),
            /*grad_outputs=*/{}, /*retain_graph=*/true, /*create_graph=*/true);
        loss = loss + norm_of(scaled_gradients, 1 / scaler.get_scale());
        scaler.scale(loss).backward();
        overflow_at_skip_iteration(training.last_weight(), scaler, batch);
        scaler.step(*training.optimizer);
        scaler.update();
      },
      [&](Training& training, const Batch& batch, bool steps) {
        training.optimizer->zero_grad();
        auto loss = loss_of(training, batch);
        const auto gradients =
            torch::autograd::grad({loss}, training.model->parameters(), /*grad_outputs=*/{},
                                  /*retain_graph=*/true, /*create_graph=*/true);
        (loss + norm_of(gradients, 1)).backward();
        if (steps) training.optimizer->step();
      },
      /*unskipped=*/3, /*skipped=*/1, /*tolerance=*/1e-5);
}

TEST_CASE("Two batches accumulated a step make two growths, and train as a plain loop does") {
  run_scaling_case(
      [](Training& training, GradScaler& scaler, const Batch& batch) {
        scaler.scale(loss_of(training, batch) / 2).backward();
        if (batch.number % 2 == 0) return;
        scaler.step(*training.optimizer);
        scaler.update();
        if (batch.number != 3) training.optimizer->zero_grad();
      },
      [](Training& training, const Batch& batch, bool /*steps*/) {
        (loss_of(training, batch) / 2).backward();
        if (batch.number % 2 == 0) return;
        training.optimizer->step();
        if (batch.number != 3) training.optimizer->zero_grad();
      },
      /*unskipped=*/2, /*skipped=*/0, /*tolerance=*/0);
}

TEST_CASE("Of two optimizers, the one whose gradients overflow skips and the other one steps") {
  const auto losses = [](Training& first, Training& second, const Batch& batch) {
    const auto a = first.model->forward(batch.input), b = second.model->forward(batch.input);
    return std::make_pair(torch::mse_loss(0.3 * a + 0.7 * b, batch.target),
                          torch::mse_loss(0.6 * a - 0.4 * b, batch.target));
  };
  for (const bool enabled : {true, false}) {
    CAPTURE(enabled);
    Training plain_first(sgd, 1), plain_second(sgd, 2), first(sgd, 1), second(sgd, 2);
    auto scaler = scaler_from_128(enabled);
    for (const auto& batch : four_batches()) {
      const bool overflows = enabled && batch.number == skip_iteration;
      plain_first.optimizer->zero_grad();
      plain_second.optimizer->zero_grad();
      const auto plain = losses(plain_first, plain_second, batch);
      plain.first.backward({}, /*retain_graph=*/true);
      plain.second.backward();
      plain_first.optimizer->step();
      if (!overflows) plain_second.optimizer->step();

      first.optimizer->zero_grad();
      second.optimizer->zero_grad();
      const auto scaled = scaler.scale(losses(first, second, batch));
      scaled.first.backward({}, /*retain_graph=*/true);
      scaled.second.backward();
      overflow_at_skip_iteration(second.last_weight(), scaler, batch);
      scaler.unscale_(*first.optimizer);
      CHECK(scaler.step(*first.optimizer).taken());
      CHECK(scaler.step(*second.optimizer).taken() == !overflows);
      scaler.update();
    }

    CHECK(first.parameters().equal(plain_first.parameters()));
    CHECK(second.parameters().equal(plain_second.parameters()));
    CHECK(scaler.get_scale() == (enabled ? scale_from_128(3, 1) : 1.0));
  }
}

TEST_CASE("Gradients overwritten between unscale_ and step are what the optimizer steps with") {
  for (const float bad : {infinity, not_a_number}) {
    CAPTURE(bad);
    Training training(sgd);
    auto scaler = scaler_from_128();
    const auto batch = four_batches()[0];
    scaler.scale(loss_of(training, batch)).backward();
    scaler.unscale_(*training.optimizer);

    for (const auto& parameter : training.model->parameters()) parameter.mutable_grad().fill_(bad);

    CHECK(scaler.step(*training.optimizer).taken());
    CHECK_FALSE(training.parameters().isfinite().any().item<bool>());
  }
}

// --- Autocast and scaling together -------------------------------------------------------------

TEST_CASE("Four float16 iterations with SGD, Adam and AdamW end near four in float32") {
  const std::vector<Training::Make> optimizers{
      sgd, [](auto parameters) { return std::make_unique<torch::optim::Adam>(parameters, 1e-2); },
      [](auto parameters) { return std::make_unique<torch::optim::AdamW>(parameters, 1e-2); }};
  for (std::size_t which = 0; which < optimizers.size(); ++which) {
    CAPTURE(which);
    Training control(optimizers[which]), scaled(optimizers[which]);
    auto scaler = scaler_from_128();
    for (const auto& batch : four_batches()) {
      plain_iteration(control, batch, /*steps=*/batch.number != skip_iteration);

      scaled.optimizer->zero_grad();
      torch::Tensor loss;
      {
        const AutocastGuard autocast(torch::kCPU, torch::kHalf);
        const auto output = scaled.model->forward(batch.input);
        CHECK(output.scalar_type() == torch::kHalf);
        loss = torch::mse_loss(output, batch.target);
      }
      scaler.scale(loss).backward();
      overflow_at_skip_iteration(scaled.last_weight(), scaler, batch);
      scaler.step(*scaled.optimizer);
      scaler.update();
    }

    CHECK(scaler.get_scale() == scale_from_128(3, 1));
    // Adam divides by a gradient's own size, so that a tiny one, of which float16 has few digits,
    // moves its parameter as far as any other: by at most a rate of 0.01 each step.
    const double tolerance = which == 0 ? 1e-3 : 1e-2;
    CHECK(torch::allclose(scaled.parameters(), control.parameters(), /*rtol=*/0, tolerance));
  }
}

TEST_CASE(
    "A float16 overflow made by the scale itself is found, and the scale follows the inputs") {
  auto weight = torch::ones({100}, torch::requires_grad());
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{weight}, 0.1);
  GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(2000));
  struct Expected {
    float input, gradient;
    double scale;
    int64_t tracker;
  };
  // 4 times 20000 is more than float16 holds, and so is 2 times 40000.
  for (const auto& expected : {Expected{5, 20, 4, 1}, Expected{20000, infinity, 2, 0},
                               Expected{5, 10, 2, 1}, Expected{40000, infinity, 1, 0}}) {
    CAPTURE(expected.input);
    optimizer.zero_grad();
    const auto loss = (weight.to(torch::kHalf) * expected.input).sum();
    scaler.scale(loss).backward();
    CHECK(weight.grad().eq(expected.gradient).all().item<bool>());
    scaler.step(optimizer);
    scaler.update();
    CHECK(scaler.get_scale() == expected.scale);
    CHECK(scaler.growth_tracker() == expected.tracker);
  }
}

// --- Optimizers that know of scaling -------------------------------------------------------------

namespace {

/// Adam by LibTorch's fused kernel, which is handed what was found and decides by itself.
class FusedAdam : public torch::optim::SGD, public torchamp::AmpOptimizer {
 public:
  explicit FusedAdam(const std::vector<torch::Tensor>& parameters)
      : torch::optim::SGD(parameters, torch::optim::SGDOptions(rate)) {
    for (const auto& parameter : parameters) {
      averages_.push_back(torch::zeros_like(parameter));
      squares_.push_back(torch::zeros_like(parameter));
      steps_.push_back(torch::zeros({}));
    }
  }

  bool decides_on_device() const override { return true; }
  void step_unless(const at::Tensor& found_inf, const torch::Tensor& /*grad_scale*/) override {
    torch::NoGradGuard no_grad;
    const auto& parameters = param_groups()[0].params();
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : parameters) gradients.push_back(parameter.grad());
    for (auto& step : steps_) step.add_(1);
    at::_fused_adam_(parameters, gradients, averages_, squares_, /*max_exp_avg_sqs=*/{}, steps_,
                     rate, /*beta1=*/0.9, /*beta2=*/0.999, /*weight_decay=*/0.0, /*eps=*/1e-8,
                     /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, found_inf);
    for (auto& step : steps_) step.sub_(found_inf);
    handed = found_inf;
  }
  torch::Tensor step(LossClosure /*closure*/ = nullptr) override {
    ++plain_steps;
    return {};
  }

  double steps() const { return steps_[0].item<double>(); }

  static constexpr double rate = 1e-2;
  int plain_steps = 0;
  torch::Tensor handed;

 private:
  std::vector<torch::Tensor> averages_, squares_, steps_;
};

struct SgdWithMasterWeights : torch::optim::SGD, torchamp::AmpOptimizer {
  using torch::optim::SGD::SGD;
  bool has_master_weights() const override { return true; }
};

}  // namespace

TEST_CASE("An optimizer that decides on the device is handed what was found, others are not") {
  auto parameter = torch::ones({1}, torch::requires_grad());
  FusedAdam fused({parameter});
  torch::optim::SGD plain(std::vector<torch::Tensor>{torch::ones({1}, torch::requires_grad())},
                          1.0);
  GradScaler scaler(GradScalerOptions().init_scale(4));
  scaler.scale((parameter + plain.param_groups()[0].params()[0]).sum()).backward();

  CHECK(scaler.step(fused).taken());
  CHECK(scaler.step(plain).taken());

  CHECK(fused.handed.item<float>() == 0);
  CHECK(fused.plain_steps == 0);
  CHECK(parameter.grad().item<float>() == 1);
  CHECK(plain.param_groups()[0].params()[0].item<float>() == 0);
}

TEST_CASE("A fused optimizer leaves parameters and step count alone where an inf was found") {
  auto parameter = torch::ones({3}, torch::requires_grad());
  FusedAdam optimizer({parameter});
  GradScaler scaler(GradScalerOptions().init_scale(4));
  for (const float factor : {infinity, 1.0F, not_a_number}) {
    optimizer.zero_grad();
    scaler.scale((parameter * factor).sum()).backward();
    const auto before = parameter.detach().clone();
    const auto steps = optimizer.steps();

    const bool taken = scaler.step(optimizer).taken();
    scaler.update();

    CHECK(taken == (factor == 1));
    CHECK(optimizer.steps() == steps + (taken ? 1 : 0));
    CHECK(parameter.equal(before) == !taken);
  }
}

TEST_CASE("A fused optimizer trains under float16 autocast as its plain counterpart does") {
  for (const bool separate_unscale : {false, true}) {
    CAPTURE(separate_unscale);
    Training plain([](auto parameters) {
      return std::make_unique<torch::optim::Adam>(parameters, FusedAdam::rate);
    });
    Training fused(
        [](auto parameters) { return std::make_unique<FusedAdam>(std::move(parameters)); });
    auto plain_scaler = scaler_from_128(), fused_scaler = scaler_from_128();
    for (const auto& batch : four_batches()) {
      const auto train = [&](Training& training, GradScaler& scaler) {
        training.optimizer->zero_grad();
        const auto loss = torchamp::autocast(torch::kCPU, torchamp::AutocastOptions(torch::kHalf),
                                             [&] { return loss_of(training, batch); });
        scaler.scale(loss).backward();
        overflow_at_skip_iteration(training.last_weight(), scaler, batch);
        if (separate_unscale) scaler.unscale_(*training.optimizer);
        scaler.step(*training.optimizer);
        scaler.update();
        return loss;
      };
      const auto loss = train(plain, plain_scaler), fused_loss = train(fused, fused_scaler);

      CHECK(torch::allclose(loss, fused_loss, /*rtol=*/1e-3));
      CHECK(plain_scaler.get_scale() == fused_scaler.get_scale());
      if (batch.number == 0) CHECK(fused.gradients().equal(plain.gradients()));
    }

    CHECK(torch::allclose(fused.parameters(), plain.parameters(), /*rtol=*/0, /*atol=*/1e-3));
    CHECK(dynamic_cast<FusedAdam&>(*fused.optimizer).steps() == 3);
    CHECK(fused_scaler.taken_steps() == 3);
    CHECK(fused_scaler.skipped_steps() == 1);
  }
}

TEST_CASE("Float16 sparse gradients are summed before the check, where master weights allow them") {
  // 64000 and 64000 at one place: each fits into float16, their sum does not.
  for (const float value : {64000.0F, 8.0F}) {
    CAPTURE(value);
    auto parameter = torch::zeros({2}, torch::dtype(torch::kHalf).requires_grad(true));
    const auto gradient = torch::sparse_coo_tensor(
        torch::tensor({{1, 1}}), torch::tensor({value, value}).to(torch::kHalf), {2});
    parameter.mutable_grad() = gradient;
    torch::optim::SGD plain(std::vector<torch::Tensor>{parameter}, 1.0);
    SgdWithMasterWeights master({parameter}, torch::optim::SGDOptions(1.0));
    auto scaler = scaler_at_4();

    CHECK_ERROR(E09, scaler.unscale_(plain));
    CHECK(parameter.grad().is_same(gradient));
    CHECK(gradient._values()[0].item<float>() == value);

    CHECK(scaler.step(master).skipped() == (value == 64000));
    CHECK(parameter[1].item<float>() == (value == 64000 ? 0 : -4));
  }
}

// --- scale -------------------------------------------------------------------------------------

TEST_CASE("Nested containers are scaled to any depth, and the first tensor brings the scale") {
  GradScaler scaler(GradScalerOptions().init_scale(2));
  const auto four = [] { return torch::full({1}, 4.0); };
  const auto is_eight = [](const torch::Tensor& tensor) {
    return tensor.item<float>() == 8 && tensor.device().is_cpu();
  };

  const auto scaled = scaler.scale(std::make_tuple(
      four(), std::vector<torch::Tensor>{four(), four()},
      std::vector<std::pair<torch::Tensor, std::vector<torch::Tensor>>>{{four(), {four()}}}));

  CHECK(is_eight(std::get<0>(scaled)));
  CHECK(is_eight(std::get<1>(scaled)[0]));
  CHECK(is_eight(std::get<1>(scaled)[1]));
  CHECK(is_eight(std::get<2>(scaled)[0].first));
  CHECK(is_eight(std::get<2>(scaled)[0].second[0]));
  CHECK(scaler.scale_tensor().device().is_cpu());
}

TEST_CASE("Equal devices are one device: their gradients share one flag") {
  torchamp::FoundInf found;

  found.on(torch::Device(torch::kCPU)).fill_(1);

  CHECK(found.on(torch::Device("cpu")).item<float>() == 1);
  CHECK(found.per_device().size() == 1);
}
