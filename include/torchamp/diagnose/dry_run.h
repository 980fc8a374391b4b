// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>
#include <torchamp/diagnose/dry_run_report.h>
#include <torchamp/diagnose/dry_run_verdict.h>
#include <torchamp/diagnose/kept_state.h>
#include <torchamp/diagnose/operator_scope.h>
#include <torchamp/diagnose/range_observer.h>

#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {

namespace detail {

/// The module that a module, a holder or a pointer is about.
template <class ModuleLike>
torch::nn::Module& module_in(ModuleLike& module) {
  if constexpr (std::is_base_of_v<torch::nn::Module, ModuleLike>) {
    return module;
  } else {
    return *module;
  }
}

inline void check_dry_run(const torch::nn::Module& module, const DryRunOptions& options) {
  TORCHAMP_CHECK(E08, at::autocast::is_autocast_available(options.device()),
                 "dry_run(): autocast is not available on ", options.device(),
                 "; name the device that the training will be on");
  TORCHAMP_CHECK(E08, options.headroom() >= 1 && options.headroom() <= float16_largest,
                 "dry_run(): the headroom is ", options.headroom(), "; it is from 1 to 65504");
  TORCHAMP_CHECK(E08, options.tolerated_loss() >= 0 && options.tolerated_loss() <= 1,
                 "dry_run(): the tolerated loss is ", options.tolerated_loss(),
                 "; it is a share from 0 to 1");
  const auto check_device = [](c10::DeviceType device) {
    TORCHAMP_CHECK(
        E27,
        !at::autocast::is_autocast_available(device) || !at::autocast::is_autocast_enabled(device),
        "dry_run(): autocast is on for ", device,
        "; a dry run is in float32, so call it outside the region");
  };
  check_device(c10::kCPU);
  check_device(options.device());
  for (const auto& item : module.named_parameters()) {
    const at::Tensor& parameter = item.value();
    check_device(parameter.device().type());
    TORCHAMP_CHECK(E27, !parameter.is_floating_point() || parameter.element_size() >= 4,
                   "dry_run(): parameter \"", item.key(), "\" is ", parameter.scalar_type(),
                   "; a dry run is in float32, so call module->to(torch::kFloat) before");
  }
}

}  // namespace detail

/// Runs `step()`, which does a forward pass of `module` in float32, the loss and its backward pass,
/// and says what of it float16 could not hold: which modules to keep in float32 and why, what a
/// scale does to the gradients, which operators an autocast region refuses.
///
///     auto report = torchamp::dry_run(net, [&] {
///       F::cross_entropy(net->forward(data), target).backward();
///     });
///     std::cout << report;
///
/// Modules are named as they are registered, by the parameters that operators take. An operator
/// without parameters belongs to the scope that the user named (RECORD_USER_SCOPE), or else stands
/// "after conv2". What autocast runs in float32 anyway is known, and not complained of.
///
/// The module is afterwards as it was: parameters, gradients (absent while the step runs), buffers,
/// training mode, also if the step throws; so are the random generators of the CPU and of its
/// devices, so that what follows draws what it would have drawn. The step must leave optimizers
/// alone, as their state is not known here.
///
/// Host sync: two reads for each device, at the end, and what the step does itself; sparse
/// gradients are coalesced. Threads: sees the calling thread and what its backward pass uses. Costs
/// a pass over each result on a CPU, about thirty small operators for each on other devices, and a
/// copy of the parameters.
/// Throws: [E27] if a parameter is in half precision, autocast is on, or the step turns it on or
/// changes a parameter; [E08] for an option; and what `step` throws. The module is as before.
/// Caveats: one batch is one sample of what training will see. A tensor that the step converts with
/// `to(torch::kFloat)` was float32 already, and cannot be told from one that it did not convert.
/// Nor is a FullPrecisionGuard in the step seen, as no region is on: what is named may be in one
/// already.
template <class ModuleLike, class Step>
DryRunReport dry_run(ModuleLike&& module, Step&& step, const DryRunOptions& options = {}) {
  torch::nn::Module& root = detail::module_in(module);
  detail::check_dry_run(root, options);
  const auto parameters = root.named_parameters();
  const auto observer = std::make_shared<detail::RangeObserver>(parameters, options.device());

  const detail::KeptState kept(root);
  {
    const OperatorScope scope(observer);
    std::forward<Step>(step)();
  }
  if (observer->failure()) std::rethrow_exception(observer->failure());
  TORCHAMP_CHECK(E27, observer->in_autocast().empty(), "dry_run(): the step ran ",
                 observer->in_autocast(),
                 " in an autocast region; a dry run is in float32, so leave AutocastGuard out");
  const auto changed = kept.changed_parameter();
  TORCHAMP_CHECK(E27, !changed, "dry_run(): the step changed parameter \"", changed.value_or(""),
                 "\", which was put back; leave optimizer.step() out");

  auto& readings = observer->readings();
  const auto measure = [&readings](const at::Tensor& tensor) {
    return detail::has_range(tensor) ? std::optional(readings.add(tensor)) : std::nullopt;
  };
  std::vector<std::pair<std::optional<std::size_t>, std::optional<std::size_t>>> measured;
  for (const auto& item : parameters) {
    measured.emplace_back(measure(item.value()), measure(item.value().grad()));
  }
  const auto ranges = std::move(readings).read();
  const auto range_of = [&ranges](std::optional<std::size_t> reading) {
    return reading ? ranges[*reading] : ValueRange{};
  };

  detail::DryRunVerdict verdict(options);
  for (const auto& seen : observer->observations()) verdict.add(seen, ranges[seen.reading]);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const std::string& name = parameters[i].key();
    verdict.add({name, range_of(measured[i].first), range_of(measured[i].second),
                 observer->cast_parameters().count(name) > 0},
                detail::module_with(name));
  }
  for (const auto& [op, place] : observer->refused()) verdict.add_refused(op, place);
  return verdict.finish(observer->saw_backward(), observer->lower_operators());
}

}  // namespace v0
}  // namespace torchamp
