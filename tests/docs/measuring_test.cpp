// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// The C++ of docs/measuring.md, which tools/doc_snippets.py copies from between the markers here.
// [includes]
#include <torchamp/bench/compare.h>
#include <torchamp/report/report_html.h>
#include <torchamp/report/report_text.h>
#include <torchamp/torchamp.h>
// [end]

#include "support/doctest.h"
#include "support/scratch_folder.h"

#include <torch/torch.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// What the page takes as given: a model with what trains it; the scaler is off without AMP.
struct Training {
  Training(torch::Device device, bool amp)
      : scaler(torchamp::GradScalerOptions().enabled(amp && device.is_cuda())) {
    model->to(device);
  }
  torch::Tensor loss_of(const torch::Tensor& batch) { return model->forward(batch).pow(2).mean(); }

  torch::nn::Linear model{4, 2};
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.1)};
  torchamp::GradScaler scaler;
};

/// What is written to std::cout while this lives.
class Cout {
 public:
  Cout() : old_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Cout() { std::cout.rdbuf(old_); }
  Cout(const Cout&) = delete;
  Cout& operator=(const Cout&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* old_;
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("measuring.md: a comparison, as text and as a page") {
  const ScratchFolder folder;
  const auto html_file = folder.path() / "report.html";
  const torch::Device device = torch::kCPU;
  torch::Tensor batch;
  const auto next_batch = [] { return torch::ones({3, 4}); };
  std::string printed;
  {
    const Cout cout;

    // [compare]
    const auto make_step = [&](bool amp) {
      auto training = std::make_shared<Training>(device, amp);  // model, optimizer, scaler
      return [=, &batch](torchamp::StepContext& context) {
        training->optimizer.zero_grad();
        torch::Tensor loss;
        {
          const auto forward = context.phase("forward");
          const torchamp::AutocastGuard autocast(device, torchamp::AutocastOptions().enabled(amp));
          loss = training->loss_of(batch);
        }
        context.phase("backward", [&] { training->scaler.scale(loss).backward(); });
        context.phase("optimizer", [&] {
          training->scaler.step(training->optimizer);
          training->scaler.update();
        });
        context.watch(training->scaler);
        return loss.detach();
      };
    };

    torchamp::Compare compare(device, torchamp::CompareOptions().rounds(50).prepare(
                                          [&](int64_t) { batch = next_batch(); }));
    compare.add_float32([&] { return make_step(false); });
    compare.add("AMP", [&] { return make_step(true); });

    const torchamp::Report report = compare.run();
    torchamp::write_text(report, std::cout);
    std::ofstream page(html_file);
    torchamp::write_html(report, page);
    // [end]

    printed = cout.text();
  }
  CHECK(has(printed, "AMP / FP32"));
  CHECK(has(printed, "forward"));
  CHECK(has(ScratchFolder::read(html_file), "</html>"));
}

TEST_CASE("measuring.md: a timer alone") {
  const torch::Device device = torch::kCPU;
  const std::vector<torch::Tensor> batches(5, torch::ones({3, 4}));  // three are the warm-up
  const auto* loader = &batches;
  Training training(device, false);
  const auto loss_of = [&](const torch::Tensor& batch) { return training.loss_of(batch); };
  const Cout cout;

  // [timer]
  torchamp::Timer timer(device);  // laps of phases, by events of the device where it has them
  for (auto& batch : *loader) {
    const auto step = timer.phase("step");  // a lap, to the end of its scope
    auto loss = timer.lap("forward", [&] { return loss_of(batch); });
    timer.lap("backward", [&] { loss.backward(); });
  }
  for (const auto& phase : timer.phases()) {  // here, and not before, the host waits
    std::cout << phase.path << "  " << phase.median_seconds << " s\n";
  }
  // [end]

  CHECK(has(cout.text(), "step/forward  "));
  CHECK(has(cout.text(), "step/backward  "));
}
