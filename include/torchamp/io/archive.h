// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/io/iteration_check.h>
#include <torchamp/io/state_archive.h>

#include <torch/serialize/archive.h>

namespace torchamp {
inline namespace v0 {

/// A scaler in LibTorch's own files, alone or as a part of a larger archive:
///
///     torch::save(scaler, "scaler.pt");
///     torch::load(scaler, "scaler.pt");
///
///     torch::serialize::OutputArchive checkpoint, part;
///     part << scaler;
///     checkpoint.write("scaler", part);
///
/// What is written is `scaler.state_dict()`. A disabled scaler writes that it has no state. LibTorch
/// reads the file before torchamp sees it: load archives from people you trust, others with
/// `load_from_python()`.
/// Host sync: reads once scale() was called.   Throws: [E18] in the middle of an iteration, when
/// the state alone would not be enough to go on.
template <class LossScale>
torch::serialize::OutputArchive& operator<<(torch::serialize::OutputArchive& archive,
                                            const BasicGradScaler<LossScale>& scaler) {
  detail::check_between_iterations(scaler, "torch::save()");
  return archive << scaler.state_dict();
}

/// Reads what the operator above wrote, and goes on from there as `load_state_dict()` does.
/// Host sync: none.   Throws: [E17] for an archive that holds no state of a scaler, or one that
/// does not fit this scaler, and what LibTorch throws for a file that it cannot read. The scaler
/// has not changed.
template <class LossScale>
torch::serialize::InputArchive& operator>>(torch::serialize::InputArchive& archive,
                                           BasicGradScaler<LossScale>& scaler) {
  GradScalerState state;
  archive >> state;
  scaler.load_state_dict(state);
  return archive;
}

}  // namespace v0
}  // namespace torchamp
