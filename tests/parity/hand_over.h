// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/grad_scaler.h>
#include <torchamp/io/python_state.h>

#include <torch/torch.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace parity {

using Optimizers = std::vector<std::unique_ptr<torch::optim::Optimizer>>;

/// Calls `function(optimizer, parameter)` for each parameter that SGD keeps momentum for.
template <class Function>
void for_each_with_momentum(const Optimizers& optimizers, Function&& function) {
  for (const auto& optimizer : optimizers) {
    for (const auto& group : optimizer->param_groups()) {
      const auto& options = static_cast<const torch::optim::SGDOptions&>(group.options());
      if (options.momentum() == 0) continue;
      for (const auto& parameter : group.params()) function(*optimizer, parameter);
    }
  }
}

/// Goes on from `path`, which Python's torch.save wrote:
/// {"scaler": state_dict, "parameters": [tensor…], "momentum": [tensor…]}
inline void load_checkpoint(const std::filesystem::path& path, torchamp::GradScaler& scaler,
                            const std::vector<torch::Tensor>& parameters,
                            const Optimizers& optimizers) {
  scaler.load_state_dict(torchamp::load_from_python(path.string(), "scaler"));

  std::ifstream file(path, std::ios::binary);
  const auto checkpoint =
      torch::pickle_load({std::istreambuf_iterator<char>(file), {}}).toGenericDict();
  const torch::NoGradGuard no_grad;
  const auto values = checkpoint.at("parameters").toListRef().vec();
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(values.at(i).toTensor());
  const auto momentum = checkpoint.at("momentum").toListRef().vec();
  std::size_t next = 0;
  for_each_with_momentum(optimizers, [&](auto& optimizer, const torch::Tensor& parameter) {
    auto state = std::make_unique<torch::optim::SGDParamState>();
    state->momentum_buffer(momentum.at(next++).toTensor());
    optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
  });
}

/// A tensor that Python's torch.load(weights_only=True) reads: alone in its file, since lists and
/// dicts that C++ pickles carry type tags, which are refused there.
inline void save_tensor(const std::filesystem::path& path, const torch::Tensor& tensor) {
  const std::vector<char> bytes = torch::pickle_save(tensor.detach());
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Writes NAME.scaler.pt, NAME.parameter0.pt…, NAME.momentum0.pt… for Python to go on from.
inline void save_checkpoint(const std::filesystem::path& folder, const std::string& name,
                            const torchamp::GradScaler& scaler,
                            const std::vector<torch::Tensor>& parameters,
                            const Optimizers& optimizers) {
  torchamp::save_for_python(scaler.state_dict(), (folder / (name + ".scaler.pt")).string());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    save_tensor(folder / (name + ".parameter" + std::to_string(i) + ".pt"), parameters[i]);
  }
  std::size_t next = 0;
  for_each_with_momentum(optimizers, [&](auto& optimizer, const torch::Tensor& parameter) {
    const auto& state = static_cast<const torch::optim::SGDParamState&>(
        *optimizer.state().at(parameter.unsafeGetTensorImpl()));
    save_tensor(folder / (name + ".momentum" + std::to_string(next++) + ".pt"),
                state.momentum_buffer());
  });
}

}  // namespace parity
