// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace torchamp {
inline namespace v0 {

/// Of which numbers `find_non_finite()` speaks.
enum class NonFiniteIn {
  Gradients,  ///< the gradients of the tensors
  Values,     ///< the tensors themselves
};

/// A tensor in which something is inf or NaN. A complex number is NaN if a part of it is, else inf
/// if a part is.
struct NonFiniteTensor {
  std::string name;
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
  int64_t looked_at;      ///< elements; of a sparse tensor, those that it has
  int64_t inf_count;      ///< elements that are inf, of either sign
  int64_t nan_count;      ///< elements that are NaN
  double largest_finite;  ///< magnitude; of complex numbers that of a part; 0 if nothing is finite
  int64_t first_index;    ///< of the first inf or NaN, counted row by row
  std::vector<int64_t> first_coordinates;  ///< the same, one for each dimension
};

/// What `find_non_finite()` found.
struct NonFiniteReport {
  NonFiniteIn looked_in = NonFiniteIn::Values;
  std::vector<NonFiniteTensor> tensors;  ///< with inf or NaN, in the order in which they were given
  int64_t finite = 0;                    ///< tensors that are finite throughout
  int64_t without_gradient = 0;          ///< tensors that have none, and were not looked at

  /// True if nothing is inf or NaN.
  bool empty() const { return tensors.empty(); }

  /// A line, and one more for each tensor with inf or NaN; each ends with a line break:
  ///
  ///     1 of 4 gradients is not finite
  ///       bias  Float [2, 3]: 2 inf, 1 NaN of 6; first at 4 = [1, 1]; largest finite 8.25
  std::string to_text() const;
  friend std::ostream& operator<<(std::ostream& out, const NonFiniteReport& report) {
    return out << report.to_text();
  }
};

namespace detail {

inline std::string list_of(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (const int64_t number : numbers) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(number);
  }
  return text + "]";
}

inline std::string line_of(const NonFiniteTensor& tensor, std::size_t name_width) {
  std::ostringstream line;
  line.imbue(std::locale::classic());
  line << "  " << tensor.name << std::string(name_width - tensor.name.size() + 2, ' ')
       << c10::toString(tensor.dtype) << ' ' << list_of(tensor.sizes) << ": ";
  if (tensor.inf_count > 0) line << tensor.inf_count << " inf";
  if (tensor.inf_count > 0 && tensor.nan_count > 0) line << ", ";
  if (tensor.nan_count > 0) line << tensor.nan_count << " NaN";
  line << " of " << tensor.looked_at << "; first at " << tensor.first_index;
  if (tensor.sizes.size() > 1) line << " = " << list_of(tensor.first_coordinates);
  if (tensor.inf_count + tensor.nan_count < tensor.looked_at) {
    line << "; largest finite " << tensor.largest_finite;
  }
  line << '\n';
  return line.str();
}

}  // namespace detail

inline std::string NonFiniteReport::to_text() const {
  const std::string what = looked_in == NonFiniteIn::Gradients ? "gradient" : "tensor";
  const auto bad = static_cast<int64_t>(tensors.size());
  const auto some = [&](int64_t count) { return what + (count == 1 ? "" : "s"); };
  std::string text;
  if (finite + bad == 0) {
    text = "no " + what + " to look at";
  } else if (bad == 0) {
    text = std::to_string(finite) + ' ' + some(finite) + ", all finite";
  } else {
    text = std::to_string(bad) + " of " + std::to_string(finite + bad) + ' ' + some(finite + bad) +
           (bad == 1 ? " is not finite" : " are not finite");
  }
  if (without_gradient > 0) {
    text += " (" + std::to_string(without_gradient) + " more had none)";
  }
  text += '\n';

  std::size_t width = 0;
  for (const auto& tensor : tensors) width = (std::max)(width, tensor.name.size());
  for (const auto& tensor : tensors) text += detail::line_of(tensor, width);
  return text;
}

}  // namespace v0
}  // namespace torchamp
