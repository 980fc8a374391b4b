// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler.h>
#include <torchamp/core/grad_scaler_state.h>
#include <torchamp/detail/check.h>
#include <torchamp/io/iteration_check.h>
#include <torchamp/io/pickle_reader.h>
#include <torchamp/io/pickle_tree.h>
#include <torchamp/io/pickle_writer.h>
#include <torchamp/io/python_state_reader.h>
#include <torchamp/io/state_version.h>
#include <torchamp/io/zip_file.h>

#include <caffe2/serialize/inline_container.h>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <system_error>

namespace torchamp {
inline namespace v0 {

/// Reads the state of a scaler from a file that Python wrote with `torch.save(state_dict, path)`.
///
///     scaler.load_state_dict(torchamp::load_from_python("scaler.pt"));
///     scaler.load_state_dict(torchamp::load_from_python("checkpoint.pt", "scaler"));
///
/// `key` names the entry of a larger checkpoint that the state is in; "trainer.scaler" and
/// "scalers.0" lead into dicts and lists within each other. Of tensors, nothing is read but that
/// they are there. No code in the file is ever run: it may come from anyone.
/// Host sync: none.   Throws: [E17] if there is no such entry, or it is no state, with the names
/// that are there; [E18] for a file that cannot be read. Whether the numbers make sense,
/// `load_state_dict()` decides.
GradScalerState load_from_python(const std::string& path, const std::string& key = "");

/// Writes a state to a file for Python: `scaler.load_state_dict(torch.load(path))`, which needs no
/// `weights_only=False`; and for `load_from_python()`. torchamp's own part is an entry "torchamp",
/// which Python's scaler passes over; without it: `save_for_python(state.python_part(), path)`.
/// Host sync: none.   Throws: [E18] if the file cannot be written; one that was there is then as it
/// was.
void save_for_python(const GradScalerState& state, const std::string& path);

/// The same of a scaler.   Host sync: reads once scale() was called.
/// Throws: [E18] also in the middle of an iteration, as `torch::save(scaler, path)` does.
template <class LossScale>
void save_for_python(const BasicGradScaler<LossScale>& scaler, const std::string& path) {
  detail::check_between_iterations(scaler, "save_for_python()");
  save_for_python(scaler.state_dict(), path);
}

namespace detail {

/// The dict that Python's `scaler.state_dict()` would be.
inline std::string pickled(const GradScalerState& state) {
  PickleWriter pickle;
  if (state.empty) return pickle.finish();
  pickle.add("scale", state.scale);
  pickle.add("growth_factor", state.growth_factor);
  pickle.add("backoff_factor", state.backoff_factor);
  pickle.add("growth_interval", state.growth_interval);
  pickle.add("_growth_tracker", state.growth_tracker);
  if (state != state.python_part()) {
    pickle.begin_dict("torchamp");
    pickle.add("version", state_version);
    if (state.hysteresis) pickle.add("hysteresis", *state.hysteresis);
    if (state.hysteresis_tracker) pickle.add("hysteresis_tracker", *state.hysteresis_tracker);
    if (state.consecutive_hysteresis) {
      pickle.add("consecutive_hysteresis", *state.consecutive_hysteresis);
    }
    if (state.min_scale) pickle.add("min_scale", *state.min_scale);
    if (state.max_scale) pickle.add("max_scale", *state.max_scale);
    pickle.end_dict();
  }
  return pickle.finish();
}

}  // namespace detail

inline GradScalerState load_from_python(const std::string& path, const std::string& key) {
  detail::ZipFile file(path, "load_from_python");
  TORCHAMP_CHECK(E18, !file.has("constants.pkl"), file.where(),
                 " is an archive of LibTorch or TorchScript, not of Python's torch.save; read it"
                 " with torch::load(scaler, path)");
  const auto [tree, root] = detail::PickleReader::read(file.read("data.pkl"), file.where());
  const auto& entry = detail::PythonStateReader(tree, file.where()).follow(tree[root], key);
  const std::string where = file.where() + (key.empty() ? "" : ", entry " + detail::in_quotes(key));
  return detail::PythonStateReader(tree, where).read(entry);
}

inline void save_for_python(const GradScalerState& state, const std::string& path) {
  std::string bytes;
  {
    caffe2::serialize::PyTorchStreamWriter archive([&bytes](const void* data, std::size_t size) {
      bytes.append(static_cast<const char*>(data), size);
      return size;
    });
    const std::string pickle = detail::pickled(state);
    archive.writeRecord("data.pkl", pickle.data(), pickle.size());
    archive.writeEndOfFile();
  }
  // Beside it first, so that a full disk does not cost the file that is there.
  const std::string partial = path + ".partial";
  errno = 0;
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code error(file ? 0 : errno != 0 ? errno : EIO, std::generic_category());
  if (!error) std::filesystem::rename(partial, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
  }
  TORCHAMP_CHECK(E18, !error, "save_for_python(): \"", path, "\" cannot be written (",
                 error.message(), "); check that its directory is there and may be written to");
}

}  // namespace v0
}  // namespace torchamp
