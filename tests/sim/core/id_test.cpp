#include "sim/core/id.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace collsim;

TEST_CASE("Id does not exist until it is given an index") {
  CHECK_FALSE(LinkId().exists());
  CHECK(LinkId(0).exists());
  CHECK(LinkId(std::size_t{7}).value == 7);
  CHECK(LinkId(7U) == LinkId(7));
}

TEST_CASE("Id is ordered by its index") {
  CHECK(VertexId(1) < VertexId(2));
  CHECK(VertexId(2) < VertexId());  // what does not exist comes last
}

TEST_CASE("Id of one kind is not an Id of another") {
  static_assert(!std::is_convertible_v<LinkId, VertexId>);
  static_assert(!std::is_constructible_v<LinkId, VertexId>);
  static_assert(!std::is_convertible_v<int, LinkId>);
  CHECK(sizeof(LinkId) == 4);
}
