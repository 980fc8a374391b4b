// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/operator_name.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace torchamp {
inline namespace v0 {

/// What an autocast region does with an operator.
enum class AutocastPolicy {
  LowerPrecision,  ///< casts its inputs to the region's dtype: matrix products and convolutions
  Float32,         ///< casts its inputs to float32: most losses, norms, exp, log, softmax
  Widest,          ///< casts its inputs to the widest dtype among them
  Unchanged,       ///< lets it run in the dtype of its inputs
  Refused,         ///< throws
};

namespace detail {

// LibTorch's header has the operators of each policy as lists, (name) or (name, overload). Only
// the names are needed, so an overload is cut off below.
#define TORCHAMP_AUTOCAST_NAME(...) std::string_view(#__VA_ARGS__),
inline constexpr std::string_view lower_precision_operators[] = {
    AT_FORALL_LOWER_PRECISION_FP(TORCHAMP_AUTOCAST_NAME)
    // On CPUs alone, and in no list of the header:
    std::string_view("_addmm_activation"),
    std::string_view("mkldnn_rnn_layer"), std::string_view("_native_multi_head_attention"),
    // On CUDA alone:
    std::string_view("cudnn_convolution"), std::string_view("cudnn_convolution_transpose"),
    std::string_view("_cudnn_rnn")};
inline constexpr std::string_view widest_operators[] = {AT_FORALL_PROMOTE(TORCHAMP_AUTOCAST_NAME)
                                                        // In no list of the header:
                                                        std::string_view("cat"),
                                                        std::string_view("stack"),
                                                        std::string_view("index_copy")};
#undef TORCHAMP_AUTOCAST_NAME

template <class List>
bool names_operator(const List& list, std::string_view name) {
  return std::any_of(std::begin(list), std::end(list), [name](std::string_view entry) {
    return entry.substr(0, entry.find(',')) == name;
  });
}

/// True if autocast decides about the operator, of whichever library; it is off for those that this
/// one calls.
inline bool has_autocast_kernel(const c10::OperatorName& op, c10::DeviceType device) {
  if (!at::autocast::is_autocast_available(device)) return false;
  const auto key = at::autocast::get_autocast_dispatch_key_from_device_type(device);
  const auto handle = c10::Dispatcher::singleton().findOp(op);
  return handle && handle->hasKernelForDispatchKey(key);
}

}  // namespace detail

/// What an autocast region for devices of this type does with an operator ("aten::mm", "out"),
/// according to the LibTorch that this program runs with; the device need not be there.
/// Operators that are in no list, and those of other libraries, of which it cannot be known, are
/// `Unchanged`.
/// Host sync: none.
inline AutocastPolicy autocast_policy(const c10::OperatorName& op, c10::DeviceType device) {
  if (op.name.compare(0, 6, "aten::") != 0) return AutocastPolicy::Unchanged;
  // A CPU's LSTM, in the place of _cudnn_rnn, which CUDA would run.
  if (op.name == "aten::mkldnn_rnn_layer" && device == c10::kCUDA) {
    return AutocastPolicy::LowerPrecision;
  }
  if (!detail::has_autocast_kernel(op, device)) return AutocastPolicy::Unchanged;
  const std::string_view name = std::string_view(op.name).substr(op.name.find("::") + 2);
  // The one operator that autocast refuses; CPUs run it in float32.
  if (name == "binary_cross_entropy" && device != c10::kCPU) return AutocastPolicy::Refused;
  if (detail::names_operator(detail::lower_precision_operators, name)) {
    return AutocastPolicy::LowerPrecision;
  }
  if (detail::names_operator(detail::widest_operators, name)) return AutocastPolicy::Widest;
  return AutocastPolicy::Float32;
}

}  // namespace v0
}  // namespace torchamp
