// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <torchamp/core/unscaled_gradients.h>
#include <torchamp/detail/check.h>
#include <torchamp/detail/parameters.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/Device.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>
#include <c10/util/strides.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace torchamp {
inline namespace v0 {
namespace detail {

/// A parameter and where its range has it.
struct PlacedParameter {
  at::Tensor tensor;
  ParameterPlace place;
};

/// Parameters of one device and dtype side by side in a flat tensor, and their gradients side by
/// side in another, which is the first one's gradient. Each part begins at a multiple of 64 bytes;
/// what lies between is zero. The parameters are known, not kept alive.
class FlatBuffer {
 public:
  /// Copies values and gradients, and changes no parameter.
  FlatBuffer(c10::Device device, at::ScalarType dtype, std::vector<PlacedParameter> parameters);
  /// Makes the parameters, and their gradients, views.
  void attach();

  const at::Tensor& tensor() const { return tensor_; }
  std::size_t size() const { return parts_.size(); }
  /// Undefined if it lives no more, or was released.
  at::Tensor parameter(std::size_t i) const { return parameter_of(parts_[i]); }
  /// From now on parameter `i` is none of this buffer's.
  void release(std::size_t i) { parts_[i].released = true; }
  /// True if parameter `i` stands where it was put.
  bool holds(std::size_t i, const at::Tensor& parameter) const;
  /// True if `data` is an address in the parameters.
  bool contains(const void* data) const;

  /// The parameters that were given other memory of the same kind, as torch::load does it.
  /// Throws: [E23] for one that can no longer be a view.
  std::vector<PlacedParameter> moved() const;

  /// Before a backward pass: takes the moved parameters back, and brings the gradients of both
  /// sides, the flat tensor's and the parameters', together. What zero_grad() dropped on one side
  /// is zero; what was put there by hand is copied.
  void settle();

  /// After a backward pass has changed the gradient of parameter `i`.
  void note_accumulated(std::size_t i, const at::Tensor& parameter);

 private:
  struct Part {
    WeakTensor parameter;
    ParameterPlace place;
    int64_t offset;                     // in elements
    std::vector<int64_t> strides;       // of the parameter in its part
    at::Tensor gradient;                // a view
    std::optional<WeakTensor> apart{};  // a gradient with a graph; the view has its values
    bool released = false;
  };
  enum class Kind { NoGradient, View, Apart, Other };
  // Bytes that take less time to copy than an operator takes to be called.
  static constexpr std::size_t at_once = 32'768;

  static at::Tensor parameter_of(const Part& part);
  static bool is_view(const at::Tensor& gradient, const at::Tensor& view);
  static Kind kind_of(const at::Tensor& gradient, const Part& part);
  static void copy_values(const at::Tensor& gradient, Part& part);
  static at::Tensor view(const at::Tensor& buffer, const Part& part, at::IntArrayRef sizes);
  const void* data(const Part& part) const;
  void check(const Part& part, const at::Tensor& parameter) const;
  void take_back(const Part& part, const at::Tensor& parameter) const;
  void put(Part& part, const at::Tensor& parameter) const;

  at::Tensor tensor_;
  at::Tensor gradient_;
  std::vector<Part> parts_;
};

inline FlatBuffer::FlatBuffer(c10::Device device, at::ScalarType dtype,
                              std::vector<PlacedParameter> parameters) {
  const c10::AutoGradMode no_grad(false);
  const auto aligned = int64_t{64} / static_cast<int64_t>(c10::elementSize(dtype));
  int64_t end = 0;
  for (auto& [parameter, place] : parameters) {
    const auto contiguous = c10::contiguous_strides(parameter.sizes());
    const at::IntArrayRef strides = parameter.is_non_overlapping_and_dense()
                                        ? parameter.strides()
                                        : at::IntArrayRef(contiguous);
    parts_.push_back({WeakTensor(parameter.getIntrusivePtr()), std::move(place), end, strides.vec(),
                      at::Tensor()});
    end += (parameter.numel() + aligned - 1) / aligned * aligned;
  }
  tensor_ = at::zeros({end}, at::TensorOptions().device(device).dtype(dtype));
  gradient_ = at::zeros_like(tensor_);
  bool has_gradients = false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const at::Tensor& parameter = parameters[i].tensor;
    view(tensor_, parts_[i], parameter.sizes()).copy_(parameter);
    parts_[i].gradient = view(gradient_, parts_[i], parameter.sizes());
    if (!parameter.grad().defined()) continue;
    copy_values(parameter.grad(), parts_[i]);
    has_gradients = true;
  }
  tensor_.requires_grad_();
  if (has_gradients) tensor_.mutable_grad() = gradient_;
}

inline void FlatBuffer::attach() {
  for (auto& part : parts_) {
    const at::Tensor parameter = parameter_of(part);
    parameter.set_data(view(tensor_, part, parameter.sizes()));
    if (tensor_.grad().defined()) put(part, parameter);
  }
}

inline at::Tensor FlatBuffer::parameter_of(const Part& part) {
  return part.released ? at::Tensor() : at::Tensor(part.parameter.lock());
}

inline const void* FlatBuffer::data(const Part& part) const {
  return static_cast<const char*>(tensor_.const_data_ptr()) +
         part.offset * static_cast<int64_t>(tensor_.element_size());
}

inline bool FlatBuffer::holds(std::size_t i, const at::Tensor& parameter) const {
  return parameter.layout() == c10::kStrided && parameter.const_data_ptr() == data(parts_[i]);
}

inline bool FlatBuffer::contains(const void* data) const {
  const auto* const begin = static_cast<const char*>(tensor_.const_data_ptr());
  const std::less<const void*> before;
  return !before(data, begin) && before(data, begin + tensor_.nbytes());
}

/// A tensor over one part of `buffer`, whose memory it keeps alive. Its storage is its own, for
/// torch::save writes the whole storage of each tensor; and it is no view to autograd.
inline at::Tensor FlatBuffer::view(const at::Tensor& buffer, const Part& part,
                                   at::IntArrayRef sizes) {
  auto* const begin = static_cast<char*>(buffer.mutable_data_ptr()) +
                      part.offset * static_cast<int64_t>(buffer.element_size());
  return at::from_blob(
      begin, sizes, part.strides, [memory = buffer.storage()](void*) {},
      at::TensorOptions().device(buffer.device()).dtype(buffer.scalar_type()), buffer.device());
}

inline void FlatBuffer::check(const Part& part, const at::Tensor& parameter) const {
  const bool same =
      parameter.layout() == c10::kStrided && parameter.scalar_type() == tensor_.scalar_type() &&
      parameter.device() == tensor_.device() && parameter.sizes() == part.gradient.sizes();
  TORCHAMP_CHECK(E23, same, "FlatParameters: ", part.place, " was ", tensor_.scalar_type(),
                 part.gradient.sizes(), " on ", tensor_.device(), " and is ",
                 parameter.scalar_type(), parameter.sizes(), " on ", parameter.device(),
                 ", as after module->to(); move the model first, then make FlatParameters and the"
                 " optimizer, anew if need be");
  TORCHAMP_CHECK(E23, parameter.requires_grad(), "FlatParameters: ", part.place,
                 " requires gradients no more, and its optimizer cannot leave it out; make"
                 " FlatParameters and the optimizer anew after freezing parameters");
}

inline std::vector<PlacedParameter> FlatBuffer::moved() const {
  std::vector<PlacedParameter> moved;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const at::Tensor parameter = parameter_of(parts_[i]);
    if (!parameter.defined()) continue;
    check(parts_[i], parameter);
    if (!holds(i, parameter)) moved.push_back({parameter, parts_[i].place});
  }
  return moved;
}

inline void FlatBuffer::take_back(const Part& part, const at::Tensor& parameter) const {
  const at::Tensor place = view(tensor_, part, parameter.sizes());
  place.copy_(parameter);
  parameter.set_data(place);
}

/// True if `gradient` is `view`, or has its memory, as zero_grad(false) leaves it.
inline bool FlatBuffer::is_view(const at::Tensor& gradient, const at::Tensor& view) {
  if (gradient.is_same(view)) return true;
  return gradient.layout() == c10::kStrided && !gradient.requires_grad() &&
         gradient.const_data_ptr() == view.const_data_ptr() &&
         gradient.strides() == view.strides() && gradient.sizes() == view.sizes();
}

inline FlatBuffer::Kind FlatBuffer::kind_of(const at::Tensor& gradient, const Part& part) {
  if (!gradient.defined()) return Kind::NoGradient;
  if (is_view(gradient, part.gradient)) return Kind::View;
  const bool apart = part.apart && at::Tensor(part.apart->lock()).is_same(gradient);
  return apart ? Kind::Apart : Kind::Other;
}

inline void FlatBuffer::copy_values(const at::Tensor& gradient, Part& part) {
  at::Tensor& view = part.gradient;
  if (gradient.layout() != c10::kStrided) {  // sparse
    view.zero_().add_(gradient);
  } else if (gradient.nbytes() <= at_once && gradient.device().is_cpu() && view.device().is_cpu() &&
             gradient.scalar_type() == view.scalar_type() && gradient.strides() == view.strides() &&
             gradient.sizes() == view.sizes() && !gradient.is_conj() && !gradient.is_neg()) {
    std::memcpy(view.mutable_data_ptr(), gradient.const_data_ptr(), gradient.nbytes());
  } else {
    view.copy_(gradient);
  }
}

/// Makes the view the parameter's gradient, unless that has a graph, which the caller of
/// backward(create_graph = true) wants.
inline void FlatBuffer::put(Part& part, const at::Tensor& parameter) const {
  const at::Tensor& gradient = parameter.grad();
  if (gradient.defined() && gradient.requires_grad()) {
    part.apart = WeakTensor(gradient.getIntrusivePtr());
  } else {
    parameter.mutable_grad() = part.gradient;
  }
}

inline void FlatBuffer::settle() {
  const c10::AutoGradMode no_grad(false);
  std::vector<std::pair<Part*, at::Tensor>> live;
  std::vector<Kind> kinds;
  std::size_t dropped_parts = 0;
  bool has_other = false;
  for (auto& part : parts_) {
    at::Tensor parameter = parameter_of(part);
    if (!parameter.defined()) continue;
    if (parameter.const_data_ptr() != data(part)) take_back(part, parameter);
    kinds.push_back(kind_of(parameter.grad(), part));
    dropped_parts += kinds.back() == Kind::NoGradient ? 1 : 0;
    has_other = has_other || kinds.back() == Kind::Other;
    live.emplace_back(&part, std::move(parameter));
  }
  const at::Tensor& flat = tensor_.grad();
  const bool dropped = !flat.defined() || dropped_parts == live.size();
  if (dropped) {
    gradient_.zero_();
  } else if (!is_view(flat, gradient_)) {
    gradient_.copy_(flat);
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    auto& [part, parameter] = live[i];
    if (kinds[i] == Kind::Other) {
      copy_values(parameter.grad(), *part);
      put(*part, parameter);
    } else if (dropped) {
      part->apart.reset();
      parameter.mutable_grad() = at::Tensor();
    } else if (kinds[i] == Kind::NoGradient) {
      part->gradient.zero_();
      parameter.mutable_grad() = part->gradient;
    }
  }
  // None until backward has reached a parameter, so that a step does nothing.
  tensor_.mutable_grad() = dropped && !has_other ? at::Tensor() : gradient_;
}

inline void FlatBuffer::note_accumulated(std::size_t i, const at::Tensor& parameter) {
  Part& part = parts_[i];
  if (!parameter.grad().is_same(part.gradient)) {
    const c10::AutoGradMode no_grad(false);
    if (!is_view(parameter.grad(), part.gradient)) copy_values(parameter.grad(), part);
    put(part, parameter);
  }
  if (!tensor_.grad().is_same(gradient_)) tensor_.mutable_grad() = gradient_;
}

}  // namespace detail
}  // namespace v0
}  // namespace torchamp
