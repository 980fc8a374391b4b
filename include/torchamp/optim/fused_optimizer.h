// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/amp_optimizer.h>
#include <torchamp/core/run_step.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/copy_to.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/optim/fused_check.h>
#include <torchamp/optim/fused_tensors.h>
#include <torchamp/optim/step_count.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <c10/core/TensorImpl.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

namespace detail {

/// What a fused optimizer remembers of a parameter, as most do; a kernel adds `fused`, `moments()`
/// and `run()`, and what it does in another way.
template <class StockOptimizer, class StockOptions, class StockState>
struct FusedKernel {
  using Optimizer = StockOptimizer;
  using Options = StockOptions;
  using State = StockState;

  /// Whether moments are saved that no step has changed yet.
  static constexpr bool saves_unfilled = true;

  static bool remembers(const Options& /*options*/) { return true; }
  static bool first_step_differs(const Options& /*options*/) { return false; }
  static at::Tensor new_moment(const at::Tensor& parameter, const Options& /*options*/) {
    return at::zeros_like(parameter);
  }
  static int64_t steps(const State& state) { return state.step(); }
  static void set_steps(State& state, int64_t steps) { state.step(steps); }
};

}  // namespace detail

/// What the fused optimizers share. Use FusedAdam, FusedAdamW, FusedSGD or FusedAdagrad.
///
/// Each is the optimizer of torch::optim of that name, with its options, param groups, learning
/// rate schedulers and archives, which the two can exchange at any time, but a step is one operator
/// for all parameters of a group, device and dtype (on a CPU one for each thread, where the tensors
/// are small). Through a GradScaler, steps are skipped on the
/// device: the host reads nothing.
///
/// A parameter that stands there twice, as tied weights do in `model->parameters()`, is stepped
/// once, as Python's are; the stock optimizer steps it twice.
///
/// `Kernel` says which operator, and what it remembers of a parameter.
template <class Kernel>
class FusedOptimizer : public Kernel::Optimizer, public AmpOptimizer {
 public:
  using Kernel::Optimizer::Optimizer;
  using typename Kernel::Optimizer::LossClosure;
  using Options = typename Kernel::Options;  // those of the stock optimizer

  /// A step with true gradients. Casts cached by autocast are dropped, so that a forward pass in
  /// the same region sees the new weights.   Host sync: none, but for what `closure` does.
  /// Throws: [E26] for a parameter that the operator cannot step, before any has changed.
  torch::Tensor step(LossClosure closure = nullptr) override;

  bool decides_on_device() const override { return true; }
  /// The gradients are divided by `grad_scale` too, unless the step is skipped; one with other
  /// strides than its parameter's is replaced by a copy for that.
  void step_unless(const at::Tensor& found_inf, const at::Tensor& grad_scale) override;

  /// Brings the number of steps in `state()` up to date; `save()` does it too.
  /// Host sync: one read for each parameter.
  void read_steps() const;

  /// Host sync: as `read_steps()`.
  void save(torch::serialize::OutputArchive& archive) const override;

 protected:
  /// The stock state and, beside it, the count of steps, which the stock one holds on the host.
  struct State : Kernel::State {
    State() = default;
    explicit State(typename Kernel::State&& stock) : Kernel::State(std::move(stock)) {}
    /// Host sync: one read.
    int64_t steps_taken() const { return count->steps.template item<int64_t>(); }
    /// Host sync: one read.
    std::unique_ptr<torch::optim::OptimizerParamState> clone() const override {
      auto copy = std::make_unique<typename Kernel::State>(*this);
      Kernel::set_steps(*copy, steps_taken());
      return copy;
    }

    detail::SharedStepCount count;
  };

 private:
  /// A parameter that has a gradient.
  struct Item {
    const at::Tensor& parameter;
    const Options& options;
    State* state;  // null if the operator remembers nothing
  };

  using NewCounts = detail::NewStepCounts;

  void drop_unfilled();
  std::vector<Item> items_to_step();
  State& state_of(const at::Tensor& parameter, const Options& options, NewCounts& counts);
  static std::vector<std::pair<const Options*, detail::FusedTensors>> lists_of(
      const std::vector<Item>& items, bool divides);
};

template <class Kernel>
torch::Tensor FusedOptimizer<Kernel>::step(LossClosure closure) {
  torch::Tensor loss;
  if (closure) {
    const c10::AutoGradMode with_grad(true);
    loss = closure();
  }
  step_unless(at::Tensor(), at::Tensor());
  return loss;
}

template <class Kernel>
void FusedOptimizer<Kernel>::step_unless(const at::Tensor& found_inf,
                                         const at::Tensor& grad_scale) {
  const c10::AutoGradMode no_grad(false);
  const auto items = items_to_step();
  std::vector<detail::SharedStepCount*> counts;
  for (const auto& item : items) {
    if (item.state != nullptr) counts.push_back(&item.state->count);
  }
  detail::count_step(counts, found_inf);

  const auto on = [](const at::Tensor& number, c10::Device device) {
    return number.defined() ? detail::copy_to(number, device) : number;
  };
  detail::run_step([&] {
    for (const auto& [options, tensors] : lists_of(items, grad_scale.defined())) {
      const auto& group_options = *options;
      const auto device = tensors.key().device;
      tensors.run(on(grad_scale, device), on(found_inf, device),
                  [&](const detail::FusedLists& lists) { Kernel::run(group_options, lists); });
    }
  });
  if (!found_inf.defined()) {
    for (auto* const count : counts) (*count)->is_above_zero = true;
  }
}

template <class Kernel>
std::vector<typename FusedOptimizer<Kernel>::Item> FusedOptimizer<Kernel>::items_to_step() {
  std::unordered_set<const c10::TensorImpl*> seen;
  detail::for_each_parameter(*this, [&](const at::Tensor& parameter, const auto& place) {
    if (!parameter.grad().defined()) return;
    detail::check_can_be_fused(parameter, Kernel::fused, place);
    seen.insert(parameter.unsafeGetTensorImpl());
  });
  std::vector<Item> items;
  items.reserve(seen.size());
  NewCounts counts;
  for (auto& group : this->param_groups()) {
    const auto& options = static_cast<const Options&>(group.options());
    for (const auto& parameter : group.params()) {
      if (seen.erase(parameter.unsafeGetTensorImpl()) == 0) continue;  // no gradient, or had it
      State* const state =
          Kernel::remembers(options) ? &state_of(parameter, options, counts) : nullptr;
      items.push_back({parameter, options, state});
    }
  }
  return items;
}

template <class Kernel>
typename FusedOptimizer<Kernel>::State& FusedOptimizer<Kernel>::state_of(
    const at::Tensor& parameter, const Options& options, NewCounts& counts) {
  auto& known = this->state_[parameter.unsafeGetTensorImpl()];
  auto* state = dynamic_cast<State*>(known.get());
  if (state == nullptr) {
    // New, or a stock state, as loading an archive leaves behind.
    auto* const stock = dynamic_cast<typename Kernel::State*>(known.get());
    auto made =
        stock != nullptr ? std::make_unique<State>(std::move(*stock)) : std::make_unique<State>();
    made->count = counts.share(parameter.device(), Kernel::steps(*made));
    state = made.get();
    known = std::move(made);
  }
  for (at::Tensor* const moment : Kernel::moments(*state, options)) {
    if (moment == nullptr || detail::is_laid_out_as(*moment, parameter)) continue;
    TORCHAMP_CHECK(E26, !moment->defined() || moment->sizes() == parameter.sizes(),
                   Kernel::fused.optimizer, ": the state of a parameter of shape ",
                   parameter.sizes(), " has shape ", moment->sizes(),
                   "; load an archive that was saved for the same parameters in the same order");
    at::Tensor made = Kernel::new_moment(parameter, options);
    if (moment->defined()) made.copy_(*moment);
    *moment = made;
  }
  return *state;
}

template <class Kernel>
std::vector<std::pair<const typename Kernel::Options*, detail::FusedTensors>>
FusedOptimizer<Kernel>::lists_of(const std::vector<Item>& items, bool divides) {
  std::vector<std::pair<const Options*, detail::FusedTensors>> lists;
  for (const auto& item : items) {
    at::Tensor gradient = item.parameter.grad();
    // The operators walk the memory of all tensors of a parameter alike.
    if (!detail::is_laid_out_as(gradient, item.parameter)) {
      gradient = at::empty_like(item.parameter).copy_(gradient);
      if (divides) item.parameter.mutable_grad() = gradient;
    }
    auto* const count = item.state != nullptr ? item.state->count.get() : nullptr;
    const detail::FusedTensors::Key key{item.parameter.device(), item.parameter.scalar_type(),
                                        detail::FusedTensors::is_small(item.parameter),
                                        Kernel::first_step_differs(item.options) ? count : nullptr};
    auto found = lists.rbegin();  // items come group by group
    while (found != lists.rend() && !(found->second.key() == key)) ++found;
    if (found == lists.rend() || found->first != &item.options) {
      lists.emplace_back(&item.options, key);
      found = lists.rbegin();
    }
    const auto moments = item.state != nullptr ? Kernel::moments(*item.state, item.options)
                                               : std::array<at::Tensor*, 3>{};
    found->second.add(item.parameter, std::move(gradient), moments, count);
  }
  return lists;
}

template <class Kernel>
void FusedOptimizer<Kernel>::read_steps() const {
  for (const auto& [parameter, state] : this->state()) {
    auto* const fused = dynamic_cast<State*>(state.get());
    if (fused != nullptr) Kernel::set_steps(*fused, fused->steps_taken());
  }
}

template <class Kernel>
void FusedOptimizer<Kernel>::save(torch::serialize::OutputArchive& archive) const {
  read_steps();
  // They are made again when they are needed, so that nobody can tell that they were dropped.
  if constexpr (!Kernel::saves_unfilled) const_cast<FusedOptimizer*>(this)->drop_unfilled();
  Kernel::Optimizer::save(archive);
}

template <class Kernel>
void FusedOptimizer<Kernel>::drop_unfilled() {
  auto& states = this->state();
  for (auto it = states.begin(); it != states.end();) {
    auto* const state = dynamic_cast<State*>(it->second.get());
    it = state != nullptr && state->steps_taken() == 0 ? states.erase(it) : std::next(it);
  }
}

}  // namespace v0
}  // namespace torchamp
