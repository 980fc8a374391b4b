// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/optim/master_copies.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// The entry that masters are in an optimizer's archive, which readers of the rest pass over.
inline constexpr char masters_key[] = "torchamp_master_weights";

/// Adds the masters to an archive, bit for bit.
inline void write_masters(torch::serialize::OutputArchive& archive, const MasterCopies& copies) {
  torch::serialize::OutputArchive part(archive.compilation_unit());
  c10::List<int64_t> sizes;
  for (std::size_t group = 0; group < copies.groups(); ++group) {
    sizes.push_back(static_cast<int64_t>(copies.size_of(group)));
  }
  part.write("sizes", c10::IValue(sizes));
  const auto& masters = copies.masters();
  for (std::size_t i = 0; i < masters.size(); ++i) {
    if (copies.is_copy(i)) part.write(std::to_string(i), masters[i], /*is_buffer=*/true);
  }
  archive.write(masters_key, part);
}

/// The masters in an archive, one for each of `copies`, undefined where there is none; empty if the
/// archive is that of a plain optimizer.
/// Throws: [E24] for other groups or shapes than those of `copies`.
inline std::vector<at::Tensor> read_masters(torch::serialize::InputArchive& archive,
                                            const MasterCopies& copies) {
  torch::serialize::InputArchive part;
  if (!archive.try_read(masters_key, part)) return {};
  c10::IValue value;
  TORCHAMP_CHECK(E24, part.try_read("sizes", value) && value.isIntList(),
                 "load(): the masters in the archive are damaged; write it again with save()");
  const auto sizes = value.toIntVector();
  TORCHAMP_CHECK(E24, sizes.size() == copies.groups(), "load(): the archive has ", sizes.size(),
                 " parameter groups, and this optimizer ", copies.groups(),
                 "; make it over the same groups as the one that was saved");
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    TORCHAMP_CHECK(E24, sizes[group] == static_cast<int64_t>(copies.size_of(group)),
                   "load(): group ", group, " of the archive has ", sizes[group],
                   " parameters, and that of this optimizer ", copies.size_of(group),
                   "; make it over the same groups as the one that was saved");
  }
  std::vector<at::Tensor> masters(copies.masters().size());
  for (std::size_t i = 0; i < masters.size(); ++i) {
    if (!part.try_read(std::to_string(i), masters[i], /*is_buffer=*/true)) continue;
    TORCHAMP_CHECK(E24, masters[i].sizes() == copies.masters()[i].sizes(),
                   "load(): the master of parameter ", i, " in the archive has the shape ",
                   masters[i].sizes(), ", and the parameter ", copies.masters()[i].sizes(),
                   "; load it into an optimizer of the same model");
  }
  return masters;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
