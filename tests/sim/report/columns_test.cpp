#include "sim/report/columns.hpp"

#include <doctest/doctest.h>

#include "sim/core/check.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

TEST_CASE("Columns are as wide as their widest cell and leave no trailing blanks") {
  Columns columns({Align::right, Align::left, Align::left});
  columns.add({"size", "name", "note"});
  columns.add({"1073741824", "ring", ""});
  columns.add({"8", "double_binary_tree", "x"});
  CHECK(columns.text("  ", 120) ==
        "        size  name                note\n"
        "  1073741824  ring\n"
        "           8  double_binary_tree  x\n");
}

TEST_CASE("Columns stand one blank apart where two would not fit") {
  Columns columns({Align::left, Align::left});
  columns.add({"abc", "def"});
  CHECK(columns.text("", 8) == "abc  def\n");
  CHECK(columns.text("", 7) == "abc def\n");
  CHECK(columns.text("", 1) == "abc def\n");
}

TEST_CASE("Columns refuse a row of another length") {
  Columns columns({Align::left, Align::left});
  CHECK_THROWS_AS(columns.add({"one"}), InternalError);
}

TEST_SUITE_END();

}  // namespace collsim
