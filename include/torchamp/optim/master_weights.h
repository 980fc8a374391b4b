// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/amp_optimizer.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>
#include <torchamp/optim/master_archive.h>
#include <torchamp/optim/master_copies.h>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/optim/optimizer.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Trains a model whose parameters are float16 or bfloat16 as if they were float32: `Inner` steps
/// float32 masters of them, in which updates add up that are too small for half precision, and
/// each step ends with the masters rounded into the parameters.
///
///     model->to(torch::kHalf);  // before the optimizer is made
///     torchamp::MasterWeights<torch::optim::AdamW> optimizer(model->parameters(), options);
///     …
///     optimizer.zero_grad();
///     scaler.scale(loss).backward();
///     scaler.step(optimizer);  // without a scaler, as in bfloat16: optimizer.step()
///     scaler.update();
///
/// `param_groups()` are the model's own parameters, with the options of `Inner`: zero_grad(),
/// learning-rate schedulers, and groups that are added later work as ever. Float32 and float64
/// parameters among them are stepped as they are. Gradients are copied to float32 before they are
/// unscaled, so that nothing underflows.
///
/// To clip, take the masters, anew in each iteration; the model's gradients are not those that
/// count:
///
///     scaler.unscale_(optimizer);  // with a scaler, also a disabled one
///     torch::nn::utils::clip_grad_norm_(optimizer.master_parameters(), 1.0);
///
/// The masters are the truth. If the parameters are changed by hand, or loaded, the next step is
/// refused [E24] until `refresh_masters()` or `refresh_parameters()` says which of them counts.
///
/// Memory, bytes a parameter: 2 and 2 for its gradient, 4 for the master, the state of `Inner`
/// (8 for Adam), and 4 for the master's gradient, which lives only from unscaling to the end of
/// the step. Threads: one at a time.
template <class Inner>
class MasterWeights : public torch::optim::Optimizer, public AmpOptimizer {
  static_assert(std::is_base_of_v<torch::optim::Optimizer, Inner>,
                "torchamp: MasterWeights<Inner> takes an optimizer, such as torch::optim::AdamW");
  static_assert(detail::has_step<Inner>,
                "torchamp: MasterWeights<Inner> takes an optimizer whose step() needs no closure,"
                " as that of LBFGS does");

 public:
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  /// For these groups, or parameters; all else goes to `Inner`, as its options do.
  template <class... Arguments>
  explicit MasterWeights(const Groups& groups, Arguments&&... arguments)
      : Optimizer(Groups(), nullptr),
        inner_(groups_of_masters(groups), std::forward<Arguments>(arguments)...) {
    defaults_ = inner_.defaults().clone();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      add_param_group({groups[i].params(), inner_.param_groups()[i].options().clone()});
    }
  }
  template <class... Arguments>
  explicit MasterWeights(std::vector<at::Tensor> parameters, Arguments&&... arguments)
      : MasterWeights(Groups{torch::optim::OptimizerParamGroup(std::move(parameters))},
                      std::forward<Arguments>(arguments)...) {}

  /// Steps the masters, with the gradients as they were unscaled or clipped, else with the model's;
  /// then writes the parameters. A closure is called once, and its gradients are used.
  /// Host sync: as `Inner`.   Throws: [E24] if a parameter was changed by hand, or a gradient since
  /// it was unscaled; what `Inner` throws.
  at::Tensor step(LossClosure closure = nullptr) override;

  /// The masters, in the order of the parameters, with gradients in float32: for clipping, and for
  /// looking at. Parameters that are not half precision stand for themselves. After changing the
  /// values of a master call `refresh_parameters()`.
  /// Host sync: none.   Throws: [E24] if backward() was called after unscale_().
  std::vector<at::Tensor> master_parameters();

  /// Takes the parameters as they are for the masters' values: after the model was loaded, or
  /// changed by hand. What the masters had beyond half precision is lost.   Host sync: none.
  void refresh_masters();

  /// Writes the masters into the parameters, as a step does.   Host sync: none.
  void refresh_parameters();

  /// The optimizer of the masters, for its state. Its options are those of `param_groups()`.
  Inner& inner() { return inner_; }
  const Inner& inner() const { return inner_; }

  /// An archive of `Inner`, which a plain `Inner` loads too, and the masters, bit for bit.
  /// Throws: [E24] if a parameter was changed by hand.
  void save(torch::serialize::OutputArchive& archive) const override;

  /// Goes on exactly from what `save()` wrote: options, state and masters, from which the
  /// parameters are then written. In an archive of a plain `Inner`, or for a parameter that was
  /// not half precision, there is no master: it is read from the parameter, so load the model
  /// first. Throws: [E24] for an archive of other groups, shapes or another optimizer; nothing has
  /// changed.
  void load(torch::serialize::InputArchive& archive) override;

  bool has_master_weights() const override { return true; }
  /// For the scaler: makes the masters' gradients.   Throws: [E24] if a parameter was changed.
  std::vector<at::Tensor> parameters_to_unscale() override;
  /// As `Inner` does.
  bool decides_on_device() const override {
    const auto* const inner = detail::as_amp_optimizer(inner_);
    return inner != nullptr && inner->decides_on_device();
  }
  /// Host sync: as `Inner`, to be none.   Throws: [E20] if `Inner` cannot do it; as `step()`.
  void step_unless(const at::Tensor& found_inf, const at::Tensor& grad_scale) override;

 private:
  /// Whether the masters have gradients, and whether a scaler may have divided them.
  enum class Stage { WithoutGradients, WithGradients, WithAScaler };

  Groups groups_of_masters(const Groups& groups);
  void follow(const char* caller) const;
  void settle_gradients(const char* caller);
  void finish_step();
  void load_inner(torch::serialize::InputArchive& archive);

  // Both follow `param_groups()`, which LibTorch lets anyone change, when they are needed: mutable
  // for save().
  mutable MasterCopies copies_;
  mutable Inner inner_;
  Stage stage_ = Stage::WithoutGradients;
};

template <class Inner>
at::Tensor MasterWeights<Inner>::step(LossClosure closure) {
  follow("step()");
  copies_.check_parameters("step()");
  at::Tensor loss;
  if (closure) {
    loss = inner_.step([&] {
      at::Tensor made = closure();
      copies_.make_gradients();
      return made;
    });
  } else {
    settle_gradients("step()");
    loss = inner_.step();
  }
  finish_step();
  return loss;
}

template <class Inner>
void MasterWeights<Inner>::step_unless(const at::Tensor& found_inf, const at::Tensor& grad_scale) {
  TORCHAMP_CHECK(E20, decides_on_device(),
                 "MasterWeights: step_unless() was called, and its optimizer does not decide on"
                 " the device; call step()");
  follow("step()");
  copies_.check_parameters("step()");
  settle_gradients("step()");
  detail::as_amp_optimizer(inner_)->step_unless(found_inf, grad_scale);
  finish_step();  // masters that did not move are written too, since the host does not know
}

template <class Inner>
std::vector<at::Tensor> MasterWeights<Inner>::parameters_to_unscale() {
  follow("MasterWeights");
  copies_.check_parameters("MasterWeights");
  // Gradients that the masters have already may be clipped, or unscaled as a range of parameters.
  // Those of a step that was skipped must not be taken again.
  if (stage_ != Stage::WithGradients || copies_.gradient_change() != MasterCopies::Change::Same) {
    copies_.make_gradients();
  }
  stage_ = Stage::WithAScaler;
  return copies_.masters();
}

template <class Inner>
std::vector<at::Tensor> MasterWeights<Inner>::master_parameters() {
  follow("master_parameters()");
  settle_gradients("master_parameters()");
  return copies_.masters();
}

template <class Inner>
void MasterWeights<Inner>::refresh_masters() {
  follow("refresh_masters()");
  copies_.read_parameters();
}

template <class Inner>
void MasterWeights<Inner>::refresh_parameters() {
  follow("refresh_parameters()");
  copies_.write_parameters();
}

template <class Inner>
void MasterWeights<Inner>::save(torch::serialize::OutputArchive& archive) const {
  follow("save()");
  copies_.check_parameters("save()");
  inner_.save(archive);
  detail::write_masters(archive, copies_);
}

template <class Inner>
void MasterWeights<Inner>::load(torch::serialize::InputArchive& archive) {
  follow("load()");
  const auto saved = detail::read_masters(archive, copies_);
  load_inner(archive);
  for (std::size_t i = 0; i < param_groups_.size(); ++i) {
    param_groups_[i].set_options(inner_.param_groups()[i].options().clone());
  }
  copies_.read_parameters();  // for those that have no master in the archive
  copies_.set_masters(saved);
  finish_step();
}

template <class Inner>
typename MasterWeights<Inner>::Groups MasterWeights<Inner>::groups_of_masters(
    const Groups& groups) {
  copies_.follow(groups, "MasterWeights");
  Groups result;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    result.emplace_back(copies_.masters(i));
    if (groups[i].has_options()) result.back().set_options(groups[i].options().clone());
  }
  return result;
}

template <class Inner>
void MasterWeights<Inner>::follow(const char* caller) const {
  copies_.follow(param_groups_, caller);
  auto& groups = inner_.param_groups();
  while (groups.size() > param_groups_.size()) groups.pop_back();
  for (std::size_t i = 0; i < param_groups_.size(); ++i) {
    if (i == groups.size()) inner_.add_param_group(std::vector<at::Tensor>());
    groups[i].params() = copies_.masters(i);
    groups[i].set_options(param_groups_[i].options().clone());
  }
}

/// Sees to it that the masters have the gradients to step with.
template <class Inner>
void MasterWeights<Inner>::settle_gradients(const char* caller) {
  using Change = MasterCopies::Change;
  if (stage_ != Stage::WithoutGradients) {
    const auto change = copies_.gradient_change();
    if (change == Change::Same) return;
    TORCHAMP_CHECK(
        E24, stage_ != Stage::WithAScaler || change != Change::Accumulated, caller,
        ": the gradients of the parameters have changed since the scaler unscaled them;"
        " call unscale_() after the last backward(), and clip the gradients of"
        " master_parameters(), not those of the model; after a skipped step, zero_grad()");
  }
  copies_.make_gradients();
  stage_ = Stage::WithGradients;
}

template <class Inner>
void MasterWeights<Inner>::finish_step() {
  copies_.write_parameters();
  copies_.drop_gradients();
  stage_ = Stage::WithoutGradients;
}

/// The state is then that of the archive alone; LibTorch would keep what the archive does not have.
template <class Inner>
void MasterWeights<Inner>::load_inner(torch::serialize::InputArchive& archive) {
  std::decay_t<decltype(inner_.state())> state;
  state.swap(inner_.state());
  try {
    inner_.load(archive);
  } catch (const std::exception& error) {
    inner_.state().swap(state);
    const auto* const known = dynamic_cast<const c10::Error*>(&error);
    TORCHAMP_CHECK(E24, false, "load(): the archive does not fit the optimizer: ",
                   known != nullptr ? known->what_without_backtrace() : error.what());
  }
}

}  // namespace v0
}  // namespace torchamp
