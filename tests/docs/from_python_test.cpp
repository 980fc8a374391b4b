// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The C++ of docs/from_python.md, which tools/doc_snippets.py copies from between the markers here:
// so what the page shows compiles, runs, and does what the page says of it.
#include <torchamp/torchamp.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace F = torch::nn::functional;

namespace {

struct Batch {
  torch::Tensor data = torch::ones({2, 4});
  torch::Tensor target = torch::zeros({2}, torch::kLong);
};

/// What the snippets take as given.
struct Given {
  torch::Device device = torch::kCPU;
  torch::nn::Sequential model{torch::nn::Linear(4, 3)};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.1)};
  torchamp::GradScaler scaler;
  std::vector<Batch> batches{2};

  torch::Tensor parameters() const {
    return torch::nn::utils::parameters_to_vector(model->parameters()).detach().clone();
  }
};

/// A file that is gone at the end of the test.
struct ScratchFile {
  std::string path;
  explicit ScratchFile(const char* name) : path(name) {}
  ~ScratchFile() { std::remove(path.c_str()); }
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// [custom_function]
struct Square : torchamp::AutocastFunction<Square> {
  static constexpr auto cast_inputs = torch::kFloat;  // custom_fwd(cast_inputs=torch.float32)

  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x) {
    context->save_for_backward({x});
    return x * x;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {2 * context->get_saved_variables()[0] * gradients[0]};
  }
};
// [end]

}  // namespace

TEST_CASE("from_python.md: training") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto before = given.parameters();

  // [training]
  torchamp::GradScaler scaler;
  for (auto& batch : loader) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      torchamp::AutocastGuard autocast(device, torch::kHalf);
      loss = F::cross_entropy(model->forward(batch.data), batch.target);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  }
  // [end]

  CHECK(scaler.taken_steps() == 2);
  CHECK_FALSE(given.parameters().equal(before));
}

TEST_CASE("from_python.md: bfloat16") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto before = given.parameters();

  // [bfloat16]
  for (auto& batch : loader) {
    optimizer.zero_grad();
    torch::Tensor loss;
    {
      torchamp::AutocastGuard autocast(device, torch::kBFloat16);
      loss = F::cross_entropy(model->forward(batch.data), batch.target);
    }
    loss.backward();
    optimizer.step();
  }
  // [end]

  CHECK_FALSE(given.parameters().equal(before));
}

TEST_CASE("from_python.md: one loop with AMP on or off") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const bool use_amp = false;

  // [switch]
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().enabled(use_amp));
  const auto precision = torchamp::AutocastOptions(torch::kHalf).enabled(use_amp);
  for (auto& batch : loader) {
    optimizer.zero_grad();
    const auto loss = torchamp::autocast(device, precision, [&] {
      return F::cross_entropy(model->forward(batch.data), batch.target);
    });
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
  }
  // [end]

  CHECK(scaler.get_scale() == 1);
}

TEST_CASE("from_python.md: clipping") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;
  const auto loss = F::cross_entropy(model->forward(loader[0].data), loader[0].target);

  // [clipping]
  scaler.scale(loss).backward();
  scaler.unscale_(optimizer);
  torchamp::clip_grad_norm_(model->parameters(), /*max_norm=*/1.0);
  scaler.step(optimizer);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: accumulation") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;

  // [accumulation]
  constexpr int accumulate = 2;
  int number = 0;
  for (auto& batch : loader) {
    const auto loss = torchamp::autocast(device, [&] {
      return F::cross_entropy(model->forward(batch.data), batch.target) / accumulate;
    });
    scaler.scale(loss).backward();
    if (++number % accumulate != 0) continue;
    scaler.step(optimizer);
    scaler.update();
    optimizer.zero_grad();
  }
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: gradient penalty") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;
  const auto& batch = loader[0];
  const auto parameters = model->parameters();

  // [penalty]
  auto loss = torchamp::autocast(
      device, [&] { return F::cross_entropy(model->forward(batch.data), batch.target); });
  const auto scaled_gradients =
      torch::autograd::grad({scaler.scale(loss)}, parameters, /*grad_outputs=*/{},
                            /*retain_graph=*/true, /*create_graph=*/true);
  const double inverse_scale = 1.0 / scaler.get_scale();
  loss = torchamp::autocast(device, [&] {
    auto sum_of_squares = torch::zeros({}, device);
    for (const auto& gradient : scaled_gradients) {
      sum_of_squares = sum_of_squares + (gradient * inverse_scale).square().sum();
    }
    return loss + sum_of_squares.sqrt();
  });
  scaler.scale(loss).backward();
  scaler.step(optimizer);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: several models, losses and optimizers") {
  Given first, second;
  torchamp::GradScaler scaler;
  auto& [device, model0, optimizer0, unused0, loader] = first;
  auto& model1 = second.model;
  auto& optimizer1 = second.optimizer;
  const auto& batch = loader[0];

  // [several]
  optimizer0.zero_grad();
  optimizer1.zero_grad();
  torch::Tensor loss0, loss1;
  {
    torchamp::AutocastGuard autocast(device);
    const auto output0 = model0->forward(batch.data), output1 = model1->forward(batch.data);
    loss0 = F::cross_entropy(2 * output0 + 3 * output1, batch.target);
    loss1 = F::cross_entropy(3 * output0 - 5 * output1, batch.target);
  }
  scaler.scale(loss0).backward({}, /*retain_graph=*/true);
  scaler.scale(loss1).backward();

  scaler.unscale_(optimizer0);  // only if something needs the true gradients
  scaler.step(optimizer0);
  scaler.step(optimizer1);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 2);
}

TEST_CASE("from_python.md: inference") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto& batch = loader[0];

  // [inference]
  model->eval();
  torch::NoGradGuard no_grad;
  torchamp::AutocastGuard autocast(device);
  const auto output = model->forward(batch.data);
  // [end]

  CHECK(output.scalar_type() == torch::kBFloat16);
}

TEST_CASE("from_python.md: a part in float32") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto weight = torch::full({4, 4}, 100.0);
  const auto& input = loader[0].data;

  // [full_precision]
  torchamp::AutocastGuard autocast(device, torch::kHalf);
  auto hidden = torch::mm(input, weight);  // float16
  {
    torchamp::FullPrecisionGuard full_precision(device);
    hidden = torch::mm(hidden.to(torch::kFloat), weight);  // float32
  }
  // [end]

  CHECK(hidden.scalar_type() == torch::kFloat);
  CHECK(hidden[0][0].item<float>() == 160000);  // more than float16 holds
}

TEST_CASE("from_python.md: a scheduler") {
  Given given;
  auto& [device, model, optimizer, scaler, loader] = given;
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/1, /*gamma=*/0.5);
  const auto loss = F::cross_entropy(model->forward(loader[0].data), loader[0].target);

  // [scheduler]
  scaler.scale(loss).backward();
  const auto result = scaler.step(optimizer);
  scaler.update();
  torchamp::step_scheduler(scheduler, result);  // not after a step that was skipped
  // [end]

  scheduler.step();  // LibTorch's first call changes nothing, its second halves the rate
  CHECK(optimizer.param_groups()[0].options().get_lr() == doctest::Approx(0.05));
}

TEST_CASE("from_python.md: half-precision weights") {
  Given given;
  auto& [device, model, unused, unused_too, loader] = given;
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(1024));
  const auto data = loader[0].data.to(torch::kHalf), target = loader[0].target;

  // [masters]
  model->to(torch::kHalf);  // before the optimizer is made
  torchamp::MasterWeights<torch::optim::AdamW> optimizer(model->parameters(),
                                                         torch::optim::AdamWOptions(1e-3));

  const auto loss = F::cross_entropy(model->forward(data), target);
  scaler.scale(loss).backward();
  scaler.unscale_(optimizer);
  torch::nn::utils::clip_grad_norm_(optimizer.master_parameters(), /*max_norm=*/1.0);
  scaler.step(optimizer);
  scaler.update();
  // [end]

  CHECK(scaler.taken_steps() == 1);
}

TEST_CASE("from_python.md: threads") {
  Given given;
  auto& [device, model, optimizer, unused, loader] = given;
  const auto& batch = loader[0];
  torch::Tensor output;

  // [threads]
  torchamp::AutocastGuard autocast(device);
  const auto state = torchamp::AutocastState::current();
  std::thread worker(state.wrap([&] { output = model->forward(batch.data); }));
  worker.join();
  // [end]

  CHECK(output.scalar_type() == torch::kBFloat16);
}

TEST_CASE("from_python.md: a custom function") {
  const torchamp::AutocastGuard autocast(torch::kCPU, torch::kHalf);
  auto x = torch::full({1}, 300.0, torch::dtype(torch::kHalf).requires_grad(true));

  const auto y = Square::apply(x);
  y.sum().backward();

  CHECK(y.scalar_type() == torch::kFloat);
  CHECK(y.item<float>() == 90000);  // more than float16 holds
  CHECK(x.grad().item<float>() == 600);
}

TEST_CASE("from_python.md: checkpoints") {
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(4));
  const std::string path = "from_python_scaler.pt";
  const ScratchFile file(path.c_str());

  // [checkpoint]
  torch::save(scaler, path);  // after update()

  torchamp::GradScaler restored;
  torch::load(restored, path);
  // [end]

  CHECK(restored.get_scale() == 4);
}

TEST_CASE("from_python.md: a whole checkpoint") {
  Given given;
  auto& [device, model, optimizer, scaler, batches] = given;
  const std::string path = "from_python_checkpoint.pt";
  const ScratchFile file(path.c_str());
  scaler.load_state_dict(
      torchamp::GradScaler(torchamp::GradScalerOptions().init_scale(4)).state_dict());

  {
    // [write_checkpoint]
    torch::serialize::OutputArchive checkpoint, model_part, optimizer_part, scaler_part;
    model->save(model_part);
    optimizer.save(optimizer_part);
    scaler_part << scaler;  // after update()
    checkpoint.write("model", model_part);
    checkpoint.write("optimizer", optimizer_part);
    checkpoint.write("scaler", scaler_part);
    checkpoint.save_to(path);
    // [end]
  }

  const auto saved = given.parameters();
  {
    const torch::NoGradGuard no_grad;
    model->parameters()[0].zero_();
  }
  scaler.load_state_dict(torchamp::GradScaler().state_dict());

  {
    // [read_checkpoint]
    torch::serialize::InputArchive checkpoint, model_part, optimizer_part, scaler_part;
    checkpoint.load_from(path);
    checkpoint.read("model", model_part);
    checkpoint.read("optimizer", optimizer_part);
    checkpoint.read("scaler", scaler_part);
    model->load(model_part);
    optimizer.load(optimizer_part);
    scaler_part >> scaler;
    // [end]
  }

  CHECK(torch::equal(given.parameters(), saved));
  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("from_python.md: checkpoints for Python and from it") {
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(4));
  const std::string path = "from_python_exchange.pt";
  const ScratchFile file(path.c_str());

  // [to_python]
  torchamp::save_for_python(scaler, path);  // after update()
  // [end]
  scaler.load_state_dict(torchamp::GradScaler().state_dict());
  CHECK(scaler.get_scale() == 65536);
  // [from_python]
  scaler.load_state_dict(torchamp::load_from_python(path));
  // [end]

  CHECK(scaler.get_scale() == 4);
}

TEST_CASE("from_python.md: asking what autocast does") {
  const auto device = torch::kCPU;
  const torchamp::AutocastGuard autocast(device, torch::kHalf);

  // [state]
  const auto state = torchamp::AutocastState::current();
  const bool enabled = state.enabled(device);
  const auto dtype = state.dtype(device);
  const bool cached = state.cache_enabled();
  // [end]

  CHECK(enabled);
  CHECK(dtype == torch::kHalf);
  CHECK(cached == at::autocast::is_autocast_cache_enabled());
}

// --- The names in the tables -------------------------------------------------------------------

using namespace torchamp;  // as the tables are written

TEST_CASE("from_python.md: names around autocast") {
  const torch::Device device = torch::kCPU;
  const bool use_amp = true;
  auto x = torch::ones({2, 2});
  {
    AutocastGuard autocast(device, AutocastOptions().enabled(use_amp).cache_enabled(false));
    CHECK(torch::mm(x, x).scalar_type() == default_dtype(device));
    CHECK_FALSE(AutocastState::current().enabled(torch::kCUDA));
    CHECK(AutocastState::current().dtype(torch::kCUDA) == torch::kHalf);
    CHECK_FALSE(AutocastState::current().cache_enabled());
    FullPrecisionGuard full(device);
    CHECK(torch::mm(x, x).scalar_type() == torch::kFloat);
  }
  {
    AutocastGuard autocast(device, torch::kBFloat16);
    CHECK(torch::mm(x, x).scalar_type() == torch::kBFloat16);
  }
  auto state = AutocastState::current();
  {
    std::optional<AutocastGuard> autocast;
    if (use_amp) autocast.emplace(device);
    state = AutocastState::current();
  }
  {
    AutocastStateGuard autocast(state);
    CHECK(torch::mm(x, x).scalar_type() == torch::kBFloat16);
  }
  CHECK(autocast(device, [&] { return torch::mm(x, x); }).scalar_type() == torch::kBFloat16);
  if (torch::cuda::is_available()) AutocastGuard autocast(torch::kCUDA);
  CHECK(at::autocast::is_autocast_available(torch::kCUDA));
  AutocastGuard::drop_casts();
  CHECK_FALSE(advise(device).text.empty());

  torchamp::Linear linear(2, 3);
  const torch::nn::Linear& as_linear_of_libtorch =
      torch::nn::Linear(std::static_pointer_cast<torch::nn::LinearImpl>(linear.ptr()));
  CHECK(as_linear_of_libtorch->weight.is_same(linear->weight));

  torch::jit::Module module("m");
  module.define("def forward(self, x):\n    return x @ x\n");
  ScriptedModule scripted(module);
  CHECK(scripted.forward({x}).toTensor().equal(torch::full({2, 2}, 2.0)));
}

TEST_CASE("from_python.md: fused optimizers, with the options of torch::optim") {
  const auto weight = torch::ones({2}, torch::requires_grad());
  const std::vector<torch::Tensor> parameters{weight};
  torchamp::FusedAdam adam(parameters, torch::optim::AdamOptions(1e-3));
  torchamp::FusedAdamW adamw(parameters, torch::optim::AdamWOptions(1e-3));
  torchamp::FusedSGD sgd(parameters, torch::optim::SGDOptions(1e-3).momentum(0.9));
  torchamp::FusedAdagrad adagrad(parameters, torch::optim::AdagradOptions(1e-3));
  const std::vector<torch::optim::Optimizer*> optimizers{&adam, &adamw, &sgd, &adagrad};
  GradScaler scaler;
  for (auto* const optimizer : optimizers) {
    optimizer->zero_grad();
    scaler.scale(weight.sum()).backward();
    scaler.step(*optimizer);
    scaler.update();
  }

  CHECK(scaler.taken_steps() == 4);
}

TEST_CASE("from_python.md: names around the scaler") {
  struct MasterAdam : torch::optim::Adam, AmpOptimizer {
    using torch::optim::Adam::Adam;
    bool has_master_weights() const override { return true; }
  };
  MasterAdam adam({torch::zeros({1}, torch::requires_grad())});
  CHECK(adam.has_master_weights());
  CHECK_FALSE(adam.decides_on_device());

  GradScaler scaler(GradScalerOptions()
                        .init_scale(65536)
                        .growth_factor(2)
                        .backoff_factor(0.5)
                        .growth_interval(2000)
                        .enabled(true)
                        .min_scale(1)
                        .max_scale(1e9)
                        .hysteresis(1)
                        .consecutive_hysteresis(false)
                        .many_skips(0)
                        .on_many_skips(ManySkips::Warn));
  CHECK(scaler.is_enabled());
  const auto parameter = torch::ones({1}, torch::requires_grad());
  const std::vector<torch::Tensor> parameters{parameter};
  torch::optim::SGD optimizer(parameters, 1.0);
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/1);
  const auto loss = parameter.sum();
  CHECK(scaler.scale(std::make_pair(loss, loss)).second.item<float>() == 65536);

  scaler.scale(loss).backward();
  CHECK(scaler.unscale_(parameters).item<float>() == 0);
  CHECK(clip_grad_norm_(parameters, 1.0).item<float>() == 1);
  clip_grad_value_(parameters, 1.0);
  const StepResult result = scaler.step(optimizer);
  CHECK(result.taken());
  CHECK_FALSE(result.skipped());
  CHECK(result.status() == StepStatus::Taken);
  CHECK(result.found_inf().item<float>() == 0);
  scaler.update();
  CHECK(scaler.taken_steps() == 1);
  CHECK(scaler.skipped_steps() == 0);
  CHECK(scaler.growth_tracker() == 1);

  optimizer.zero_grad();
  scaler.scale(parameter.sum()).backward();
  scaler.unscale_(optimizer);
  CHECK(step_scheduler(scheduler, scaler.step(optimizer)));
  const double new_scale = 1024;
  scaler.update(new_scale);
  CHECK(scaler.get_scale() == 1024);
  CHECK(scaler.scale_tensor().item<float>() == 1024);
  const auto closure = [&] { return loss; };
  CHECK_ERROR(E19, scaler.step(optimizer, closure));

  const double x = 3;
  scaler.set_growth_factor(x);
  scaler.set_backoff_factor(0.25);
  scaler.set_growth_interval(10);
  CHECK(scaler.get_growth_factor() == 3);
  CHECK(scaler.get_backoff_factor() == 0.25);
  CHECK(scaler.get_growth_interval() == 10);
  const GradScalerState state = scaler.state_dict();
  scaler.load_state_dict(state);
  CHECK(BasicGradScaler<ConstantLossScale>().get_scale() == 65536);
  const torch::autograd::DetectAnomalyGuard anomalies;
  CHECK_ERROR(E01, AutocastGuard(torch::kMeta));
}

TEST_CASE("from_python.md: the table's defaults are those of the options") {
  const GradScalerOptions options;

  CHECK(options.init_scale() == 65536);
  CHECK(options.growth_factor() == 2);
  CHECK(options.backoff_factor() == 0.5);
  CHECK(options.growth_interval() == 2000);
  CHECK(options.enabled());
}
