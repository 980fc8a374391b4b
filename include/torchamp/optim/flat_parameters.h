// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/nested.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/optim/flat_buffer.h>
#include <torchamp/optim/flat_layout.h>
#include <torchamp/optim/flat_state.h>

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// True for ranges of torch::optim::OptimizerParamGroup.
template <class T, class = void>
inline constexpr bool is_group_range = false;
template <class T>
inline constexpr bool
    is_group_range<T, std::void_t<decltype(std::begin(std::declval<T&>())->has_options())>> = true;

/// Groups as an optimizer has them.
template <class Groups>
struct GroupOwner {
  Groups& groups;
  Groups& param_groups() { return groups; }
};

}  // namespace detail

/// Puts the parameters of a model, and their gradients, into one piece of memory each, so that an
/// optimizer, a GradScaler, clipping and zero_grad() work on one tensor, however many there are.
///
///     torchamp::FlatParameters flat(model->parameters());
///     torch::optim::AdamW optimizer(flat.parameters(), options);
///     torchamp::GradScaler scaler;
///     … the loop as it was …
///
/// The module's parameters stay the tensors that they were, with their names and shapes; their
/// memory is part of the flat tensor's, the memory of their gradients part of its gradient.
/// Backward writes there. torch::save, torch::load, autocast, clone() see no difference.
///
/// Use it where a model has many small parameters, or on a GPU. Do not where parameters are added,
/// moved or frozen in the course of training: `module->to()` to another device or dtype, and
/// freezing, come before; afterwards the next backward pass refuses them [E23], and FlatParameters
/// and the optimizer are to be made anew.
///
///  - A parameter that backward does not reach has a gradient of zero rather than none, once it
///    reaches any other of its buffer: momentum and weight decay still move it.
///  - Parameters that do not require gradients are left out, and stay as they are.
///  - Options of an optimizer are those of a group, and its state, and what it saves, is of flat
///    tensors: it can be loaded over the same parameters, made flat in the same order.
///  - To unscale or clip, pass the optimizer or `flat.parameters()`. `optimizer.zero_grad()` drops
///    the flat gradient; that the parameters' are dropped with it shows at the next backward pass.
///    `model->zero_grad()` likewise; a step before that pass would take the old gradients.
///  - A gradient that is assigned to a parameter, rather than changed in place, is seen from the
///    next backward pass on, or from `refresh()`.
///  - Autograd no longer notices that a step changed parameters that a later backward() needs as
///    they were: that is an error elsewhere, and wrong gradients here.
///
/// It may be destroyed before the model and the optimizer. Making it needs the parameters' memory
/// twice, until it is made.   Threads: one backward pass at a time.
class FlatParameters {
 public:
  /// `Parameters` is a range of tensors, as `model->parameters()` or, with names for the messages,
  /// `model->named_parameters()`; or of torch::optim::OptimizerParamGroup, as
  /// `optimizer.param_groups()`. The same tensor twice is one. Gradients that are there are kept.
  /// Host sync: none.
  /// Throws: [E22] if there is nothing to train, or for a parameter that is no leaf, not strided,
  /// in two groups, in a FlatParameters already, or shares memory with another; nothing has
  /// changed.
  template <class Parameters,
            std::enable_if_t<!std::is_base_of_v<FlatParameters, std::decay_t<Parameters>>, int> = 0>
  explicit FlatParameters(Parameters&& parameters);

  /// The flat tensors, leaves that require gradients: one for each group, device and dtype.
  std::vector<at::Tensor> parameters() const;

  /// As many groups as there were, with their options, over flat tensors; a group whose parameters
  /// are all frozen is empty. One group without options if there were none.
  std::vector<torch::optim::OptimizerParamGroup> param_groups() const;

  /// How many elements the parameters have. The flat tensors are a little larger, since each
  /// parameter begins at a multiple of 64 bytes; what lies between is zero and stays it.
  int64_t numel() const { return handle_->numel; }

  /// Whether all parameters can still be served; every backward pass asks that first.
  /// Host sync: none.   Throws: [E23] for one that has another dtype, device or shape than it had,
  /// the memory of another one, or was frozen.
  void check() const { handle_->state->check(); }

  /// Takes up at once what the next backward pass would: memory that torch::load gave to
  /// parameters, gradients that were assigned or dropped.   Host sync: none.   Throws: as
  /// `check()`.
  void refresh() { handle_->state->settle(); }

 private:
  struct Handle {
    std::shared_ptr<detail::FlatState> state;
    std::vector<torch::optim::OptimizerParamGroup> groups;
    int64_t numel = 0;
  };

  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  template <class Owner>
  static std::shared_ptr<const Handle> make(Owner& owner, Groups groups);

  std::shared_ptr<const Handle> handle_;
};

template <class Parameters,
          std::enable_if_t<!std::is_base_of_v<FlatParameters, std::decay_t<Parameters>>, int>>
FlatParameters::FlatParameters(Parameters&& parameters) {
  using Bare = std::remove_reference_t<Parameters>;
  if constexpr (detail::is_group_range<Bare>) {
    Groups groups;
    for (const auto& given : parameters) {
      auto& group = groups.emplace_back(std::vector<at::Tensor>());
      if (given.has_options()) group.set_options(given.options().clone());
    }
    detail::GroupOwner<Bare> owner{parameters};
    handle_ = make(owner, std::move(groups));
  } else if constexpr (detail::is_parameter_range<Bare>) {
    Groups groups;
    groups.emplace_back(std::vector<at::Tensor>());
    handle_ = make(parameters, std::move(groups));
  } else {
    static_assert(detail::never<Bare>,
                  "torchamp: FlatParameters takes a range of parameters, as model->parameters(), or"
                  " of groups, as optimizer.param_groups()");
  }
}

template <class Owner>
std::shared_ptr<const FlatParameters::Handle> FlatParameters::make(Owner& owner, Groups groups) {
  const auto layout = detail::FlatLayout::of(owner);
  auto handle = std::make_shared<Handle>();
  std::vector<detail::FlatBuffer> buffers;
  for (const auto& planned : layout.buffers()) {
    buffers.emplace_back(planned.device, planned.dtype, planned.parameters);
    groups[planned.group].params().push_back(buffers.back().tensor());
    for (const auto& placed : planned.parameters) handle->numel += placed.tensor.numel();
  }
  handle->groups = std::move(groups);
  handle->state = std::make_shared<detail::FlatState>(std::move(buffers));
  handle->state->attach();
  detail::FlatHook::attach(handle->state);
  return handle;
}

inline std::vector<at::Tensor> FlatParameters::parameters() const {
  std::vector<at::Tensor> tensors;
  for (const auto& group : handle_->groups) {
    tensors.insert(tensors.end(), group.params().begin(), group.params().end());
  }
  return tensors;
}

inline std::vector<torch::optim::OptimizerParamGroup> FlatParameters::param_groups() const {
  return handle_->groups;
}

}  // namespace v0
}  // namespace torchamp
