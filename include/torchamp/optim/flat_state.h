// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/optim/flat_buffer.h>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// What the hooks of the parameters share: the buffers. It lives as long as any parameter, and does
/// nothing once nobody else, a FlatParameters or an optimizer, holds a flat tensor.
class FlatState {
 public:
  explicit FlatState(std::vector<FlatBuffer> buffers) : buffers_(std::move(buffers)) {}

  const std::vector<FlatBuffer>& buffers() const { return buffers_; }
  void attach() {
    for (auto& buffer : buffers_) buffer.attach();
  }

  /// True while something can step the flat tensors.
  bool in_use() const;

  /// Throws: [E23] if a parameter can no longer be a view of its buffer. Nothing has changed.
  void check() const;
  /// The same, then `FlatBuffer::settle()`.
  void settle();

  /// Before the gradient of a parameter is added to: settles, at the first one of a backward pass.
  void begin_pass();
  void note_accumulated(std::size_t buffer, std::size_t part, const at::Tensor& parameter) {
    if (!retired_) buffers_[buffer].note_accumulated(part, parameter);
  }

  bool holds(std::size_t buffer, std::size_t part, const at::Tensor& parameter) const {
    return !retired_ && buffers_[buffer].holds(part, parameter);
  }
  void release(std::size_t buffer, std::size_t part) {
    if (!retired_) buffers_[buffer].release(part);
  }

 private:
  // A backward pass runs a thread a device, any of which may be the first. Whoever is, settles all
  // buffers; from then on a thread touches those of its own device alone.
  std::mutex mutex_;
  std::atomic<int> pass_{-1};
  std::atomic<bool> retired_{false};
  std::vector<FlatBuffer> buffers_;
};

inline bool FlatState::in_use() const {
  if (retired_) return false;
  for (const auto& buffer : buffers_) {
    if (buffer.tensor().use_count() > 1) return true;
  }
  return false;
}

inline void FlatState::check() const {
  std::unordered_set<const void*> places;
  for (const auto& buffer : buffers_) {
    for (const auto& [parameter, place] : buffer.moved()) {
      const void* const data = parameter.const_data_ptr();
      bool shared = !places.insert(data).second;
      for (const auto& other : buffers_) shared = shared || other.contains(data);
      TORCHAMP_CHECK(E23, !shared, "FlatParameters: ", place,
                     " was given the memory of another parameter; tie parameters first, then make"
                     " FlatParameters and the optimizer, anew if need be");
    }
  }
}

inline void FlatState::settle() {
  check();
  for (auto& buffer : buffers_) buffer.settle();
}

inline void FlatState::begin_pass() {
  const int pass = torch::autograd::get_current_graph_task_id();
  if (pass_.load(std::memory_order_acquire) == pass && pass != -1) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (retired_ || pass_.load(std::memory_order_relaxed) == pass) return;
  if (in_use()) {
    settle();
  } else {
    retired_ = true;
    buffers_.clear();
  }
  pass_.store(pass, std::memory_order_release);
}

/// Stands in a parameter and tells its FlatState what backward does to it.
class FlatHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  FlatHook(std::shared_ptr<FlatState> state, std::size_t buffer, std::size_t part, unsigned before,
           std::unique_ptr<PostAccumulateGradHook> next)
      : state_(std::move(state)),
        buffer_(buffer),
        part_(part),
        before_(before),
        next_(std::move(next)) {}

  void operator()(const at::Tensor& parameter) override {
    state_->note_accumulated(buffer_, part_, parameter);
    if (next_) (*next_)(parameter);
  }

  /// The one that stands in `parameter`, if any.
  static FlatHook* of(const at::Tensor& parameter) {
    return dynamic_cast<FlatHook*>(torch::autograd::impl::post_acc_grad_hooks(parameter).get());
  }

  /// True if the parameter is stepped by way of a flat tensor.
  bool is_active(const at::Tensor& parameter) const {
    return state_->in_use() && state_->holds(buffer_, part_, parameter);
  }

  /// Puts hooks into the parameters of `state`, in place of those of an earlier one.
  static void attach(const std::shared_ptr<FlatState>& state);

 private:
  std::shared_ptr<FlatState> state_;
  std::size_t buffer_;
  std::size_t part_;
  unsigned before_;  // the hook that begins the pass
  std::unique_ptr<PostAccumulateGradHook> next_;
};

inline void FlatHook::attach(const std::shared_ptr<FlatState>& state) {
  for (std::size_t b = 0; b < state->buffers().size(); ++b) {
    for (std::size_t i = 0; i < state->buffers()[b].size(); ++i) {
      const at::Tensor parameter = state->buffers()[b].parameter(i);
      auto next = std::move(torch::autograd::impl::post_acc_grad_hooks(parameter));
      if (auto* const old = dynamic_cast<FlatHook*>(next.get())) {
        old->state_->release(old->buffer_, old->part_);
        parameter.remove_hook(old->before_);
        auto rest = std::move(old->next_);
        next = std::move(rest);
      }
      const unsigned before =
          parameter.register_hook([state](const at::Tensor&) { state->begin_pass(); });
      torch::autograd::impl::set_post_acc_grad_hooks(
          parameter, std::make_unique<FlatHook>(state, b, i, before, std::move(next)));
    }
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
