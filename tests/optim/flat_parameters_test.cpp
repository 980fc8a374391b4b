// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/core/grad_scaler.h>
#include <torchamp/optim/flat_parameters.h>
#include <torchamp/optim/fused_adam.h>
#include <torchamp/optim/fused_sgd.h>

#include "optim/flat_nets.h"
#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using torch::optim::OptimizerParamGroup;
using torch::optim::SGD;
using torch::optim::SGDOptions;
using torchamp::FlatParameters;

namespace {

const SGDOptions sgd = SGDOptions(0.125).momentum(0.5).weight_decay(0.25);

using Zero = std::function<void(torch::nn::Module&, torch::optim::Optimizer&)>;

/// Trains two steps, of two backward passes each.
void train(TwoLayers& model, torch::optim::Optimizer& optimizer, const Zero& zero) {
  for (int i = 0; i < 4; i += 2) {
    zero(*model, optimizer);
    model(input(i)).pow(2).sum().backward();
    model(input(i + 1)).pow(2).sum().backward();
    optimizer.step();
  }
}

/// What the parameters of a model are after training, flat or not.
template <class Train>
void check_trains_alike(const Train& train) {
  TwoLayers flat_model, model;
  const FlatParameters flat(flat_model->parameters());
  SGD flat_optimizer(flat.parameters(), sgd);
  SGD optimizer(model->parameters(), sgd);
  train(flat_model, flat_optimizer);
  train(model, optimizer);
  CHECK(equal(*flat_model, *model));
  CHECK_FALSE(equal(*model, *TwoLayers()));
}

std::size_t saved_bytes(const torch::nn::Module& module) {
  torch::serialize::OutputArchive archive;
  module.save(archive);
  std::ostringstream out;
  archive.save_to(out);
  return out.str().size();
}

}  // namespace

TEST_CASE("A model trains as without, whichever zero_grad() is called") {
  const std::vector<Zero> ways = {
      [](auto&, auto& optimizer) { optimizer.zero_grad(); },
      [](auto&, auto& optimizer) { optimizer.zero_grad(false); },
      [](auto& model, auto&) { model.zero_grad(); },
      [](auto& model, auto&) { model.zero_grad(false); },
      [](auto& model, auto& optimizer) { optimizer.zero_grad(), model.zero_grad(); },
      [](auto& model, auto& optimizer) { model.zero_grad(), optimizer.zero_grad(); },
      [](auto& model, auto& optimizer) { model.zero_grad(false), optimizer.zero_grad(); },
      [](auto& model, auto& optimizer) { optimizer.zero_grad(false), model.zero_grad(); },
      [](auto&, auto&) {},
  };
  for (std::size_t i = 0; i < ways.size(); ++i) {
    CAPTURE(i);
    check_trains_alike([&](auto& model, auto& optimizer) { train(model, optimizer, ways[i]); });
  }
}

TEST_CASE("Every optimizer trains a flat model as it does another") {
  const auto check = [](auto make) {
    TwoLayers flat_model, model;
    const FlatParameters flat(flat_model->parameters());
    const auto flat_optimizer = make(flat.parameters());
    const auto optimizer = make(model->parameters());
    train(flat_model, *flat_optimizer, [](auto&, auto& o) { o.zero_grad(); });
    train(model, *optimizer, [](auto&, auto& o) { o.zero_grad(); });
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(torch::allclose(flat_model->parameters()[i], model->parameters()[i], 1e-6));
    }
  };
  using Parameters = std::vector<torch::Tensor>;
  check([](Parameters p) { return std::make_unique<torch::optim::Adam>(p); });
  check([](Parameters p) {
    return std::make_unique<torchamp::FusedAdam>(p, torch::optim::AdamOptions());
  });
  check([](Parameters p) { return std::make_unique<torch::optim::AdamW>(p); });
  check([](Parameters p) { return std::make_unique<torch::optim::Adagrad>(p); });
  check([](Parameters p) { return std::make_unique<torch::optim::RMSprop>(p); });
}

TEST_CASE("The module's parameters stay the same tensors") {
  TwoLayers model;
  const auto before = model->named_parameters();
  const FlatParameters flat(before);

  CHECK(equal(*model, *TwoLayers()));
  for (const auto& item : model->named_parameters()) {
    CHECK(item.value().is_same(before[item.key()]));
    CHECK(item.value().is_leaf());
    CHECK_FALSE(item.value().is_view());
  }
}

TEST_CASE("There is one flat tensor, in which each parameter begins at a multiple of 64 bytes") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());

  const auto tensors = flat.parameters();
  REQUIRE(tensors.size() == 1);
  CHECK(tensors[0].is_leaf());
  CHECK(tensors[0].requires_grad());
  CHECK(flat.numel() == 8 + 2 + 4 + 2);
  CHECK(tensors[0].numel() == 4 * 16);
  CHECK(tensors[0].sum().item<float>() == (36 + 3 + 10 + 3) / 8.0);  // zero in between
  const auto* const begin = static_cast<const char*>(tensors[0].const_data_ptr());
  for (int i = 0; i < 4; ++i) {
    CHECK(model->parameters()[i].const_data_ptr() == begin + 64 * i);
  }
}

TEST_CASE(
    "Backward writes into the flat gradient, and a change of that is one of the parameters'") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  const auto tensor = flat.parameters()[0];
  CHECK_FALSE(tensor.grad().defined());

  model(input(0)).sum().backward();
  CHECK(tensor.grad().sum().item<float>() ==
        doctest::Approx(model->first->weight.grad().sum().item<float>() +
                        model->first->bias.grad().sum().item<float>() +
                        model->second->weight.grad().sum().item<float>() + 2));
  tensor.mutable_grad().fill_(3);
  CHECK(torch::equal(model->second->bias.grad(), torch::full({2}, 3.0)));
}

TEST_CASE(
    "The flat gradient of a parameter that backward does not reach is zero, not the last one") {
  for (const bool by_model : {false, true}) {
    TwoLayers model;
    const FlatParameters flat(model->parameters());
    SGD optimizer(flat.parameters(), SGDOptions(1));
    model(input(0)).sum().backward();

    by_model ? model->zero_grad() : optimizer.zero_grad();
    model->first(input(0)).sum().backward();
    CHECK_FALSE(model->second->bias.grad().defined());
    CHECK(flat.parameters()[0].grad().slice(0, 32).abs().sum().item<float>() == 0);
    CHECK(torch::equal(model->first->bias.grad(), torch::ones({2})));
    optimizer.step();
    CHECK(torch::equal(model->second->bias, TwoLayers()->second->bias));
    CHECK(torch::equal(model->first->bias, TwoLayers()->first->bias - 1));
  }
}

TEST_CASE("zero_grad() of one layer is zero in its part alone, also if backward goes elsewhere") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  model(input(0)).sum().backward();

  model->second->zero_grad();
  model->first->bias.sum().backward();
  CHECK(flat.parameters()[0].grad().slice(0, 32).abs().sum().item<float>() == 0);
  CHECK(torch::equal(model->second->bias.grad(), torch::zeros({2})));
  CHECK(model->first->weight.grad().abs().sum().item<float>() > 0);
}

TEST_CASE("Without a backward pass after zero_grad() a step does nothing") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  SGD optimizer(flat.parameters(), sgd);
  model(input(0)).sum().backward();

  optimizer.zero_grad();
  optimizer.step();
  CHECK(equal(*model, *TwoLayers()));
}

TEST_CASE("A buffer that backward does not reach after the model's zero_grad() is not stepped") {
  TwoLayers model;
  model->second->to(torch::kDouble);
  const FlatParameters flat(model->parameters());
  REQUIRE(flat.parameters().size() == 2);
  (model->first->bias.sum() + model->second->bias.sum()).backward();
  CHECK(flat.parameters()[1].grad().defined());

  model->zero_grad();
  model->first->bias.sum().backward();
  CHECK(flat.parameters()[0].grad().defined());
  CHECK_FALSE(flat.parameters()[1].grad().defined());
}

TEST_CASE("torch::autograd::grad changes no gradient and makes none") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  SGD optimizer(flat.parameters(), sgd);
  const auto bias = model->second->bias;

  CHECK(torch::equal(torch::autograd::grad({model(input(0)).sum()}, {bias})[0], torch::ones({2})));
  CHECK_FALSE(flat.parameters()[0].grad().defined());

  model(input(0)).sum().backward();
  optimizer.zero_grad();
  torch::autograd::grad({model(input(0)).sum()}, {bias});
  CHECK_FALSE(flat.parameters()[0].grad().defined());
  CHECK_FALSE(bias.grad().defined());

  bias.sum().backward();
  torch::autograd::grad({model(input(0)).sum()}, {bias});
  CHECK(flat.parameters()[0].grad().sum().item<float>() == 2);
}

TEST_CASE(
    "Gradients of backward(create_graph) keep their graph, and the flat one has their values") {
  const auto penalised = [](auto& model, auto& optimizer) {
    for (int i = 0; i < 2; ++i) {
      optimizer.zero_grad();
      model(input(i)).pow(2).sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true);
      (model->first->weight.grad().pow(2).sum() * 0.25).backward();
      optimizer.step();
      optimizer.zero_grad();
      model(input(i)).pow(2).sum().backward();
      optimizer.step();
    }
    model->zero_grad();
  };
  check_trains_alike(penalised);
}

TEST_CASE("An assigned gradient is seen from the next backward pass on, or from refresh()") {
  TwoLayers model;
  FlatParameters flat(model->parameters());
  const auto bias = model->second->bias;
  const auto flat_bias_sum = [&] {
    return flat.parameters()[0].grad().slice(0, 48).sum().template item<float>();
  };

  bias.mutable_grad() = torch::full({2}, 4.0);
  bias.sum().backward();
  CHECK(torch::equal(bias.grad(), torch::full({2}, 5.0)));
  CHECK(flat_bias_sum() == 10);

  bias.mutable_grad() = torch::full({2}, 7.0);
  flat.refresh();
  CHECK(flat_bias_sum() == 14);

  flat.parameters()[0].mutable_grad() = torch::ones({64});
  bias.sum().backward();
  CHECK(torch::equal(bias.grad(), torch::full({2}, 2.0)));
  CHECK(torch::equal(model->first->bias.grad(), torch::ones({2})));
}

TEST_CASE("refresh() after the model's zero_grad() leaves nothing to step") {
  TwoLayers model;
  FlatParameters flat(model->parameters());
  model(input(0)).sum().backward();

  model->zero_grad();
  flat.refresh();
  CHECK_FALSE(flat.parameters()[0].grad().defined());
}

TEST_CASE("Gradients that are there are kept") {
  TwoLayers model;
  model->second->bias.sum().backward();
  const FlatParameters flat(model->parameters());

  CHECK(flat.parameters()[0].grad().sum().item<float>() == 2);
  flat.parameters()[0].mutable_grad().mul_(0.5);
  CHECK(torch::equal(model->second->bias.grad(), torch::full({2}, 0.5)));
  model->second->bias.mutable_grad().mul_(2);
  model->second->bias.sum().backward();
  CHECK(torch::equal(model->second->bias.grad(), torch::full({2}, 2.0)));
  CHECK(flat.parameters()[0].grad().sum().item<float>() == 4);
}

TEST_CASE("Gradients are copied whatever their size and strides") {
  for (const int size : {3, 300}) {  // 36 bytes, and 351 KiB
    const auto weight = torch::ones({size, size}).requires_grad_();
    const auto factor = torch::arange(double(size) * size).view({size, size}).to(torch::kFloat);
    FlatParameters flat(std::vector<torch::Tensor>{weight});
    for (const auto& gradient : {factor, factor.t(), factor[1].expand({size, size})}) {
      flat.parameters()[0].mutable_grad() = torch::Tensor();
      weight.backward(gradient);
      CHECK(torch::equal(weight.grad(), gradient));
      CHECK(torch::equal(flat.parameters()[0].grad().slice(0, 0, size * size), gradient.flatten()));
      weight.mutable_grad() = gradient;
      flat.refresh();
      CHECK(torch::equal(flat.parameters()[0].grad().slice(0, 0, size * size), gradient.flatten()));
    }
  }
}

TEST_CASE("Sparse gradients are added to the flat one") {
  const auto rows = torch::tensor({1, 1, 2});
  for (const bool twice : {false, true}) {
    torch::nn::Embedding table(torch::nn::EmbeddingOptions(4, 2).sparse(true));
    if (twice) table(rows).sum().backward();  // a sparse gradient that is there already
    FlatParameters flat(table->parameters());
    table(rows).sum().backward();
    const float once = twice ? 2 : 1;
    CHECK(torch::equal(
        table->weight.grad(),
        torch::tensor({{0., 0.}, {2., 2.}, {1., 1.}, {0., 0.}}, torch::kFloat) * once));
    CHECK(flat.parameters()[0].grad().sum().item<float>() == 6 * once);

    table->weight.mutable_grad() = torch::eye(4).slice(1, 0, 2).to_sparse();
    flat.refresh();
    CHECK(flat.parameters()[0].grad().sum().item<float>() == 2);
  }
}

TEST_CASE("Groups keep their options and their order") {
  TwoLayers model;
  torch::nn::Linear frozen(1, 1);
  for (auto& parameter : frozen->parameters()) parameter.requires_grad_(false);
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(model->first->parameters(), std::make_unique<SGDOptions>(0.5));
  groups.emplace_back(frozen->parameters(), std::make_unique<SGDOptions>(2));
  groups.emplace_back(model->second->parameters());
  const FlatParameters flat(groups);

  SGD optimizer(flat.param_groups(), SGDOptions(0.25));
  REQUIRE(optimizer.param_groups().size() == 3);
  CHECK(optimizer.param_groups()[1].params().empty());
  CHECK(flat.parameters().size() == 2);
  (model->first->bias.sum() + model->second->bias.sum()).backward();
  optimizer.step();
  CHECK(torch::equal(model->first->bias, TwoLayers()->first->bias - 0.5));
  CHECK(torch::equal(model->second->bias, TwoLayers()->second->bias - 0.25));
}

TEST_CASE("A parameter that stands twice is there once, and trains as it did") {
  TwoLayers model;
  auto parameters = model->parameters();
  parameters.push_back(model->first->bias);
  parameters.emplace_back();  // undefined, as the bias of a layer without
  const FlatParameters flat(parameters);

  CHECK(flat.numel() == 16);
  CHECK(flat.parameters()[0].numel() == 64);
}

TEST_CASE("Frozen parameters are left out and stay as they are") {
  TwoLayers model;
  model->first->weight.requires_grad_(false);
  const auto* const before = model->first->weight.const_data_ptr();
  const FlatParameters flat(model->parameters());

  CHECK(flat.numel() == 8);
  CHECK(model->first->weight.const_data_ptr() == before);
  model(input(0)).sum().backward();
  CHECK_FALSE(model->first->weight.grad().defined());
}

TEST_CASE("Dense strides are kept, others become contiguous") {
  auto channels_last =
      torch::arange(16.0).view({1, 2, 2, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  auto transposed = torch::arange(6.0).view({2, 3}).t();
  auto gaps = torch::arange(8.0).slice(0, 0, 8, 2);
  const std::vector<torch::Tensor> all = {channels_last, transposed, gaps};
  for (auto tensor : all) tensor.requires_grad_();
  const FlatParameters flat(all);

  CHECK(channels_last.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(transposed.strides() == at::IntArrayRef({1, 3}));
  CHECK(gaps.is_contiguous());
  CHECK(torch::equal(channels_last.flatten(), torch::arange(16.0)));
  CHECK(torch::equal(transposed, torch::arange(6.0).view({2, 3}).t()));
  CHECK(torch::equal(gaps, torch::tensor({0., 2., 4., 6.})));
  (channels_last.sum() + transposed.sum() + gaps.sum()).backward();
  CHECK(channels_last.grad().strides() == channels_last.strides());
  CHECK(flat.parameters()[0].grad().sum().item<float>() == 16 + 6 + 4);
}

TEST_CASE("Complex and half-precision parameters can be flat, each dtype in a tensor of its own") {
  const auto complex = torch::ones({3}, torch::kComplexFloat).requires_grad_();
  const auto half = torch::ones({3}, torch::kHalf).requires_grad_();
  const FlatParameters flat(std::vector<torch::Tensor>{complex, half});
  REQUIRE(flat.parameters().size() == 2);
  CHECK(flat.parameters()[0].numel() == 8);
  CHECK(flat.parameters()[1].numel() == 32);

  SGD optimizer(flat.parameters(), SGDOptions(0.5));
  (torch::real(complex).sum() + half.sum()).backward();
  optimizer.step();
  CHECK(torch::equal(torch::real(complex), torch::full({3}, 0.5)));
  CHECK(torch::equal(half, torch::full({3}, 0.5, torch::kHalf)));
}

TEST_CASE("A scaler steps the flat tensors, and skips what overflows") {
  for (const bool overflow : {false, true}) {
    TwoLayers flat_model, model;
    const FlatParameters flat(flat_model->parameters());
    SGD flat_optimizer(flat.parameters(), sgd), optimizer(model->parameters(), sgd);
    const auto step = [&](auto& net, auto& by) {
      torchamp::GradScaler scaler;
      by.zero_grad();
      scaler.scale(net(input(0)).sum()).backward();
      if (overflow) net->first->bias.mutable_grad().fill_(INFINITY);
      const bool taken = scaler.step(by).taken();
      scaler.update();
      return taken;
    };
    CHECK(step(flat_model, flat_optimizer) == !overflow);
    step(model, optimizer);
    CHECK(equal(*flat_model, *model));
  }
}

TEST_CASE("Autocast casts the parameters of a flat model, and trains it as another") {
  check_trains_alike([](auto& model, auto& optimizer) {
    torch::Tensor loss;
    {
      torchamp::AutocastGuard autocast(torch::kCPU);
      const auto out = model(input(0));
      CHECK(out.scalar_type() == torch::kBFloat16);
      loss = out.pow(2).sum();
    }
    loss.backward();
    optimizer.step();
  });
}

TEST_CASE_TEMPLATE("A step calls as many operators for 10,000 parameters as for one", Optimizer,
                   torch::optim::Adam, torchamp::FusedAdam) {
  const auto operators = [](int count, int numel) {
    std::vector<torch::Tensor> parameters;
    for (int i = 0; i < count; ++i) parameters.push_back(torch::ones({numel}).requires_grad_());
    const FlatParameters flat(parameters);
    Optimizer optimizer(flat.parameters(), torch::optim::AdamOptions());
    torchamp::GradScaler scaler;
    std::vector<int> calls;
    for (int i = 0; i < 2; ++i) {
      scaler.scale(torch::cat(parameters).sum()).backward();
      OperatorCounter counter;
      scaler.step(optimizer);
      scaler.update();
      calls.push_back(counter.more());
      optimizer.zero_grad(/*set_to_none=*/i == 0);
      calls.push_back(counter.more());
    }
    return calls;
  };
  // 16 numbers are 64 bytes, so that as many numbers are stepped.
  CHECK(operators(10'000, 16) == operators(1, 160'000));
}

TEST_CASE_TEMPLATE("From scale to update an iteration over flat parameters is at most 24 operators",
                   Optimizer, torchamp::FusedAdam, torchamp::FusedSGD) {
  const std::vector<torch::Tensor> parameters{torch::ones({10}).requires_grad_(),
                                              torch::ones({10}).requires_grad_()};
  const FlatParameters flat(parameters);
  Optimizer optimizer(flat.parameters(), typename Optimizer::Options(0.1));
  torchamp::GradScaler scaler;
  int calls = 0;
  for (int i = 0; i < 30; ++i) {  // long enough for all that is only done now and then
    const auto loss = (parameters[0] + parameters[1]).sum();
    OperatorCounter counter;
    const auto scaled = scaler.scale(loss);
    calls = counter.more();
    scaled.backward();
    counter.more();
    scaler.step(optimizer);
    scaler.update();
    calls += counter.more();
  }
  CHECK(calls <= 24);
}

TEST_CASE("A fused optimizer over flat parameters makes the host read nothing") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  torchamp::FusedAdam optimizer(flat.parameters(), torch::optim::AdamOptions());
  torchamp::GradScaler scaler;
  HostReadCounter reads;
  for (int i = 0; i < 3; ++i) {
    optimizer.zero_grad();
    scaler.scale(model(input(i)).sum()).backward();
    scaler.step(optimizer);
    scaler.update();
  }
  CHECK(reads.more() == 0);
}

TEST_CASE("A saved model has each parameter once, and no more than that") {
  const auto make = [] {
    torch::nn::Sequential model;
    for (int i = 0; i < 8; ++i) model->push_back(torch::nn::Linear(32, 32));
    return model;
  };
  const auto plain = make(), flat_model = make();
  const FlatParameters flat(flat_model->parameters());
  CHECK(saved_bytes(*flat_model) == saved_bytes(*plain));
}

TEST_CASE("A loaded model is flat again from the next backward pass on, or from refresh()") {
  for (const bool by_refresh : {false, true}) {
    TwoLayers saved, model;
    for (auto& parameter : saved->parameters()) parameter.detach().fill_(3);
    std::stringstream file;
    torch::save(saved, file);

    FlatParameters flat(model->parameters());
    SGD optimizer(flat.parameters(), SGDOptions(1));
    torch::load(model, file);
    CHECK(equal(*model, *saved));
    if (by_refresh) flat.refresh();
    model->second->bias.sum().backward();
    CHECK(flat.parameters()[0].sum().item<float>() == 3 * 16);
    optimizer.step();
    CHECK(torch::equal(model->second->bias, torch::full({2}, 2.0)));
    CHECK(torch::equal(model->first->bias, torch::full({2}, 3.0)));
  }
}

TEST_CASE("An optimizer's archive is loaded over the same parameters, made flat anew") {
  const auto zero = [](auto&, auto& optimizer) { optimizer.zero_grad(); };
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  torch::optim::Adam optimizer(flat.parameters());
  train(model, optimizer, zero);
  std::stringstream model_file, optimizer_file;
  torch::save(model, model_file);
  torch::save(optimizer, optimizer_file);

  TwoLayers resumed;
  const FlatParameters resumed_flat(resumed->parameters());
  torch::optim::Adam resumed_optimizer(resumed_flat.parameters());
  torch::load(resumed, model_file);
  torch::load(resumed_optimizer, optimizer_file);
  train(model, optimizer, zero);
  train(resumed, resumed_optimizer, zero);
  CHECK(equal(*resumed, *model));
}

TEST_CASE("A clone of a flat model is a model of its own") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  const auto copy = std::dynamic_pointer_cast<torch::nn::Module>(model->first->clone());
  copy->parameters()[1].sum().backward();
  CHECK_FALSE(flat.parameters()[0].grad().defined());
  CHECK(copy->parameters()[1].storage().nbytes() == 8);
}

TEST_CASE("FlatParameters may go before the model and the optimizer") {
  TwoLayers model, control;
  auto flat = std::make_unique<FlatParameters>(model->parameters());
  SGD optimizer(flat->parameters(), sgd), control_optimizer(control->parameters(), sgd);
  flat.reset();
  train(model, optimizer, [](auto&, auto& by) { by.zero_grad(); });
  train(control, control_optimizer, [](auto&, auto& by) { by.zero_grad(); });
  CHECK(equal(*model, *control));
}

TEST_CASE("Model, optimizer and FlatParameters gone, nothing of them is left") {
  std::optional<torchamp::WeakTensor> tensor, gradient, parameter;
  std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> memory;
  {
    TwoLayers model;
    const FlatParameters flat(model->parameters());
    SGD optimizer(flat.parameters(), sgd);
    model(input(0)).sum().backward();
    optimizer.step();
    tensor = torchamp::WeakTensor(flat.parameters()[0].getIntrusivePtr());
    gradient = torchamp::WeakTensor(flat.parameters()[0].grad().getIntrusivePtr());
    parameter = torchamp::WeakTensor(model->first->bias.getIntrusivePtr());
    memory = c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
            flat.parameters()[0].storage().unsafeGetStorageImpl()));
  }
  CHECK(parameter->expired());
  CHECK(tensor->expired());
  CHECK(gradient->expired());
  CHECK(memory->expired());
}

TEST_CASE("A parameter outlives its model") {
  torch::Tensor bias;
  {
    TwoLayers model;
    const FlatParameters flat(model->parameters());
    bias = model->second->bias;
    model(input(0)).sum().backward();
  }
  CHECK(torch::equal(bias, torch::tensor({0.125, 0.25})));
  CHECK(torch::equal(bias.grad(), torch::ones({2})));
}

TEST_CASE("Parameters that lived no longer are passed over") {
  TwoLayers model;
  auto flat = std::make_unique<FlatParameters>(model->parameters());
  const auto bias = model->first->bias;
  model = TwoLayers();
  bias.sum().backward();
  CHECK(flat->parameters()[0].grad().sum().item<float>() == 2);
  CHECK_NOTHROW(flat->check());
}

TEST_CASE("Without FlatParameters and optimizer a model trains on as if it had never been flat") {
  TwoLayers model;
  {
    const FlatParameters flat(model->parameters());
    SGD optimizer(flat.parameters(), sgd);
    model(input(0)).sum().backward();
  }
  model->zero_grad();
  model->first->bias.sum().backward();
  CHECK_FALSE(model->second->bias.grad().defined());
  CHECK(torch::equal(model->first->bias.grad(), torch::ones({2})));
  model->to(torch::kDouble);
  model->zero_grad();
  CHECK_NOTHROW(model->first->bias.sum().backward());
}

TEST_CASE(
    "A model can be made flat again once the last FlatParameters and its optimizer are gone") {
  TwoLayers model;
  model->first->weight.requires_grad_(false);
  auto flat = std::make_unique<FlatParameters>(model->parameters());
  auto optimizer = std::make_unique<SGD>(flat->parameters(), sgd);
  model(input(0)).sum().backward();
  const auto* const before = model->second->bias.const_data_ptr();

  model->first->weight.requires_grad_(true);
  CHECK_ERROR(E22, FlatParameters(model->parameters()));
  flat.reset();
  CHECK_ERROR_SAYS("destroy that one", FlatParameters(model->parameters()));
  CHECK(model->second->bias.const_data_ptr() == before);
  optimizer.reset();
  const FlatParameters anew(model->parameters());
  CHECK(anew.numel() == 16);
  CHECK(model->second->bias.const_data_ptr() != before);
  model->zero_grad();
  model->second->bias.sum().backward();
  CHECK(anew.parameters()[0].grad().sum().item<float>() == 2);
}

TEST_CASE("A hook that was there before is still called") {
  struct Count final : torch::autograd::PostAccumulateGradHook {
    explicit Count(int& calls) : calls_(calls) {}
    void operator()(const torch::Tensor&) override { ++calls_; }
    int& calls_;
  };
  TwoLayers model;
  int calls = 0;
  torch::autograd::impl::set_post_acc_grad_hooks(model->first->bias,
                                                 std::make_unique<Count>(calls));
  for (int i = 1; i <= 2; ++i) {
    const FlatParameters flat(model->parameters());
    model->first->bias.sum().backward();
    CHECK(calls == i);
    CHECK(flat.parameters()[0].grad().defined());
  }
}

TEST_CASE("What cannot be made flat is refused, and nothing has changed") {
  TwoLayers model;
  const auto* const before = model->first->weight.const_data_ptr();
  const auto with = [&](const torch::Tensor& other) {
    auto parameters = model->parameters();
    parameters.push_back(other);
    return parameters;
  };
  CHECK_ERROR(E22, FlatParameters(std::vector<torch::Tensor>()));
  CHECK_ERROR_SAYS("no parameter that requires", FlatParameters(std::vector{torch::ones({1})}));
  CHECK_ERROR_SAYS("parameter 4 is computed", FlatParameters(with(model->first->bias * 2)));
  CHECK_ERROR_SAYS("layout Sparse",
                   FlatParameters(with(torch::eye(2).to_sparse().requires_grad_())));
  CHECK_ERROR_SAYS("is on meta",
                   FlatParameters(with(torch::ones({1}, torch::kMeta).requires_grad_())));
  CHECK_ERROR_SAYS("one number for several",
                   FlatParameters(with(torch::ones({1}).expand({3}).detach().requires_grad_())));
  CHECK_ERROR_SAYS("parameter 1 and parameter 4 share memory",
                   FlatParameters(with(model->first->bias.detach().requires_grad_())));
  CHECK_ERROR_SAYS("share memory",
                   FlatParameters(with(model->first->weight.detach()[1].requires_grad_())));
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(model->first->parameters());
  groups.emplace_back(model->parameters());
  CHECK_ERROR_SAYS("parameter 0 of group 1 is in group 0 too", FlatParameters(groups));
  CHECK(model->first->weight.const_data_ptr() == before);
  CHECK_NOTHROW(FlatParameters(model->parameters()));
}

TEST_CASE("A parameter that has left its buffer is refused in backward, before anything is added") {
  using Leave = std::function<void(TwoLayers&)>;
  const std::vector<std::pair<Leave, std::string>> ways = {
      {[](auto& model) { model->to(torch::kDouble); },
       "\"first.weight\" was Float[2, 4] on cpu and is Double[2, 4]"},
      {[](auto& model) { model->second->bias.set_data(torch::ones({3})); }, "\"second.bias\""},
      {[](auto& model) { model->second->bias.requires_grad_(false); },
       "\"second.bias\" requires gradients no more"},
      {[](auto& model) { model->second->bias.set_data(model->first->bias); },
       "\"second.bias\" was given the memory"},
      {[](auto& model) {
         const auto memory = torch::ones({2});
         model->first->bias.set_data(memory);
         model->second->bias.set_data(memory);
       },
       "\"second.bias\" was given the memory"},
  };
  for (const auto& [leave, text] : ways) {
    CAPTURE(text);
    TwoLayers model;
    const FlatParameters flat(model->named_parameters());
    model->first->bias.sum().backward();
    CHECK_NOTHROW(flat.check());
    leave(model);
    CHECK_ERROR(E23, flat.check());
    CHECK_ERROR(E23, model->first->bias.sum().backward());
    CHECK_ERROR_SAYS(text, model->first->bias.sum().backward());
    CHECK(flat.parameters()[0].grad().sum().item<float>() == 2);
  }
}

TEST_CASE(
    "module->to() of what it is already leaves it flat; of another, it can be made flat anew") {
  TwoLayers model;
  const FlatParameters flat(model->parameters());
  SGD optimizer(flat.parameters(), sgd);
  model->to(torch::kCPU, torch::kFloat);
  CHECK_NOTHROW(model(input(0)).sum().backward());

  model->to(torch::kDouble);
  const FlatParameters anew(model->parameters());
  CHECK(anew.parameters()[0].scalar_type() == torch::kDouble);
  model->zero_grad();
  CHECK_NOTHROW(model(input(0).to(torch::kDouble)).sum().backward());
  CHECK(anew.parameters()[0].grad().defined());
}

TEST_CASE("Autograd does not notice a step between a forward pass and its backward") {
  for (const bool is_flat : {false, true}) {
    TwoLayers model;
    std::optional<FlatParameters> flat;
    if (is_flat) flat.emplace(model->parameters());
    torch::optim::Adam optimizer(is_flat ? flat->parameters() : model->parameters());
    const auto loss = model(input(0)).sum();
    loss.backward({}, /*retain_graph=*/true);
    optimizer.step();
    if (is_flat) {
      CHECK_NOTHROW(loss.backward());
    } else {
      CHECK_THROWS(loss.backward());
    }
  }
}
