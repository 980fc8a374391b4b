// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Remembers a module's parameters, gradients, buffers and training mode, and the state of the
/// random generators of its devices and of the CPU, and puts them back when it ends, also when that
/// is by an exception. Meanwhile the parameters have no gradients.
///
/// Their version counters stay, so that a graph which was made before can still go backward.
/// Host sync: none. Costs a copy of the parameters and buffers. Knows nothing of an optimizer.
class KeptState {
 public:
  [[nodiscard]] explicit KeptState(torch::nn::Module& module);
  ~KeptState();

  // It is the state of one module, put back once.
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;
  KeptState(KeptState&&) = delete;
  KeptState& operator=(KeptState&&) = delete;

  /// The name of a parameter whose values were changed or replaced since, if there is one.
  /// Host sync: one read for each device but a CPU.
  std::optional<std::string> changed_parameter() const;

 private:
  struct Kept {
    std::string name;
    at::Tensor tensor;   // the module's own
    at::Tensor storage;  // over the memory that it had
    at::Tensor values;   // a copy
    at::Tensor gradient;

    bool is_replaced() const { return tensor.has_storage() && !tensor.is_alias_of(storage); }
    void put_back() const;
  };
  struct Random {
    at::Generator generator;
    at::Tensor state;
  };

  void keep(const std::string& name, const at::Tensor& tensor, bool is_parameter);
  void keep_random(c10::Device device);

  std::vector<Kept> parameters_;
  std::vector<Kept> buffers_;
  std::vector<Random> random_;
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> training_;
};

inline KeptState::KeptState(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  keep_random(c10::kCPU);
  for (const auto& item : module.named_parameters()) keep(item.key(), item.value(), true);
  for (const auto& item : module.named_buffers()) keep(item.key(), item.value(), false);
  // The module itself may stand on the stack: a pointer that owns nothing.
  training_.emplace_back(std::shared_ptr<torch::nn::Module>(std::shared_ptr<void>(), &module),
                         module.is_training());
  for (const auto& child : module.modules(/*include_self=*/false)) {
    training_.emplace_back(child, child->is_training());
  }
  // Last, since nothing must be changed if one of the above throws.
  for (const Kept& kept : parameters_) kept.tensor.mutable_grad() = at::Tensor();
}

inline void KeptState::keep(const std::string& name, const at::Tensor& tensor, bool is_parameter) {
  if (!tensor.defined()) return;
  auto& list = is_parameter ? parameters_ : buffers_;
  list.push_back({name, tensor, tensor.detach(), tensor.detach().clone(),
                  is_parameter ? tensor.grad() : at::Tensor()});
  keep_random(tensor.device());
}

inline void KeptState::keep_random(c10::Device device) {
  if (!device.is_cpu() && !device.is_cuda() && !device.is_xpu() && !device.is_mps()) return;
  const at::Generator generator = at::globalContext().defaultGenerator(device);
  for (const Random& kept : random_) {
    if (kept.generator == generator) return;
  }
  at::Generator mine = generator;
  const std::lock_guard<std::mutex> lock(mine.mutex());
  random_.push_back({generator, generator.get_state()});
}

inline std::optional<std::string> KeptState::changed_parameter() const {
  // Version counters do not tell: LibTorch's optimizers step `data()`, which has one of its own.
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> same;
  for (const Kept& kept : parameters_) {
    if (kept.is_replaced() || kept.tensor.sizes() != kept.values.sizes()) return kept.name;
    const at::Tensor both_nan =
        kept.tensor.ne(kept.tensor).logical_and_(kept.values.ne(kept.values));
    same.push_back(kept.tensor.eq(kept.values).logical_or_(both_nan).all());
  }
  std::vector<char> is_read(same.size());
  for (std::size_t first = 0; first < same.size(); ++first) {
    if (is_read[first] != 0) continue;
    std::vector<std::size_t> which;  // those of one device
    std::vector<at::Tensor> together;
    for (std::size_t i = first; i < same.size(); ++i) {
      if (same[i].device() != same[first].device()) continue;
      is_read[i] = 1;
      which.push_back(i);
      together.push_back(same[i]);
    }
    const at::Tensor read = at::stack(together).cpu();
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (!read.const_data_ptr<bool>()[i]) return parameters_[which[i]].name;
    }
  }
  return std::nullopt;
}

inline void KeptState::Kept::put_back() const {
  if (is_replaced()) tensor.set_data(storage);
  tensor.data().copy_(values);
}

inline KeptState::~KeptState() {
  const at::NoGradGuard no_grad;
  const auto attempt = [](const auto& restore) {
    try {
      restore();
    } catch (const std::exception& error) {
      TORCH_WARN("torchamp: dry_run(): the model's state cannot be put back: ", error.what());
    }
  };
  for (const auto* list : {&parameters_, &buffers_}) {
    for (const Kept& kept : *list) attempt([&] { kept.put_back(); });
  }
  for (const Kept& kept : parameters_) {
    attempt([&] { kept.tensor.mutable_grad() = kept.gradient; });
  }
  // From the outside in, since a module sets its children too.
  for (const auto& kept : training_) {
    attempt([&] {
      if (kept.first->is_training() != kept.second) kept.first->train(kept.second);
    });
  }
  for (Random& kept : random_) {
    attempt([&] {
      const std::lock_guard<std::mutex> lock(kept.generator.mutex());
      kept.generator.set_state(kept.state);
    });
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
