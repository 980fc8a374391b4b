// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/kept_state.h>

#include "support/doctest.h"

#include <cmath>
#include <type_traits>

using torchamp::detail::KeptState;

static_assert(!std::is_copy_constructible_v<KeptState>);
static_assert(!std::is_move_constructible_v<KeptState>);

namespace {

torch::nn::Linear one_weight(double value) {
  torch::nn::Linear made(torch::nn::LinearOptions(1, 1).bias(false));
  made->weight.data().fill_(value);
  return made;
}

}  // namespace

TEST_CASE("Parameters that were changed in place are put back") {
  auto net = one_weight(2);
  {
    const KeptState kept(*net);
    CHECK_FALSE(kept.changed_parameter().has_value());
    net->weight.data().fill_(5);
    CHECK(kept.changed_parameter() == "weight");
  }
  CHECK(net->weight.item<float>() == 2);
}

TEST_CASE("Parameters that were given other memory have their own again") {
  auto net = one_weight(2);
  const auto* const memory = net->weight.const_data_ptr();
  {
    const KeptState kept(*net);
    net->weight.set_data(torch::full({1, 1}, 2.0f));
    CHECK(kept.changed_parameter() == "weight");
  }
  CHECK(net->weight.const_data_ptr() == memory);
  CHECK(net->weight.item<float>() == 2);
}

TEST_CASE("A parameter that is NaN and stays so has not changed") {
  auto net = one_weight(NAN);
  const KeptState kept(*net);
  CHECK_FALSE(kept.changed_parameter().has_value());
  net->weight.data().fill_(1);
  CHECK(kept.changed_parameter() == "weight");
}

TEST_CASE("Gradients are away meanwhile, and the very same afterwards") {
  auto net = one_weight(2);
  net->weight.mutable_grad() = torch::full({1, 1}, 7.0f);
  const auto gradient = net->weight.grad();
  {
    const KeptState kept(*net);
    CHECK_FALSE(net->weight.grad().defined());
    net->weight.mutable_grad() = torch::zeros({1, 1});
  }
  CHECK(net->weight.grad().is_same(gradient));
  CHECK(gradient.item<float>() == 7);
}

TEST_CASE("A graph that was made before can still go backward") {
  auto net = one_weight(2);
  const auto x = torch::full({1, 1}, 3.0f).requires_grad_();
  const auto loss = net(x).sum();
  {
    const KeptState kept(*net);
    net->weight.data().fill_(5);
  }

  loss.backward();
  CHECK(x.grad().item<float>() == 2);
}

TEST_CASE("Buffers are put back, those too that a kernel changed without saying so") {
  torch::nn::BatchNorm1d net(1);
  {
    const KeptState kept(*net);
    net(torch::full({4, 1}, 100.0f) + torch::rand({4, 1}));
    CHECK(net->running_mean.item<float>() > 1);
    CHECK(net->num_batches_tracked.item<int64_t>() == 1);
  }
  CHECK(net->running_mean.item<float>() == 0);
  CHECK(net->num_batches_tracked.item<int64_t>() == 0);
}

TEST_CASE("Training mode is put back, of children that differ from their parent too") {
  torch::nn::Sequential net(torch::nn::Linear(1, 1), torch::nn::Dropout());
  net[1]->eval();
  {
    const KeptState kept(*net);
    net->eval();
    net[1]->train();
  }
  CHECK(net->is_training());
  CHECK(net[0]->is_training());
  CHECK_FALSE(net[1]->is_training());
}

TEST_CASE("Random numbers go on where they were") {
  auto net = one_weight(1);
  torch::manual_seed(4);
  const auto expected = torch::rand({2});
  torch::manual_seed(4);
  {
    const KeptState kept(*net);
    torch::rand({100});
  }
  CHECK(torch::equal(torch::rand({2}), expected));
}

TEST_CASE("A module without parameters has nothing to keep") {
  torch::nn::ReLU net;
  const KeptState kept(*net);
  CHECK_FALSE(kept.changed_parameter().has_value());
}
