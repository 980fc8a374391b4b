// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler.h>
#include <torchamp/detail/check.h>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Throws: [E18] in the middle of an iteration, of which a state knows nothing.
template <class LossScale>
void check_between_iterations(const BasicGradScaler<LossScale>& scaler, const char* caller) {
  TORCHAMP_CHECK(E18, scaler.between_iterations(), caller,
                 ": the scaler is in the middle of an iteration, and cannot be saved between"
                 " unscale_() or step() and update(); save it after update()");
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
