// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceType.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdint>
#include <optional>

namespace torchamp {
inline namespace v0 {

/// Asks a device what the scale is, and hears the answer some steps later, without waiting for it.
class ScaleEcho {
 public:
  struct Answer {
    double scale;
    int64_t moves_since;  // calls of `poll()` since the question: the scale may have moved since
  };

  bool is_asked() const { return copy_.defined(); }

  /// `scale` is a 0-dim float32 tensor.   Host sync: none.
  void ask(const at::Tensor& scale) {
    moves_ = 0;
    if (scale.is_cpu()) {
      copy_ = scale.clone();
      return;
    }
    copy_ = scale.to(at::kCPU, /*non_blocking=*/true);
    const auto type = scale.device().type();
    answered_.emplace(type);
    answered_->record(c10::impl::VirtualGuardImpl(type).getStream(scale.device()));
  }

  /// To be called after each move of the scale: the answer, once it is there.   Host sync: none.
  std::optional<Answer> poll() {
    ++moves_;
    if (answered_ && !answered_->query()) return std::nullopt;
    answered_.reset();
    const Answer answer{*copy_.const_data_ptr<float>(), moves_};
    copy_.reset();
    return answer;
  }

 private:
  at::Tensor copy_;
  std::optional<c10::Event> answered_;  // empty for a CPU, which answers at once
  int64_t moves_ = 0;
};

}  // namespace v0
}  // namespace torchamp
