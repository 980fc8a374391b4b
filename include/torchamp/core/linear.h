// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/autocast.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/linear.h>
#include <c10/core/Device.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <memory>
#include <optional>
#include <ostream>

namespace torchamp {
inline namespace v0 {

/// `torch::nn::Linear` whose weight an autocast region casts once, however often it is used.
///
/// torch::nn::Linear hands autocast a transposed view of its weight, and views are not cached: each
/// use casts the weight anew. This one calls at::linear, as Python does. Outside regions it
/// computes bit for bit what torch::nn::Linear does. It is a torch::nn::Linear: the same options,
/// parameters and archives, and `module.as<torch::nn::Linear>()` finds it.
///
///     torchamp::Linear linear(784, 10);
///     auto output = linear(input);
///
/// It pays where a region uses a weight more than once: recurrent and weight-sharing models,
/// several forward passes in one region. Before LibTorch 2.11 the region has to ask for the cache,
/// with `AutocastOptions().cache_enabled(true)`; "Casts without history" in core/autocast.h has the
/// reason.
class LinearImpl : public torch::nn::LinearImpl {
 public:
  using torch::nn::LinearImpl::LinearImpl;

  /// `input` is (..., in_features), the result (..., out_features).   Host sync: none.
  at::Tensor forward(const at::Tensor& input);

  /// A deep copy, on `device` if given. Parameters keep whether they need gradients.
  std::shared_ptr<torch::nn::Module> clone(
      const std::optional<c10::Device>& device = std::nullopt) const override;

  void pretty_print(std::ostream& stream) const override;
};

/// Shared ownership of a LinearImpl, as LibTorch's modules have it (TORCH_MODULE).
class Linear : public torch::nn::ModuleHolder<LinearImpl> {
 public:
  using torch::nn::ModuleHolder<LinearImpl>::ModuleHolder;
  using Impl = LinearImpl;
};

inline at::Tensor LinearImpl::forward(const at::Tensor& input) {
  if (!detail::is_autocasting(input.device().type())) {
    return torch::nn::LinearImpl::forward(input);
  }
  return at::linear(input, weight, bias);
}

inline std::shared_ptr<torch::nn::Module> LinearImpl::clone(
    const std::optional<c10::Device>& device) const {
  const c10::AutoGradMode no_grad(false);
  auto copy = std::make_shared<LinearImpl>(options);
  const auto originals = named_parameters(/*recurse=*/false);
  for (auto& parameter : copy->named_parameters(/*recurse=*/false)) {
    const auto& original = originals[parameter.key()];
    const bool moves = device && original.device() != *device;
    parameter.value().set_data(moves ? original.to(*device) : original.clone());
    parameter.value().set_requires_grad(original.requires_grad());
  }
  copy->train(is_training());
  return copy;
}

inline void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << "torchamp::Linear(in_features=" << options.in_features()
         << ", out_features=" << options.out_features() << ", bias=" << std::boolalpha
         << options.bias() << ")";
}

}  // namespace v0
}  // namespace torchamp
