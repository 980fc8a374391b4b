// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// Calls `visit(tensor)` for the defined tensor that a value is, or for each in the list that it
/// is.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {  // of tensors, of optional ones, or of something else
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor() && item.toTensor().defined()) visit(item.toTensor());
    }
  }
}

/// The same for all of an operator's arguments or results.
template <class Values, class Visit>
void for_each_tensor_in(const Values& values, const Visit& visit) {
  for (const c10::IValue& value : values) for_each_tensor(value, visit);
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
