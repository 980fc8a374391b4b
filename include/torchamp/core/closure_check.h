// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/detail/check.h>

#include <c10/util/Type.h>

#include <type_traits>
#include <typeinfo>

namespace torchamp {
inline namespace v0 {
namespace detail {

inline constexpr char closure_cure[] =
    "the gradients that a closure makes would reach the optimizer scaled and unchecked. Compute the"
    " loss, call scale(loss).backward(), then step(optimizer); an optimizer that must have a"
    " closure, as LBFGS, trains without a scaler, in float32 or bfloat16";

inline void check_no_closure(bool scaling) {
  TORCHAMP_CHECK(E19, !scaling, "step(): called with a closure while scaling is on; ",
                 closure_cure);
}

/// Throws: [E19] for torch::optim::LBFGS, also seen through a reference to its base. It is known by
/// its name, since the header of LibTorch that has it costs more to compile than all of torchamp.
template <class Optimizer>
void check_needs_no_closure([[maybe_unused]] Optimizer& optimizer) {
  if constexpr (std::is_polymorphic_v<Optimizer>) {
    TORCHAMP_CHECK(E19, c10::demangle(typeid(optimizer).name()) != "torch::optim::LBFGS",
                   "step(): LBFGS needs a closure, which cannot be had while scaling is on; ",
                   closure_cure);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
