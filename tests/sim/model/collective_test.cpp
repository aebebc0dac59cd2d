// Collective: names, sizes, the factor of busbw.
#include "sim/model/collective.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace collsim;

TEST_CASE("Datatypes have the names and sizes of the contract") {
  const std::pair<const char*, int> table[] = {{"int8", 1},    {"uint8", 1},       {"int32", 4},
                                               {"uint32", 4},  {"int64", 8},       {"uint64", 8},
                                               {"float16", 2}, {"bfloat16", 2},    {"float32", 4},
                                               {"float64", 8}, {"float8_e4m3", 1}, {"float8_e5m2", 1}};
  for (const auto& entry : table) {
    const char* const name = entry.first;
    CAPTURE(name);
    const auto datatype = datatype_from_name(name);
    REQUIRE(datatype.has_value());
    CHECK(std::string(name_of(*datatype)) == name);
    CHECK(element_bytes(*datatype) == entry.second);
  }
  CHECK_FALSE(datatype_from_name("float").has_value());
}

TEST_CASE("Reductions and collectives are found by their names only") {
  for (const char* name : {"sum", "prod", "min", "max", "avg"})
    CHECK(std::string(name_of(reduction_from_name(name).value())) == name);
  CHECK_FALSE(reduction_from_name("Sum").has_value());
  CHECK(collective_from_name("all_reduce") == CollectiveKind::all_reduce);
  CHECK(std::string(name_of(CollectiveKind::all_reduce)) == "all_reduce");
  CHECK_FALSE(collective_from_name("allreduce").has_value());
}

TEST_CASE("Collective counts elements") {
  Collective collective;
  collective.bytes = Bytes(4000);
  CHECK(collective.elements() == 1000);
  collective.datatype = Datatype::bfloat16;
  CHECK(collective.elements() == 2000);
}

TEST_CASE("The busbw factor of all-reduce is 2(N-1)/N") {
  for (std::int64_t ranks = 1; ranks <= 9; ++ranks) {
    const Fraction factor = bus_factor(CollectiveKind::all_reduce, ranks);
    CHECK(factor.numerator * ranks == 2 * (ranks - 1) * factor.denominator);
  }
}
