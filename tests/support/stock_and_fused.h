// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include "support/doctest.h"

#include <cstddef>
#include <sstream>
#include <vector>

/// Two equal sets of parameters that are given equal gradients.
struct Twins {
  explicit Twins(std::size_t number = 3, torch::ScalarType dtype = torch::kFloat) {
    torch::manual_seed(1);
    for (std::size_t i = 0; i < number; ++i) {
      a.push_back(torch::randn({4, 5}, dtype).requires_grad_());
      b.push_back(a.back().detach().clone().requires_grad_());
    }
  }

  /// Random gradients times `factor`; parameter `without` gets none.
  void set_gradients(double factor = 1, std::size_t without = 99) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto gradient = torch::randn_like(a[i]) * factor;
      a[i].mutable_grad() = i == without ? torch::Tensor() : gradient.clone();
      b[i].mutable_grad() = i == without ? torch::Tensor() : gradient.clone();
    }
  }

  bool are_close(double tolerance = 1e-6) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!torch::allclose(a[i], b[i], tolerance, tolerance)) return false;
    }
    return true;
  }

  std::vector<torch::Tensor> a, b;
};

inline std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copied;
  for (const auto& tensor : tensors) copied.push_back(tensor.detach().clone());
  return copied;
}

inline bool are_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!torch::equal(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

/// Writes the one to an archive and reads the other from it.
template <class From, class To>
void hand_over(const From& from, To& to) {
  std::stringstream stream;
  torch::serialize::OutputArchive out;
  from.save(out);
  out.save_to(stream);
  torch::serialize::InputArchive in;
  in.load_from(stream);
  to.load(in);
}
