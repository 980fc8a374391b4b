// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

// A type without param_groups() cannot be unscaled, so it cannot be stepped.
// expect: step.. takes an optimizer

#include <torchamp/core/grad_scaler.h>

#include <vector>

namespace step_of_no_optimizer_types {
struct Group {
  std::vector<at::Tensor> parameters;
  const std::vector<at::Tensor>& params() const { return parameters; }
};
struct Optimizer {
  std::vector<Group> groups;
  std::vector<Group>& param_groups() { return groups; }
  void step() {}
};
struct NoOptimizer {
  void step() {}
};
}  // namespace step_of_no_optimizer_types

void step_of_no_optimizer();
void step_of_no_optimizer() {
  torchamp::GradScaler scaler;
  step_of_no_optimizer_types::Optimizer optimizer;
  scaler.step(optimizer);
#ifndef TORCHAMP_RIGHT_WAY
  step_of_no_optimizer_types::NoOptimizer no_optimizer;
  scaler.step(no_optimizer);
#endif
}
