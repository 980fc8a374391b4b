// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/core/autocast.h>
#include <torchamp/diagnose/dry_run.h>

#include "support/doctest.h"
#include "support/errors.h"
#include "support/operators.h"

#include <ATen/record_function.h>

#include <cmath>
#include <stdexcept>
#include <thread>

using torchamp::dry_run;
using torchamp::DryRunOptions;
using torchamp::DryRunReport;

namespace {

/// Two layers of one weight each, "first" and "second", that multiply by `a` and by `b`.
struct Chain : torch::nn::Module {
  Chain(double a, double b) {
    first = register_module("first", linear(a));
    second = register_module("second", linear(b));
  }
  static torch::nn::Linear linear(double weight) {
    torch::nn::Linear made(torch::nn::LinearOptions(1, 1).bias(false));
    made->weight.data().fill_(weight);
    return made;
  }
  torch::Tensor forward(const torch::Tensor& x) { return second(first(x)); }

  torch::nn::Linear first{nullptr}, second{nullptr};
};

/// What a step of the chain finds, if its input is `x` and its loss the mean of its output.
DryRunReport report_of(Chain& net, double x, const DryRunOptions& options = {}) {
  return dry_run(
      net,
      [&] {
        net.forward(torch::full({1, 1}, x)).sum().backward();
      },
      options);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string reasons_of(const DryRunReport& report, const std::string& module) {
  const auto* const found = report.find(module);
  REQUIRE(found != nullptr);
  return torchamp::detail::join_names(found->reasons);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("A net whose numbers are small is fine in float16 with scaling") {
  Chain net(2, 3);
  const auto report = report_of(net, 1);

  CHECK(has(report.advice, "float16 with scaling is fine"));
  CHECK(report.dtype == torch::kHalf);
  CHECK(report.keep_in_float32().empty());
  CHECK(report.find("first")->fits_float16());
  CHECK(report.find("first")->activations.largest == 2);
  CHECK(report.find("second")->activations.largest == 6);
  CHECK(report.refused.empty());
  CHECK(report.warnings.empty());
  CHECK(report.saw_backward);
}

TEST_CASE("The layer whose activations leave float16's range is named, with the number") {
  Chain net(1000, 1e-5);  // 100 * 1000 = 100000, times 1e-5 is 1
  const auto report = report_of(net, 100);

  CHECK(report.keep_in_float32() == Names{"first"});
  CHECK(report.keep_in_float16() == Names{"second"});
  CHECK(has(reasons_of(report, "first"),
            "activations up to 1e5, above float16's 65504 (aten::matmul): keep in float32 or use"
            " bfloat16"));
  CHECK(report.find("first")->dtype == torch::kBFloat16);
  CHECK(has(report.to_text(), "first: activations up to 1e5, above float16's 65504"));
}

TEST_CASE("Activations of 65504 fit") {
  Chain net(65504, 0.001);
  CHECK(report_of(net, 1).find("first")->fits_float16());
  CHECK_FALSE(report_of(net, 1.001).find("first")->fits_float16());
}

TEST_CASE(
    "The net as a whole: float16 with what leaves its range kept out, bfloat16 if that is most") {
  Chain one(1000, 1e-5);
  const auto half = report_of(one, 100);
  CHECK(half.dtype == torch::kHalf);
  CHECK(has(half.advice, "and first in float32 (FullPrecisionGuard); or bfloat16 for all"));

  Chain both(1000, 1);
  const auto bfloat16 = report_of(both, 100);
  CHECK(bfloat16.dtype == torch::kBFloat16);
  CHECK(has(bfloat16.advice, "2 of 2 parts of the net leave float16's range"));
}

TEST_CASE("An input that autocast would cast is looked at too") {
  Chain net(1e-5, 1);
  const auto report = report_of(net, 100000);

  CHECK(has(reasons_of(report, "first"), "inputs up to 1e5, above float16's 65504 (aten::matmul)"));
  CHECK(report.find("second")->fits_float16());
}

TEST_CASE("A parameter out of range is named") {
  Chain net(100000, 1e-6);
  const auto report = report_of(net, 0.001);

  CHECK(has(reasons_of(report, "first"), "first.weight up to 1e5, above float16's 65504"));
  CHECK(report.parameters.at(0).name == "first.weight");
  CHECK(report.parameters.at(0).is_cast);
  CHECK(report.parameters.at(0).values.above_float16 == 1);
}

TEST_CASE("Parameters that flush are named") {
  Chain net(1e-9, 1);
  CHECK(has(reasons_of(report_of(net, 1e6 / 16), "first"),
            "first.weight down to 1e-9, of which 1 of 1 (100 %) would become 0 in float16"));
}

TEST_CASE("What is too large for bfloat16 as well has to stay in float32") {
  Chain net(3.4e38, 1e-38);
  const auto report = report_of(net, 1);

  CHECK(report.find("first")->dtype == torch::kFloat);
  CHECK(has(reasons_of(report, "first"), "and bfloat16's 3.39e38: keep in float32"));

  Chain rounded_down(3.395e38, 1e-38);  // to 3.39e38, its largest
  CHECK(report_of(rounded_down, 1).find("first")->dtype == torch::kBFloat16);
}

TEST_CASE("A gradient that flushes in float16 is found, and what a scale does for it") {
  Chain net(1, 1);
  // The loss is 1e-9 times the output: every gradient is 1e-9, which float16 makes 0.
  const auto report = dry_run(net, [&] {
    (net.forward(torch::ones({1, 1})).sum() * 1e-9).backward();
  });

  CHECK(report.parameters.at(0).gradient.largest == doctest::Approx(1e-9));
  CHECK(report.parameters.at(0).gradient.flushed(1) == 1);
  CHECK(report.gradients.flushed(1) > 0);
  CHECK(report.init_scale == 65536);  // 1e-9 * 65536 is 6.6e-5
  CHECK(report.gradients.flushed(report.init_scale) == 0);
  CHECK(report.keep_in_float32().empty());
  CHECK(has(report.to_text(), "at a scale of 65536: none"));
}

TEST_CASE("Gradients that are smaller still get a larger scale, large ones a smaller one") {
  Chain net(1, 1);
  const auto report_for = [&](double factor) {
    return dry_run(net, [&] { (net.forward(torch::ones({1, 1})).sum() * factor).backward(); });
  };

  CHECK(report_for(1e-14).init_scale == 4194304);               // 2^22 * 1e-14 is just above 2^-25
  CHECK(has(report_for(1e-14).advice, "init_scale(4194304)"));  // to be copied into a program
  CHECK(report_for(8).init_scale == 2048);                      // 8 * 4096 * 2 is 65536
}

TEST_CASE("Gradients too far apart for one scale are a reason against float16") {
  Chain net(1, 1);
  const auto x = torch::ones({1, 1});
  const auto report =
      dry_run(net, [&] { (net.first(x).sum() * 1e-10 + net.second(x).sum() * 1000).backward(); });

  CHECK(report.init_scale == 32);  // 1000 * 32 * 2 is 64000
  CHECK(has(reasons_of(report, "first"),
            "gradients down to 1e-10, of which 2 of 2 (100 %) would become 0 in float16 at a scale"
            " of 32"));
  CHECK(report.find("second")->fits_float16());
}

TEST_CASE("Operators without parameters stand after the module that their input came from") {
  Chain net(1000, 1);
  const auto report = dry_run(net, [&] {
    const auto hidden = net.first(torch::full({1, 1}, 60.0f));  // 60000
    const auto doubled = hidden + hidden;                       // 120000
    net.second(doubled * 0.001).sum().backward();
  });

  CHECK(report.find("first")->fits_float16());
  CHECK(has(reasons_of(report, "after first"), "activations up to 1.2e5"));
  CHECK(has(reasons_of(report, "after first"), "aten::add"));
  CHECK(report.find("second")->fits_float16());
}

TEST_CASE("Operators in a scope that the user named belong to it") {
  Chain net(1000, 1);
  const auto report = dry_run(net, [&] {
    const auto hidden = net.first(torch::full({1, 1}, 60.0f));
    torch::Tensor doubled;
    {
      RECORD_USER_SCOPE("head");
      doubled = hidden + hidden;
    }
    net.second(doubled * 0.001).sum().backward();
  });

  CHECK(has(reasons_of(report, "head"), "activations up to 1.2e5"));
}

TEST_CASE("What autocast runs in float32 anyway is no reason to keep anything") {
  Chain net(12, 1);
  const auto report = dry_run(net, [&] {
    const auto large = torch::exp(net.first(torch::ones({1, 1})));  // e^12 = 162755
    torch::log(large).sum().backward();
  });

  CHECK(report.keep_in_float32().empty());
  CHECK(report.find("after first")->float32_activations.above_float16 == 1);
  CHECK(has(report.to_text(), "float32 in any region: after first (aten::exp, aten::log"));
}

TEST_CASE("A large float32 value is a matter where lower precision takes it up") {
  Chain net(12, 1e-5);
  const auto report = dry_run(net, [&] {
    net.second(torch::exp(net.first(torch::ones({1, 1})))).sum().backward();
  });

  CHECK(report.keep_in_float32() == Names{"second"});
  CHECK(has(reasons_of(report, "second"), "inputs up to 1.63e5"));
}

TEST_CASE("A mask that float16 cannot hold is found") {
  Chain net(1, 1);
  const auto report = dry_run(net, [&] {
    const auto scores = net.first(torch::ones({2, 1}));
    const auto mask = torch::tensor({true, false}).reshape({2, 1});
    torch::softmax(scores.masked_fill(mask, -1e9), 0).sum().backward();
  });

  CHECK(has(reasons_of(report, "after first"), "activations up to 1e9"));
  CHECK(has(reasons_of(report, "after first"), "aten::masked_fill"));
}

TEST_CASE("Masks of -inf are no matter of float16") {
  Chain net(1, 1);
  const auto report = dry_run(net, [&] {
    const auto scores = net.first(torch::ones({2, 1}));
    const auto mask = torch::tensor({true, false}).reshape({2, 1});
    torch::softmax(scores.masked_fill(mask, -INFINITY), 0).sum().backward();
  });

  CHECK(report.keep_in_float32().empty());
  CHECK(report.warnings.empty());
}

TEST_CASE("In-place operators are seen, views and uninitialised tensors are passed over") {
  Chain net(1, 1);
  const auto report = dry_run(net, [&] {
    torch::Tensor hidden = net.first(torch::full({2, 1}, 40000.0f));
    hidden.mul_(2);  // 80000
    const auto view = hidden.view({1, 2}).t().select(0, 0);
    auto garbage = torch::empty_like(hidden);
    const auto counts = torch::ones({3}, torch::kLong) * 100000;
    (view * 1e-5).sum().backward();
  });

  CHECK(has(reasons_of(report, "after first"), "aten::mul"));
  const auto& operators = report.find("after first")->operators;
  const auto lists = [&](const char* op) {
    return std::find(operators.begin(), operators.end(), op) != operators.end();
  };
  CHECK(lists("aten::mul"));
  CHECK_FALSE(lists("aten::view"));
  CHECK_FALSE(lists("aten::select"));
  CHECK_FALSE(lists("aten::empty_like"));
}

TEST_CASE("Plain binary_cross_entropy is refused by CUDA, and the report says what to use") {
  Chain net(1, 1);
  const auto step = [&] {
    torch::binary_cross_entropy(torch::sigmoid(net.forward(torch::ones({1, 1}))),
                                torch::ones({1, 1}))
        .backward();
  };
  const auto report = dry_run(net, step);
  REQUIRE(report.refused.size() == 1);
  CHECK(report.refused[0].op == "aten::binary_cross_entropy");
  CHECK(report.refused[0].place == "after second");
  CHECK(has(report.refused[0].instead, "binary_cross_entropy_with_logits"));
  CHECK(has(report.advice, "Autocast refuses aten::binary_cross_entropy"));
  CHECK(has(report.to_text(), "binary_cross_entropy_with_logits"));

  CHECK(dry_run(net, step, DryRunOptions().device(torch::kCPU)).refused.empty());
}

TEST_CASE("A refused operator is told once for each place, however often it is called") {
  Chain net(1, 1);
  const auto report = dry_run(net, [&] {
    const auto loss = [](const torch::Tensor& x) {
      return torch::binary_cross_entropy(torch::sigmoid(x), torch::ones({1, 1}));
    };
    const auto hidden = net.first(torch::ones({1, 1}));
    const auto three = loss(hidden).add_(loss(hidden)).add_(loss(hidden));
    three.add(loss(net.second(hidden))).backward();
  });

  REQUIRE(report.refused.size() == 2);
  CHECK(report.refused[0].place == "after first");
  CHECK(report.refused[1].place == "after second");
}

TEST_CASE("An LSTM on a CPU is judged as CUDA would run it") {
  torch::nn::LSTM net(torch::nn::LSTMOptions(4, 4));
  const auto report = dry_run(net, [&] {
    std::get<0>(net(torch::ones({3, 2, 4}))).sum().backward();
  });

  CHECK(report.lower_operators > 0);
  CHECK(report.dtype == torch::kHalf);
  CHECK(report.parameters.at(0).is_cast);
}

TEST_CASE("A net in float64 is left alone by autocast, and gets that advice") {
  Chain net(1, 1);
  net.to(torch::kDouble);
  const auto report = dry_run(net, [&] {
    net.forward(torch::ones({1, 1}, torch::kDouble)).sum().backward();
  });

  CHECK(report.lower_operators == 0);
  CHECK(report.dtype == torch::kFloat);
}

TEST_CASE("On a CPU the advice is bfloat16, its autocast dtype") {
  Chain net(2, 3);
  const auto report = report_of(net, 1, DryRunOptions().device(torch::kCPU));

  CHECK(report.dtype == torch::kBFloat16);
  CHECK(has(report.to_text(), "for autocast on cpu"));
}

TEST_CASE("A step that autocast would leave alone gets that advice") {
  Chain net(1, 1);
  const auto report = dry_run(net, [&] { (net.first->weight * 2).sum().backward(); });

  CHECK(report.dtype == torch::kFloat);
  CHECK(report.lower_operators == 0);
}

TEST_CASE("Without a backward pass the report says that it knows no gradients") {
  Chain net(1, 1);
  const auto report = dry_run(net, [&] { net.forward(torch::ones({1, 1})); });

  CHECK_FALSE(report.saw_backward);
  CHECK(has(report.advice, "No backward pass was seen"));
  CHECK(report.parameters.at(0).gradient.count == 0);
}

TEST_CASE("NaN and inf that float32 has already are a warning, and no fault of float16") {
  Chain net(-1, 1);
  const auto report = dry_run(net, [&] {
    torch::log(net.forward(torch::ones({1, 1}))).sum().backward();
  });
  REQUIRE_FALSE(report.warnings.empty());
  CHECK(report.warnings[0] ==
        "the result of aten::log, after second, has 1 NaN, the first of the step");
  CHECK(has(report.to_text(), "wrong in float32: the result of aten::log"));

  const auto zero = dry_run(net, [&] {
    torch::sqrt(net.forward(torch::zeros({1, 1}))).sum().backward();  // gradient 1 / 0
  });
  CHECK(has(torchamp::detail::join_names(zero.warnings), "the gradient of first.weight has"));
}

TEST_CASE("A batch norm's statistics are as before, and so are gradients and training mode") {
  torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::BatchNorm1d(2));
  net->forward(torch::ones({3, 2})).sum().backward();
  auto& norm = net[1]->as<torch::nn::BatchNorm1d>()->running_mean;
  const auto mean = norm.clone();
  const auto gradient = net->parameters()[0].grad();
  const auto gradient_values = gradient.clone();
  auto* const seen = net->parameters()[0].unsafeGetTensorImpl();

  dry_run(net, [&] {
    CHECK_FALSE(net->parameters()[0].grad().defined());
    net->eval();
    net->train();
    net[1]->eval();
    net[1]->train();
    net->forward(torch::full({3, 2}, 50.0f) + torch::rand({3, 2})).sum().backward();
    CHECK_FALSE(torch::equal(norm, mean));
    net->eval();
  });

  CHECK(torch::equal(norm, mean));
  CHECK(net->buffers()[2].item<int64_t>() == 1);  // num_batches_tracked
  CHECK(net->parameters()[0].grad().is_same(gradient));
  CHECK(torch::equal(gradient, gradient_values));
  CHECK(net->is_training());
  CHECK(net[1]->is_training());
  CHECK(net->parameters()[0].unsafeGetTensorImpl() == seen);
}

TEST_CASE("Random numbers go on as if there had been no dry run") {
  Chain net(1, 1);
  torch::manual_seed(3);
  const auto expected = torch::rand({4});
  torch::manual_seed(3);

  dry_run(net, [&] {
    torch::dropout(net.forward(torch::ones({1, 1})), 0.5, /*train=*/true).sum().backward();
  });

  CHECK(torch::equal(torch::rand({4}), expected));
}

TEST_CASE("What the step throws comes through, and everything is as before") {
  torch::nn::BatchNorm1d net(2);
  const auto mean = net->running_mean.clone();

  CHECK_THROWS_WITH_AS(dry_run(net,
                               [&] {
                                 net->forward(torch::rand({3, 2}) + 5).sum().backward();
                                 throw std::runtime_error("out of data");
                               }),
                       "out of data", std::runtime_error);

  CHECK(torch::equal(net->running_mean, mean));
  CHECK_FALSE(net->weight.grad().defined());
  OperatorCounter operators;
  torch::ones({1});
  const int without = operators.more();
  torch::ones({1});
  CHECK(operators.more() == without);  // nothing of the dry run listens any more
}

TEST_CASE("Parameters in half precision are refused, and the step is not run") {
  Chain net(1, 1);
  net.second->to(torch::kHalf);
  bool ran = false;

  CHECK_ERROR(E27, dry_run(net, [&] { ran = true; }));
  CHECK_ERROR_SAYS("second.weight", dry_run(net, [&] { ran = true; }));
  CHECK_FALSE(ran);
}

TEST_CASE("A dry run inside an autocast region is refused, and the step is not run") {
  Chain net(1, 1);
  bool ran = false;
  {
    const torchamp::AutocastGuard region(torch::kCPU);
    CHECK_ERROR(E27, dry_run(net, [&] { ran = true; }));
  }
  CHECK_FALSE(ran);
}

TEST_CASE("A step with an autocast region inside is refused, and the module is as before") {
  torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::BatchNorm1d(2));
  const auto buffers = net->buffers();
  const auto mean = buffers[0].clone();

  CHECK_ERROR(E27, dry_run(net, [&] {
                const torchamp::AutocastGuard region(torch::kCPU);
                net->forward(torch::rand({3, 2}) + 7).sum().backward();
              }));

  CHECK(torch::equal(buffers[0], mean));
  CHECK_FALSE(net->parameters()[0].grad().defined());
}

TEST_CASE("A step that changes parameters is refused, and they are put back") {
  Chain net(2, 3);
  torch::optim::SGD optimizer(net.parameters(), 1.0);
  const auto step = [&] {
    net.forward(torch::ones({1, 1})).sum().backward();
    optimizer.step();
  };

  CHECK_ERROR(E27, dry_run(net, step));
  CHECK_ERROR_SAYS("first.weight", dry_run(net, step));

  CHECK(net.first->weight.item<float>() == 2);
  CHECK(net.second->weight.item<float>() == 3);
  CHECK_FALSE(net.first->weight.grad().defined());
}

TEST_CASE("Options that make no sense are refused") {
  Chain net(1, 1);
  bool ran = false;
  const auto step = [&] { ran = true; };

  CHECK_ERROR(E08, dry_run(net, step, DryRunOptions().headroom(0.5)));
  CHECK_ERROR(E08, dry_run(net, step, DryRunOptions().headroom(NAN)));
  CHECK_ERROR(E08, dry_run(net, step, DryRunOptions().tolerated_loss(1.5)));
  CHECK_ERROR(E08, dry_run(net, step, DryRunOptions().tolerated_loss(NAN)));
  CHECK_ERROR(E08, dry_run(net, step, DryRunOptions().device(torch::kMeta)));
  CHECK_FALSE(ran);
}

TEST_CASE("Sparse and complex values are measured") {
  torch::nn::Embedding words(torch::nn::EmbeddingOptions(5, 1).sparse(true));
  const auto report = dry_run(words, [&] {
    (words(torch::tensor({1, 1, 2}, torch::kLong)) * 3).sum().backward();
  });
  CHECK(report.parameters.at(0).gradient.count == 2);
  CHECK(report.parameters.at(0).gradient.largest == 6);

  Chain net(1, 1);
  const auto complex = dry_run(net, [&] {
    const auto z = torch::complex(net.first(torch::full({1, 1}, 3.0f)), torch::full({1, 1}, 4.0f));
    z.abs().sum().backward();
  });
  CHECK(complex.find("after first")->float32_activations.largest == 5);
}

TEST_CASE("Two threads can each have a dry run, and see their own step alone") {
  Chain a(1000, 1e-5);
  Chain b(2, 3);
  DryRunReport of_a;
  DryRunReport of_b;

  std::thread thread([&] {
    for (int i = 0; i < 5; ++i) of_a = report_of(a, 100);
  });
  for (int i = 0; i < 5; ++i) of_b = report_of(b, 1);
  thread.join();

  CHECK(of_a.keep_in_float32() == Names{"first"});
  CHECK(of_b.keep_in_float32().empty());
  CHECK(of_b.modules.size() == 3);  // first, second, after second
}

TEST_CASE("A dry run calls no item()") {
  Chain net(1, 1);
  HostReadCounter reads;
  report_of(net, 1);
  CHECK(reads.more() == 0);
}

TEST_CASE("The gradients found are those of the step without a dry run") {
  Chain net(2, 3);
  const auto report = report_of(net, 5);
  net.forward(torch::full({1, 1}, 5.0)).sum().backward();

  CHECK(report.parameters.at(0).gradient.largest == net.first->weight.grad().item<float>());
  CHECK(report.parameters.at(1).gradient.largest == net.second->weight.grad().item<float>());
}

TEST_CASE("A shared parameter counts once, under its first name") {
  Chain net(2, 1);
  net.second->weight = net.first->weight;
  const auto report = report_of(net, 3);

  CHECK(report.find("first")->activations.largest == 12);
  CHECK(report.find("second") == nullptr);
}
