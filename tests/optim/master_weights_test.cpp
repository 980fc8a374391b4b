// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

#include <torchamp/optim/master_weights.h>

#include "support/doctest.h"
int unused_yet = 0;
template class torchamp::MasterWeights<torch::optim::AdamW>;
template class torchamp::MasterWeights<torch::optim::SGD>;
TEST_CASE("x"){ torchamp::MasterWeights<torch::optim::SGD> o(std::vector<torch::Tensor>{torch::ones({1},torch::kHalf)}, 0.1); o.step(); }
