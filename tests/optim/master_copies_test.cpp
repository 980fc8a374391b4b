// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

#include <torchamp/optim/master_copies.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <utility>
#include <vector>

using torchamp::MasterCopies;
using Change = torchamp::MasterCopies::Change;

namespace {

using Groups = MasterCopies::Groups;

torch::Tensor parameter(double value, torch::ScalarType dtype = torch::kHalf) {
  return torch::full({2}, value, dtype).requires_grad_();
}

MasterCopies copies_of(const Groups& groups) {
  MasterCopies copies;
  copies.follow(groups, "test");
  return copies;
}

void set_gradient(const torch::Tensor& parameter, double value) {
  parameter.mutable_grad() = torch::full_like(parameter, value).detach();
}

}  // namespace

TEST_CASE("Half-precision parameters get float32 masters, others are their own") {
  const std::vector<torch::Tensor> parameters = {
      parameter(1, torch::kHalf), parameter(2, torch::kBFloat16), parameter(3, torch::kFloat),
      parameter(4, torch::kDouble)};

  const auto masters = copies_of({parameters}).masters();

  REQUIRE(masters.size() == 4);
  CHECK(masters[0].equal(torch::full({2}, 1.0)));
  CHECK(masters[1].equal(torch::full({2}, 2.0)));
  CHECK(masters[0].scalar_type() == torch::kFloat);
  CHECK(masters[1].scalar_type() == torch::kFloat);
  CHECK(masters[0].is_leaf());
  CHECK(masters[2].is_same(parameters[2]));
  CHECK(masters[3].is_same(parameters[3]));
}

TEST_CASE("A master has the layout of its parameter") {
  const auto weight = torch::ones({2, 3, 4, 4}, torch::kHalf)
                          .contiguous(torch::MemoryFormat::ChannelsLast)
                          .requires_grad_();

  auto copies = copies_of({{{weight}}});
  set_gradient(weight, 1);
  copies.make_gradients();

  CHECK(copies.masters()[0].strides() == weight.strides());
  CHECK(copies.masters()[0].grad().strides() == weight.strides());
}

TEST_CASE("Masters stay when parameters are added, and one that stands twice has one") {
  const auto a = parameter(1), b = parameter(2), c = parameter(3);
  auto copies = copies_of({{{a, b}}});
  const auto before = copies.masters();
  copies.masters()[0].fill_(5);

  copies.follow({{{c, b}}, {{a, c}}}, "test");

  CHECK(copies.groups() == 2);
  CHECK(copies.masters(0)[1].is_same(before[1]));
  CHECK(copies.masters(1)[0].is_same(before[0]));
  CHECK(copies.masters(1)[0].equal(torch::full({2}, 5.0)));
  CHECK(copies.masters(0)[0].is_same(copies.masters(1)[1]));
  CHECK(copies.masters(0)[0].equal(torch::full({2}, 3.0)));
}

TEST_CASE("Parameters in another order, or in other groups, are followed") {
  const auto a = parameter(1), b = parameter(2);
  auto copies = copies_of({{{a, b}}});
  const auto before = copies.masters();

  copies.follow({{{b, a}}}, "test");
  CHECK(copies.masters()[0].is_same(before[1]));
  copies.follow({{{b}}, {{a}}}, "test");
  CHECK(copies.size_of(0) == 1);
  CHECK(copies.masters(1)[0].is_same(before[0]));
  copies.follow({{{a}}}, "test");
  CHECK(copies.groups() == 1);
  CHECK(copies.masters().size() == 1);
  copies.follow({{{a, b}}}, "test");
  CHECK(copies.masters().size() == 2);
  copies.follow({{{a}}}, "test");
  CHECK(copies.masters().size() == 1);
}

TEST_CASE("A parameter that got another dtype or shape is refused by its place") {
  const auto a = parameter(1), b = parameter(2);
  auto copies = copies_of({{{a}}, {{a, b}}});

  b.set_data(b.to(torch::kFloat));
  CHECK_ERROR(E24, copies.follow({{{a}}, {{a, b}}}, "test"));
  CHECK_ERROR_SAYS("parameter 1 of group 1 is Float", copies.follow({{{a}}, {{a, b}}}, "test"));
  b.set_data(torch::ones({3}, torch::kHalf));
  CHECK_ERROR_SAYS("shape [3]", copies.follow({{{a}}, {{a, b}}}, "test"));
  CHECK(copies.masters().size() == 3);
}

TEST_CASE("Masters are written into parameters and read from them") {
  const auto half = parameter(1), full = parameter(1, torch::kFloat);
  auto copies = copies_of({{{half, full}}});

  copies.masters()[0].fill_(3);
  copies.write_parameters();
  CHECK(half.equal(torch::full({2}, 3.0, torch::kHalf)));
  {
    const torch::NoGradGuard no_grad;
    half.fill_(4);
  }
  copies.read_parameters();
  CHECK(copies.masters()[0].equal(torch::full({2}, 4.0)));
  CHECK(full.equal(torch::ones({2})));
}

TEST_CASE("Given values become the masters', undefined ones leave them") {
  const auto a = parameter(1), b = parameter(2, torch::kFloat), c = parameter(3);
  auto copies = copies_of({{{a, b, c}}});

  copies.set_masters({torch::full({2}, 7.0), torch::full({2}, 8.0), torch::Tensor()});

  CHECK(copies.masters()[0].equal(torch::full({2}, 7.0)));
  CHECK(b.equal(torch::full({2}, 8.0)));
  CHECK(copies.masters()[2].equal(torch::full({2}, 3.0)));
}

TEST_CASE("A parameter that was changed in place is noticed, until it is copied") {
  const auto a = parameter(1);
  auto copies = copies_of({{{a}}});
  const auto change = [&] {
    const torch::NoGradGuard no_grad;
    a.mul_(2);
  };

  copies.check_parameters("test");
  change();
  CHECK_ERROR(E24, copies.check_parameters("test"));
  CHECK_ERROR_SAYS("parameter 0 of group 0", copies.check_parameters("test"));
  copies.read_parameters();
  copies.check_parameters("test");
  change();
  CHECK_ERROR(E24, copies.check_parameters("test"));
  copies.write_parameters();
  copies.check_parameters("test");
}

TEST_CASE("A parameter that got other memory, as by loading a model, is noticed") {
  const auto a = parameter(1);
  const auto copies = copies_of({{{a}}});

  a.set_data(torch::full({2}, 9.0, torch::kHalf));

  CHECK_ERROR(E24, copies.check_parameters("test"));
}

TEST_CASE("A float32 parameter may be changed at any time") {
  const auto a = parameter(1, torch::kFloat);
  auto copies = copies_of({{{a}}});

  a.set_data(torch::full({2}, 9.0));
  copies.check_parameters("test");
  copies.follow({{{a}}}, "test");

  CHECK(copies.masters()[0].is_same(a));
}

TEST_CASE("Masters get gradients in float32 where their parameters have some") {
  const auto a = parameter(1), b = parameter(2), c = parameter(3, torch::kFloat);
  auto copies = copies_of({{{a, b, c}}});
  set_gradient(a, 0.5);
  set_gradient(c, 8);
  const auto gradient_of_c = c.grad();
  copies.masters()[1].mutable_grad() = torch::ones({2});  // of an iteration before

  copies.make_gradients();

  CHECK(copies.masters()[0].grad().equal(torch::full({2}, 0.5)));
  CHECK_FALSE(copies.masters()[1].grad().defined());
  CHECK(c.grad().is_same(gradient_of_c));
  copies.drop_gradients();
  CHECK_FALSE(copies.masters()[0].grad().defined());
  CHECK(c.grad().is_same(gradient_of_c));
}

TEST_CASE("A sparse gradient is made float32 before its values are summed") {
  const auto weight = torch::zeros({3, 1}, torch::kHalf).requires_grad_();
  auto copies = copies_of({{{weight}}});
  const auto indices = torch::tensor({{2, 2}});
  weight.mutable_grad() =
      torch::sparse_coo_tensor(indices, torch::full({2, 1}, 60000.0, torch::kHalf), {3, 1});

  copies.make_gradients();

  const auto gradient = copies.masters()[0].grad();
  CHECK(gradient.is_sparse());
  CHECK(gradient.scalar_type() == torch::kFloat);
  CHECK(gradient.to_dense()[2].item<float>() == 120000);  // 65504 is the largest float16
}

TEST_CASE("One operator makes the gradients of all masters of a dtype") {
  std::vector<torch::Tensor> parameters;
  for (int i = 0; i < 10; ++i) parameters.push_back(parameter(i));
  auto copies = copies_of({parameters});
  for (const auto& each : parameters) set_gradient(each, 1);
  OperatorCounter counter("aten::_foreach_copy_");

  copies.make_gradients();
  CHECK(counter.more() == 1);
  copies.write_parameters();
  CHECK(counter.more() == 1);
}

TEST_CASE("Gradients are known again, accumulated onto, or replaced") {
  const auto a = parameter(1), b = parameter(2);
  auto copies = copies_of({{{a, b}}});
  set_gradient(a, 1);
  copies.make_gradients();

  CHECK(copies.gradient_change() == Change::Same);
  a.grad().add_(1);
  CHECK(copies.gradient_change() == Change::Accumulated);
  copies.make_gradients();
  CHECK(copies.gradient_change() == Change::Same);
  set_gradient(b, 1);  // backward() reached another one
  CHECK(copies.gradient_change() == Change::Accumulated);
  copies.make_gradients();
  set_gradient(a, 1);
  set_gradient(b, 1);
  CHECK(copies.gradient_change() == Change::Replaced);
  copies.make_gradients();
  a.mutable_grad().reset();
  b.mutable_grad().reset();
  CHECK(copies.gradient_change() == Change::Replaced);
}
