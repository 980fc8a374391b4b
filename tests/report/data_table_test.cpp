// SPDX-FileCopyrightText: 2026 The torchamp authors
// SPDX-License-Identifier: MIT
#include <torchamp/report/data_table.h>

#include "support/doctest.h"

#include <stdexcept>
#include <string>

using torchamp::DataTable;
using torchamp::Unit;

TEST_CASE("A data table keeps numbers as numbers and reads them in the unit of their column") {
  DataTable ops({{"operator"}, {"time", Unit::Seconds}, {"dtype"}});

  ops.add_row({"aten::linear", 0.0123, "bf16"});
  ops.add_row({std::string("aten::add"), {}, ""});

  CHECK(*ops.rows()[0][1].number() == 0.0123);
  CHECK(*ops.rows()[0][2].text() == "bf16");
  CHECK(ops.rows()[0][1].text() == nullptr);
  CHECK(ops.text_at(0, 0) == "aten::linear");
  CHECK(ops.text_at(0, 1) == "12.3 ms");
  CHECK(ops.rows()[1][1].number() == nullptr);
  CHECK(ops.rows()[1][1].text() == nullptr);
  CHECK(ops.text_at(1, 1) == "");
}

TEST_CASE("A data table refuses a row of another width and keeps what it had") {
  DataTable ops({{"operator"}, {"calls", Unit::Count}});
  ops.add_row({"aten::linear", 12.0});

  CHECK_THROWS_WITH_AS(ops.add_row({"aten::add"}), doctest::Contains("[torchamp.E14]"),
                       std::invalid_argument);

  CHECK(ops.rows().size() == 1);
}

TEST_CASE("A data table refuses to have no column") {
  CHECK_THROWS_WITH_AS(DataTable({}), doctest::Contains("[torchamp.E14]"), std::invalid_argument);
}
