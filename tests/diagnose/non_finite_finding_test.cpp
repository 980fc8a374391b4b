// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/diagnose/non_finite_finding.h>

#include "support/doctest.h"

#include <sstream>

using torchamp::NonFiniteFinding;

namespace {

NonFiniteFinding overflow() {
  NonFiniteFinding finding;
  finding.op = "aten::exp";
  finding.inputs = {{"self", "", torch::kHalf, {2}, {}, 12.5}};
  finding.results = {{"result", torch::kHalf, {2}, 2, 1, 0, 2.0, 1, {1}}};
  return finding;
}

}  // namespace

TEST_CASE("The text says what, where and of what") {
  auto finding = overflow();
  finding.scopes = {"encoder", "norm"};
  finding.called_by = {"aten::softmax"};

  std::ostringstream out;
  out << finding;
  CHECK(out.str() ==
        "aten::exp made values that are not finite, in encoder.norm\n"
        "  result  Half [2]: 1 inf of 2; first at 1; largest finite 2\n"
        "  self  Half [2]: finite, largest 12.5\n"
        "  called by aten::softmax\n"
        "  in the scopes encoder > norm\n"
        "  likely cure: float16 ends at 65504: this part in float32, with a FullPrecisionGuard\n");
}

TEST_CASE("The cure is that of what happened") {
  auto finding = overflow();
  CHECK(finding.cure().find("float16 ends at 65504") == 0);
  finding.node = "SqrtBackward0";
  CHECK(finding.cure().find("the scaler lowers the scale") != std::string::npos);
  finding.results[0].dtype = torch::kFloat;
  CHECK(finding.cure().find("an epsilon") != std::string::npos);
  finding.inputs[0].kinds.negative_inf = true;
  CHECK(finding.cure().find("mask with a finite number") != std::string::npos);
  finding.origin = NonFiniteFinding::Origin::Input;
  CHECK(finding.cure().find("find_non_finite()") == 0);
  finding.origin = NonFiniteFinding::Origin::Uninitialised;
  CHECK(finding.cure() ==
        "fill all of it before it is read; if the program has, as torch::tensor(vector) does, look"
        " at what it wrote");
}

TEST_CASE("In backward the text names the node and the forward operator") {
  auto finding = overflow();
  finding.node = "SqrtBackward0";
  CHECK(finding.in_backward());
  CHECK(finding.to_text().find("in backward: SqrtBackward0\n") != std::string::npos);
  finding.has_forward = true;
  CHECK(finding.to_text().find("in backward: SqrtBackward0, of a forward operator that was not"
                               " seen\n") != std::string::npos);

  finding.forward_op = "aten::sqrt";
  finding.forward_parameter = "norm.weight";
  finding.forward_scopes = {"encoder", "norm"};
  CHECK(finding.to_text().find("in backward: SqrtBackward0, of aten::sqrt with norm.weight in the"
                               " scopes encoder > norm\n") != std::string::npos);
}

TEST_CASE("Each origin has words of its own, and names what was read") {
  auto finding = overflow();
  finding.inputs[0].name = "conv2.weight";
  finding.inputs[0].kinds = {true, true, true};
  finding.inputs[0].largest.reset();
  finding.origin = NonFiniteFinding::Origin::Input;
  CHECK(finding.to_text().find("was given values that were not finite") != std::string::npos);
  CHECK(finding.to_text().find("  self = conv2.weight  Half [2]: inf, -inf, NaN\n") !=
        std::string::npos);

  finding.origin = NonFiniteFinding::Origin::Uninitialised;
  CHECK(finding.to_text().find("read memory that no operator") != std::string::npos);
}

TEST_CASE("The module is that of a parameter, of the forward operator first, or the scopes") {
  auto finding = overflow();
  CHECK(finding.module() == "");
  finding.scopes = {"encoder", "norm"};
  CHECK(finding.module() == "encoder.norm");
  finding.forward_scopes = {"decoder"};
  CHECK(finding.module() == "decoder");
  finding.parameter = "weight";  // of the model itself
  CHECK(finding.module() == "decoder");
  finding.parameter = "layers.0.conv2.weight";
  CHECK(finding.module() == "layers.0.conv2");
  finding.forward_parameter = "conv1.bias";
  CHECK(finding.module() == "conv1");
}
