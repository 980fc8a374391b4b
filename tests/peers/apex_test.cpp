// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// What Apex's tests ask of its loss scalers and of the kernels below them.
#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/loss_scale.h>
#include <torchamp/core/scale_tensors.h>
#include <torchamp/io/archive.h>

#include "peers/one_parameter.h"
#include "support/doctest.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

using torchamp::DynamicLossScale;
using torchamp::GradScaler;
using torchamp::GradScalerOptions;

namespace {

const float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A number from `low` to `high`; the same on every platform.
int64_t between(std::mt19937& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
}

}  // namespace

// --- The scale's course with hysteresis ----------------------------------------------------------

TEST_CASE(
    "With any hysteresis, one overflow fewer than it takes changes nothing, nor do fewer good "
    "steps") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const auto hysteresis = between(random, 2, 6), interval = between(random, 2, 6);
    CAPTURE(hysteresis);
    CAPTURE(interval);
    OneParameter training(
        GradScalerOptions().init_scale(1024).growth_interval(interval).hysteresis(hysteresis));

    for (int64_t i = 0; i < hysteresis - 1; ++i) CHECK(training.train(infinity) == 1024);
    for (int64_t i = 0; i < interval - 1; ++i) CHECK(training.train(1) == 1024);
    CHECK(training.train(1) == 2048);  // which also refills the hysteresis

    for (int64_t i = 0; i < hysteresis - 1; ++i) CHECK(training.train(infinity) == 2048);
    CHECK(training.train(infinity) == 1024);
    CHECK(training.train(infinity) == 512);
  }
}

TEST_CASE("A scale that only ever overflows reaches its lower bound, never 0") {
  OneParameter training(GradScalerOptions().init_scale(1024).hysteresis(2).many_skips(0));

  for (int i = 0; i < 100; ++i) training.train(infinity);

  CHECK(training.scaler.get_scale() == 1.0 / 16777216);
}

TEST_CASE("Random good and overflowing steps move the scale on the device as in plain arithmetic") {
  std::mt19937 random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const DynamicLossScale policy(GradScalerOptions()
                                      .init_scale(static_cast<double>(between(random, 1, 100000)))
                                      .growth_factor(1 + between(random, 1, 30) / 10.0)
                                      .backoff_factor(between(random, 1, 9) / 10.0)
                                      .growth_interval(between(random, 1, 8))
                                      .hysteresis(between(random, 1, 4))
                                      .consecutive_hysteresis(between(random, 0, 1) == 1));
    auto plain = policy.initial();
    torchamp::ScaleTensors tensors;
    tensors.create(torch::kCPU, plain);
    for (int step = 0; step < 50; ++step) {
      CAPTURE(trial);
      CAPTURE(step);
      const bool overflow = between(random, 0, 3) == 0;
      plain = policy.next(plain, overflow);
      tensors.move_(policy, torch::full({}, overflow ? 1.0 : 0.0), overflow);
      const auto on_device = tensors.read();
      REQUIRE(on_device.scale == plain.scale);
      REQUIRE(on_device.growth_tracker == plain.growth_tracker);
      // LibTorch's operator knows no hysteresis; a hysteresis of 1 has nothing to count.
      if (policy.options().hysteresis() > 1) {
        REQUIRE(on_device.hysteresis_tracker == plain.hysteresis_tracker);
      }
    }
  }
}

// --- Many tensors at once ------------------------------------------------------------------------

TEST_CASE("An inf or NaN is found at the first, middle and last place of tensors of any size") {
  // Sizes around those at which a kernel that works in pieces could drop or repeat an end.
  const std::vector<std::pair<int64_t, int64_t>> sizes{
      {1, 333}, {334, 332}, {555, 65537}, {65536, 65535}, {33333, 4 * 333}};
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kBFloat16}) {
    for (const auto& [first, second] : sizes) {
      for (const int repeats : {1, 5}) {
        if (repeats > 1 && first + second > 40000) continue;  // many tensors, or large ones
        CAPTURE(dtype);
        CAPTURE(first);
        CAPTURE(second);
        CAPTURE(repeats);
        std::vector<torch::Tensor> parameters;
        for (int i = 0; i < repeats; ++i) {
          for (const auto size : {first, second}) {
            parameters.push_back(torch::zeros({size}, dtype).requires_grad_());
          }
        }
        torch::optim::SGD optimizer(parameters, 1.0);
        GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(1000).many_skips(0));
        static_cast<void>(scaler.scale(torch::ones({})));
        const auto step_after = [&](const auto& spoil) {
          for (const auto& parameter : parameters) {
            parameter.mutable_grad() = torch::full_like(parameter, 4.0);
          }
          spoil();
          const auto result = scaler.step(optimizer);
          scaler.update(4.0);
          return result;
        };

        CHECK(step_after([] {}).taken());
        for (const auto& parameter : parameters) {
          CHECK(parameter.grad().eq(1).all().item<bool>());
          CHECK(parameter.eq(-1).all().item<bool>());
        }
        for (const float bad : {infinity, not_a_number}) {
          for (const auto& parameter : {parameters.front(), parameters.back()}) {
            for (const int64_t place : {int64_t{0}, parameter.numel() / 2, parameter.numel() - 1}) {
              CHECK(step_after([&] { parameter.mutable_grad()[place] = bad; }).skipped());
            }
          }
        }
      }
    }
  }
}

TEST_CASE("After unscale_ the norm of many gradients is that of the true ones, inf if one is inf") {
  for (const bool overflows : {false, true}) {
    CAPTURE(overflows);
    std::vector<torch::Tensor> parameters;
    for (const int64_t size : {65536, 65537, 333, 1}) {
      parameters.push_back(torch::zeros({size}, torch::requires_grad()));
      parameters.back().mutable_grad() = torch::full({size}, 4.0);
    }
    if (overflows) parameters[1].mutable_grad()[65536] = infinity;
    torch::optim::SGD optimizer(parameters, 1.0);
    GradScaler scaler(GradScalerOptions().init_scale(4));
    static_cast<void>(scaler.scale(torch::ones({})));

    scaler.unscale_(optimizer);
    const double norm = torch::nn::utils::clip_grad_norm_(parameters, /*max_norm=*/1e9);

    if (overflows) {
      CHECK(norm == infinity);
    } else {
      CHECK(norm == doctest::Approx(std::sqrt(65536 + 65537 + 333 + 1)));
    }
  }
}

TEST_CASE("Images in channels-last layout are divided in place, and keep it") {
  auto parameter = torch::zeros({2, 3, 5, 7}, torch::requires_grad());
  parameter.mutable_grad() =
      torch::full({2, 3, 5, 7}, 4.0).contiguous(torch::MemoryFormat::ChannelsLast);
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  GradScaler scaler(GradScalerOptions().init_scale(4));
  static_cast<void>(scaler.scale(torch::ones({})));

  scaler.unscale_(optimizer);

  CHECK(parameter.grad().eq(1).all().item<bool>());
  CHECK(parameter.grad().is_contiguous(torch::MemoryFormat::ChannelsLast));
}

// --- Models, losses and optimizers in any combination --------------------------------------------

namespace {

/// Which models feed which loss, and which optimizer has which models.
struct Layout {
  const char* name;
  std::vector<std::vector<std::size_t>> models_of_loss;
  std::vector<std::vector<std::size_t>> models_of_optimizer;
};

const std::vector<Layout> layouts{
    {"2 models, 2 losses, 1 optimizer", {{0}, {1}}, {{0, 1}}},
    {"3 models, 2 losses, 1 optimizer", {{0, 1}, {1, 2}}, {{0, 1, 2}}},
    {"2 models, 2 losses, 2 optimizers", {{0}, {1}}, {{0}, {1}}},
    {"3 models, 2 losses, 2 optimizers", {{0, 1}, {1, 2}}, {{0, 1}, {2}}},
};

/// A model is one weight of 10; a loss is the sum of its models' weights, each times the model's
/// number plus one. So a loss gives each of its models a gradient of that number.
struct Ensemble {
  explicit Ensemble(const Layout& layout_) : layout(layout_) {
    std::size_t count = 0;
    for (const auto& models : layout.models_of_optimizer) count += models.size();
    for (std::size_t i = 0; i < count; ++i) {
      weights.push_back(torch::full({1}, 10.0, torch::requires_grad()));
    }
    for (const auto& models : layout.models_of_optimizer) {
      std::vector<torch::Tensor> parameters;
      for (const auto model : models) parameters.push_back(weights[model]);
      optimizers.push_back(std::make_unique<torch::optim::SGD>(parameters, 1.0));
    }
  }

  /// `factor` is infinite where an overflow is wanted.
  torch::Tensor loss(std::size_t which, float factor) const {
    auto sum = torch::zeros({});
    for (const auto model : layout.models_of_loss[which]) {
      sum = sum + weights[model].sum() * static_cast<double>(model + 1) * factor;
    }
    return sum;
  }

  bool overflows(std::size_t optimizer, std::size_t bad_loss) const {
    for (const auto model : layout.models_of_optimizer[optimizer]) {
      for (const auto bad_model : layout.models_of_loss[bad_loss]) {
        if (model == bad_model) return true;
      }
    }
    return false;
  }

  const Layout& layout;
  std::vector<torch::Tensor> weights;
  std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
};

}  // namespace

TEST_CASE("Several models, losses and optimizers: an overflow in a loss skips those it reaches") {
  for (const auto& layout : layouts) {
    for (std::size_t bad_loss = 0; bad_loss < 2; ++bad_loss) {
      for (int bad_iteration = 0; bad_iteration < 3; ++bad_iteration) {
        CAPTURE(layout.name);
        CAPTURE(bad_loss);
        CAPTURE(bad_iteration);
        Ensemble ensemble(layout), plain(layout);
        GradScaler scaler(GradScalerOptions().init_scale(128).growth_interval(1));
        for (int iteration = 0; iteration < 3; ++iteration) {
          for (std::size_t i = 0; i < ensemble.optimizers.size(); ++i) {
            ensemble.optimizers[i]->zero_grad();
            plain.optimizers[i]->zero_grad();
          }
          for (std::size_t loss = 0; loss < 2; ++loss) {
            const bool bad = iteration == bad_iteration && loss == bad_loss;
            scaler.scale(ensemble.loss(loss, bad ? infinity : 1)).backward();
            plain.loss(loss, 1).backward();
          }
          for (std::size_t i = 0; i < ensemble.optimizers.size(); ++i) {
            const bool skips = iteration == bad_iteration && ensemble.overflows(i, bad_loss);
            CHECK(scaler.step(*ensemble.optimizers[i]).skipped() == skips);
            if (!skips) plain.optimizers[i]->step();
          }
          scaler.update();
        }

        for (std::size_t i = 0; i < plain.weights.size(); ++i) {
          CHECK(ensemble.weights[i].equal(plain.weights[i]));
        }
        CHECK(scaler.get_scale() == 128 * 4 * 0.5);
      }
    }
  }
}

TEST_CASE("A scaler for each loss: an overflow of one loss leaves the other one's scale alone") {
  Ensemble ensemble(layouts[2]);
  GradScaler first(GradScalerOptions().init_scale(128).growth_interval(1));
  GradScaler second(GradScalerOptions().init_scale(64).growth_interval(1));

  first.scale(ensemble.loss(0, infinity)).backward();
  second.scale(ensemble.loss(1, 1)).backward();
  CHECK(first.step(*ensemble.optimizers[0]).skipped());
  CHECK(second.step(*ensemble.optimizers[1]).taken());
  first.update();
  second.update();

  CHECK(first.get_scale() == 64);
  CHECK(second.get_scale() == 128);
  CHECK(ensemble.weights[1].item<float>() == 8);
}

TEST_CASE("A parameter group added in mid-training is unscaled and checked like the others") {
  for (const bool overflows : {false, true}) {
    CAPTURE(overflows);
    auto first = torch::full({1}, 10.0, torch::requires_grad());
    auto second = torch::full({1}, 10.0, torch::requires_grad());
    torch::optim::SGD optimizer(std::vector<torch::Tensor>{first}, 1.0);
    GradScaler scaler(GradScalerOptions().init_scale(4).growth_interval(1));
    const auto train = [&](float second_gradient) {
      optimizer.zero_grad();
      scaler.scale((first * 2 + second * second_gradient).sum()).backward();
      scaler.step(optimizer);
      scaler.update();
    };
    train(0);

    optimizer.add_param_group(
        torch::optim::OptimizerParamGroup(std::vector<torch::Tensor>{second}));
    train(overflows ? infinity : 3.0F);

    CHECK(first.item<float>() == (overflows ? 8 : 6));
    CHECK(second.item<float>() == (overflows ? 10 : 7));
    CHECK(scaler.get_scale() == (overflows ? 4 : 16));
  }
}

TEST_CASE(
    "The scale of each loss falls once for each of its overflows, and counts its good steps") {
  for (const int overflows : {0, 1, 2}) {
    CAPTURE(overflows);
    OneParameter training(GradScalerOptions().init_scale(65536));

    for (int step = 0; step < 2; ++step) training.train(step < overflows ? infinity : 1);

    CHECK(training.scaler.get_scale() == 65536 >> overflows);
    CHECK(training.scaler.growth_tracker() == 2 - overflows);
  }
}

TEST_CASE("A step is skipped, and the scale halved, once however many of its losses overflow") {
  for (int losses = 1; losses <= 3; ++losses) {
    CAPTURE(losses);
    OneParameter training(GradScalerOptions().init_scale(65536));
    for (int i = 0; i < losses; ++i) {
      training.scaler.scale(training.parameter.sum() * infinity).backward();
    }

    CHECK(training.scaler.step(training.optimizer).skipped());
    training.scaler.update();

    CHECK(training.scaler.get_scale() == 32768);
  }
}

TEST_CASE("A training restored in the middle goes on bit for bit as the one that never stopped") {
  struct Run {
    torch::nn::Linear model{4, 4};
    torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)};
    GradScaler scaler{GradScalerOptions().init_scale(128).growth_interval(2)};

    void train(int iteration, int losses) {
      optimizer.zero_grad();
      const auto output = model->forward(torch::full({2, 4}, 1.0 + iteration));
      for (int i = 1; i <= losses; ++i) {
        scaler.scale(output.square().mean() * i).backward({}, /*retain_graph=*/i < losses);
      }
      if (iteration == 3) model->weight.mutable_grad()[0][0] = infinity;
      scaler.step(optimizer);
      scaler.update();
    }
  };
  for (const int losses : {1, 2}) {
    CAPTURE(losses);
    Run run, restored;
    for (int iteration = 0; iteration < 6; ++iteration) {
      if (iteration == 3) {
        std::stringstream model, optimizer, scaler;
        torch::save(run.model, model);
        torch::save(run.optimizer, optimizer);
        torch::save(run.scaler, scaler);
        torch::load(restored.model, model);
        torch::load(restored.optimizer, optimizer);
        torch::load(restored.scaler, scaler);
        CHECK(restored.scaler.growth_tracker() == 1);
      }
      run.train(iteration, losses);
      if (iteration >= 3) {
        restored.train(iteration, losses);
        CHECK(restored.model->weight.equal(run.model->weight));
        CHECK(restored.scaler.state_dict() == run.scaler.state_dict());
      }
    }
    CHECK(run.scaler.get_scale() == 128 * 2 * 0.5 * 2);
  }
}
