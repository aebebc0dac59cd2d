// In which order rings visit the ranks.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "algorithms/ring_order.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using algorithms::RingOrder;
using collsim::testing::ideal_placement;

namespace {

std::vector<Rank> ring_of(const Placement& placement, std::int32_t channel, std::int32_t channels,
                          RankOrder order = RankOrder::automatic) {
  const RingOrder ring(placement, order, channels);
  std::vector<Rank> ranks;
  for (std::int32_t position = 0; position < placement.ranks(); ++position) {
    ranks.push_back(ring.rank_at(channel, position));
    CHECK(ring.position_of(channel, ranks.back()) == position);
  }
  return ranks;
}

std::int32_t grid_distance(std::int32_t a, std::int32_t b, const std::vector<std::int32_t>& sides,
                           bool wraps) {
  std::int32_t total = 0;
  for (const std::int32_t side : sides) {
    const std::int32_t apart = std::abs(a % side - b % side);
    total += wraps ? std::min(apart, side - apart) : apart;
    a /= side;
    b /= side;
  }
  return total;
}

}  // namespace

TEST_CASE("RingOrder starts channel c at the first GPU of NIC c") {
  const Placement placement = ideal_placement(2, 4, 2);
  CHECK(ring_of(placement, 0, 3) == std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(ring_of(placement, 1, 3) == std::vector<Rank>{2, 3, 0, 1, 6, 7, 4, 5});
  CHECK(ring_of(placement, 2, 3) == std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("RingOrder by rank is the rank number in every channel") {
  const Placement placement = ideal_placement(2, 4, 4);
  for (std::int32_t channel = 0; channel < 3; ++channel)
    CHECK(ring_of(placement, channel, 3, RankOrder::rank) == std::vector<Rank>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("RingOrder runs every second node backwards on a rail-optimised fat tree") {
  Placement placement = ideal_placement(4, 4, 4);
  placement.fabric = FabricKind::rail_fat_tree;
  CHECK(ring_of(placement, 1, 4) == std::vector<Rank>{1, 2, 3, 0, 4, 7, 6, 5, 9, 10, 11, 8, 12, 15, 14, 13});
}

TEST_CASE("RingOrder follows the link-disjoint rings of a mesh") {
  Placement placement = ideal_placement(1, 4);
  placement.node_rings = {{0, 2, 1, 3}, {3, 1, 2, 0}};
  CHECK(ring_of(placement, 0, 3) == std::vector<Rank>{0, 2, 1, 3});
  CHECK(ring_of(placement, 1, 3) == std::vector<Rank>{0, 3, 1, 2});
  CHECK(ring_of(placement, 2, 3) == std::vector<Rank>{0, 2, 1, 3});
}

TEST_CASE("RingOrder visits grid neighbours one after the other, and closes where a side is even") {
  for (const std::vector<std::int32_t>& sides : std::vector<std::vector<std::int32_t>>{
           {4, 4}, {3, 4}, {4, 3}, {3, 3}, {2, 3, 5}, {3, 5, 4}, {7}, {1, 6}}) {
    Placement placement = ideal_placement(1, 1, 0);
    placement.fabric = FabricKind::torus;
    placement.dimensions = sides;
    bool even = false;
    for (const std::int32_t side : sides) {
      placement.nodes *= side;
      even = even || side % 2 == 0;
    }
    const std::vector<Rank> ring = ring_of(placement, 0, 1);
    CHECK(std::set<Rank>(ring.begin(), ring.end()).size() == ring.size());
    for (std::size_t i = 0; i + 1 < ring.size(); ++i)
      CHECK(grid_distance(ring[i], ring[i + 1], sides, false) == 1);
    if (even) CHECK(grid_distance(ring.back(), ring.front(), sides, true) == 1);
  }
}

TEST_CASE("RingOrder is a Gray code on a hypercube") {
  Placement placement = ideal_placement(8, 1, 0);
  placement.fabric = FabricKind::hypercube;
  const std::vector<Rank> ring = ring_of(placement, 0, 1);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const auto change = static_cast<std::uint32_t>(ring[i] ^ ring[(i + 1) % ring.size()]);
    CHECK((change & (change - 1)) == 0);
  }
}
