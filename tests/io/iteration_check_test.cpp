// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/io/iteration_check.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <vector>

TEST_CASE("A scaler may be saved between iterations only, and the caller is named") {
  const auto parameter = torch::ones({1}).requires_grad_();
  torch::optim::SGD optimizer(std::vector<torch::Tensor>{parameter}, /*lr=*/1.0);
  torchamp::GradScaler scaler;
  const auto check = [&] { torchamp::detail::check_between_iterations(scaler, "save()"); };

  CHECK_NOTHROW(check());
  scaler.scale(parameter.sum()).backward();
  CHECK_NOTHROW(check());
  scaler.unscale_(optimizer);
  CHECK_ERROR(E18, check());
  CHECK_ERROR_SAYS("save(): the scaler is in the middle of an iteration", check());
  scaler.step(optimizer);
  CHECK_ERROR(E18, check());
  scaler.update();
  CHECK_NOTHROW(check());
}
