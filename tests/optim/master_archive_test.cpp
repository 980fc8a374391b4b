// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT

#include <torchamp/optim/master_archive.h>

#include "support/doctest.h"
#include "support/errors.h"

#include <sstream>
#include <string>
#include <vector>

using torchamp::MasterCopies;
using torchamp::detail::read_masters;
using torchamp::detail::write_masters;

namespace {

torch::Tensor parameter(torch::IntArrayRef shape, torch::ScalarType dtype = torch::kHalf) {
  return torch::ones(shape, dtype).requires_grad_();
}

MasterCopies copies_of(const MasterCopies::Groups& groups) {
  MasterCopies copies;
  copies.follow(groups, "test");
  return copies;
}

/// What was written, for reading.
void hand_over(const torch::serialize::OutputArchive& written,
               torch::serialize::InputArchive& archive) {
  std::stringstream file;
  const_cast<torch::serialize::OutputArchive&>(written).save_to(file);
  archive.load_from(file);
}

}  // namespace

TEST_CASE("Masters come back bit for bit, and only those that are copies are written") {
  const auto copies =
      copies_of({{{parameter({2}), parameter({3}, torch::kFloat)}}, {{parameter({1})}}});
  copies.masters()[0].fill_(1 + 0x1p-20);
  copies.masters()[2].fill_(0x1p-100);
  torch::serialize::OutputArchive written;
  torch::serialize::InputArchive archive;

  write_masters(written, copies);
  hand_over(written, archive);
  const auto masters = read_masters(archive, copies);

  REQUIRE(masters.size() == 3);
  CHECK(masters[0].equal(copies.masters()[0]));
  CHECK_FALSE(masters[1].defined());
  CHECK(masters[2].equal(copies.masters()[2]));
}

TEST_CASE("An archive without masters has none to give") {
  torch::serialize::OutputArchive written;
  written.write("something", torch::ones({1}));
  torch::serialize::InputArchive archive;
  hand_over(written, archive);

  CHECK(read_masters(archive, copies_of({{{parameter({1})}}})).empty());
}

TEST_CASE("Masters of other groups or shapes are refused, with what is there and what is not") {
  torch::serialize::OutputArchive written;
  write_masters(written, copies_of({{{parameter({2}), parameter({2})}}, {{parameter({1})}}}));
  torch::serialize::InputArchive archive;
  hand_over(written, archive);
  const auto read = [&](const MasterCopies::Groups& groups) {
    return read_masters(archive, copies_of(groups));
  };

  CHECK_ERROR(E24, read({{{parameter({2}), parameter({2}), parameter({1})}}}));
  CHECK_ERROR_SAYS("2 parameter groups, and this optimizer 1", read({{{parameter({2})}}}));
  CHECK_ERROR(E24, read({{{parameter({2})}}, {{parameter({1})}}}));
  CHECK_ERROR_SAYS("group 0 of the archive has 2 parameters, and that of this optimizer 1",
                   read({{{parameter({2})}}, {{parameter({1})}}}));
  CHECK_ERROR(E24, read({{{parameter({2}), parameter({3})}}, {{parameter({1})}}}));
  CHECK_ERROR_SAYS("parameter 1 in the archive has the shape [2], and the parameter [3]",
                   read({{{parameter({2}), parameter({3})}}, {{parameter({1})}}}));
}

TEST_CASE("A damaged entry is refused") {
  torch::serialize::OutputArchive written;
  torch::serialize::OutputArchive part(written.compilation_unit());
  part.write("sizes", c10::IValue(int64_t{1}));
  written.write("torchamp_master_weights", part);
  torch::serialize::InputArchive archive;
  hand_over(written, archive);

  CHECK_ERROR(E24, read_masters(archive, copies_of({{{parameter({1})}}})));
}
