#include "sim/report/numerics_text.hpp"

#include <doctest/doctest.h>

#include <string>

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

Numerics known(std::int64_t additions) {
  Numerics numerics;
  numerics.known = true;
  numerics.additions_deep = additions;
  return numerics;
}

std::string text(const Numerics& numerics, CollectiveKind kind, Datatype datatype, ReductionOp reduction) {
  return numerics_text(numerics, {kind, Bytes(), datatype, reduction}, 8);
}

}  // namespace

TEST_CASE("numerics_text says whether ranks and runs agree, and how large the error can be") {
  using Kind = CollectiveKind;
  Numerics numerics = known(7);
  // 7 * 2^-24 = 4.17e-07
  CHECK(text(numerics, Kind::all_reduce, Datatype::float32, ReductionOp::sum) ==
        "float32 sum: every rank gets bitwise the same, every run the same; error at most 4.17e-07 times the "
        "sum of |x|");
  numerics.same_on_all_ranks = false;
  CHECK(text(numerics, Kind::all_reduce, Datatype::float16, ReductionOp::avg) ==
        "float16 avg: ranks can differ in the last bits, every run the same; error at most 0.00392 times the "
        "mean of |x|");
  CHECK(text(numerics, Kind::reduce_scatter, Datatype::float32, ReductionOp::prod) ==
        "float32 prod: every run the same; error at most 4.17e-07 times |product|");
  numerics.repeats = false;
  numerics.node_switches_add = true;
  CHECK(text(numerics, Kind::reduce, Datatype::float32, ReductionOp::sum) ==
        "float32 sum: runs can differ, because the switches of a node add in an order of their own (NVLS); "
        "error at most 4.17e-07 times the sum of |x|");
  CHECK(text(known(8), Kind::reduce, Datatype::float8_e5m2, ReductionOp::sum) ==
        "float8_e5m2 sum: every run the same; so many roundings of float8_e5m2 have no bound");
}

TEST_CASE("numerics_text calls exact what no order changes, and is silent where nothing is added") {
  CHECK(text({}, CollectiveKind::all_reduce, Datatype::int32, ReductionOp::sum) ==
        "int32 sum: exact, in any order");
  CHECK(text({}, CollectiveKind::reduce, Datatype::float32, ReductionOp::max) ==
        "float32 max: exact, in any order");
  CHECK(text({}, CollectiveKind::all_gather, Datatype::float32, ReductionOp::sum).empty());
}

TEST_CASE("numerics_text says why something is not known") {
  Numerics numerics;
  numerics.reason = "the proof traced one slice";
  CHECK(text(numerics, CollectiveKind::all_reduce, Datatype::float32, ReductionOp::sum) ==
        "float32 sum: not known, the proof traced one slice");
}

TEST_SUITE_END();

}  // namespace collsim
