// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <c10/macros/Export.h>

// As in ATen/autocast_mode.h, which alone would double what GradScaler's header costs to compile.
namespace at {
namespace autocast {
TORCH_API void clear_cache();
}  // namespace autocast
}  // namespace at

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Calls `step`, which changes weights, and drops the casts of them that autocast has cached, also
/// if it throws: a forward pass in the same region then sees the new weights.
template <class Step>
void run_step(const Step& step) {
  struct DropCasts {
    ~DropCasts() { at::autocast::clear_cache(); }
  } const drop_casts;
  step();
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
