// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/torchamp.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <limits>
#include <vector>

// Everything here needs a CUDA device; ctest skips the suite, with the reason, where there is none.
TEST_SUITE_BEGIN("cuda");

namespace {

const torch::Device cuda(torch::kCUDA, 0);

}  // namespace

TEST_CASE("On CUDA the default device is the GPU and autocast casts to float16") {
  CHECK(torchamp::default_device().is_cuda());
  torchamp::AutocastGuard autocast(cuda);
  const auto matrix = torch::ones({8, 8}, cuda);

  CHECK(torch::mm(matrix, matrix).scalar_type() == torch::kHalf);
}

TEST_CASE("On CUDA a step is taken, an overflowing one skipped, and the scale follows") {
  auto parameter = torch::full({1}, 10.0, torch::device(cuda).requires_grad(true));
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  torchamp::GradScaler scaler(
      torchamp::GradScalerOptions().init_scale(4).growth_interval(1).backoff_factor(0.25));
  const auto train = [&](float factor) {
    optimizer.zero_grad();
    scaler.scale((parameter * factor).sum()).backward();
    const bool taken = scaler.step(optimizer).taken();
    scaler.update();
    return taken;
  };

  CHECK(train(1));
  CHECK(scaler.scale_tensor().is_cuda());
  CHECK(parameter.item<float>() == 9);
  CHECK(scaler.get_scale() == 8);
  CHECK_FALSE(train(std::numeric_limits<float>::infinity()));
  CHECK(parameter.item<float>() == 9);
  CHECK(scaler.get_scale() == 2);
}

TEST_CASE("On CUDA bfloat16 gradients are unscaled, and an inf among them is found") {
  auto parameter =
      torch::ones({4}, torch::device(cuda).dtype(torch::kBFloat16).requires_grad(true));
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, 1.0);
  torchamp::GradScaler scaler(torchamp::GradScalerOptions().init_scale(4));
  scaler.scale(parameter.sum()).backward();

  scaler.unscale_(optimizer);
  CHECK(parameter.grad().eq(1).all().item<bool>());
  CHECK(scaler.step(optimizer).taken());
  scaler.update();

  parameter.mutable_grad().fill_(std::numeric_limits<float>::infinity());
  CHECK(scaler.step(optimizer).skipped());
}

TEST_CASE("On CUDA the memory probe reports exact live bytes and the allocator's own figures") {
  torchamp::MemoryProbe probe(cuda);

  const auto tensor = torch::empty({1 << 20}, torch::device(cuda).dtype(torch::kByte));

  CHECK(probe.usage().live_bytes >= 1 << 20);
  REQUIRE(probe.usage().peak_allocated_bytes.has_value());
  CHECK(*probe.usage().peak_reserved_bytes >= *probe.usage().peak_allocated_bytes);
}

TEST_CASE("On CUDA a lap contains the work that was queued in it") {
  const auto matrix = torch::ones({2048, 2048}, cuda);
  torchamp::Timer timer(cuda, torchamp::TimerOptions().warmup(1));
  const auto multiply = [&] {
    for (int i = 0; i < 20; ++i) torch::mm(matrix, matrix);
  };

  timer.lap(multiply);
  timer.lap(multiply);

  // 20 products of 2048 x 2048 matrices take more than 0.1 ms on any GPU of today.
  CHECK(timer.laps().front() > 1e-4);
}

TEST_CASE(
    "On CUDA phases are timed by events, which agree with a clock that waits for the device") {
  const auto matrix = torch::ones({2048, 2048}, cuda);
  torchamp::Timer by_events(cuda, torchamp::TimerOptions().warmup(0));
  torchamp::Timer by_clock(cuda, torchamp::TimerOptions().warmup(0).device_events(false));
  torch::mm(matrix, matrix);

  by_clock.lap([&] {
    const auto step = by_events.phase("step");
    by_events.lap("forward", [&] {
      for (int i = 0; i < 20; ++i) torch::mm(matrix, matrix);
    });
  });

  const double forward = by_events.phase_times("step/forward").total_seconds;
  CHECK(forward > 1e-4);
  CHECK(forward <= by_events.phase_times("step").total_seconds);
  CHECK(by_events.phase_times("step").total_seconds <= by_clock.laps().front());
}

TEST_CASE("On CUDA the operator that made a block is told, and the cast of a region is one") {
  const auto matrix = torch::ones({256, 256}, cuda);
  torchamp::MemoryProbe probe(cuda, torchamp::MemoryProbeOptions().largest(1).operators(true));

  const auto half = matrix.to(torch::kHalf);

  REQUIRE(probe.usage().largest.size() == 1);
  CHECK(probe.usage().largest[0].bytes == 256 * 256 * 2);
  CHECK(probe.usage().largest[0].operator_name == "aten::_to_copy");
}

TEST_SUITE_END();
