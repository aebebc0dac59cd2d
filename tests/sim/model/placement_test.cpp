#include "sim/model/placement.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "sim/core/check.hpp"
#include "sim/core/random.hpp"

namespace collsim {
namespace {

Placement even(std::int32_t nodes, std::int32_t gpus, std::int32_t nics = 1) {
  Placement placement;
  placement.nodes = nodes;
  placement.gpus_per_node = gpus;
  placement.nics_per_node = nics;
  placement.interconnect = InterconnectKind::nvswitch;
  placement.fabric = FabricKind::single_switch;
  placement.node_bandwidth = Bandwidth::bytes_per_second(400);
  placement.fabric_bandwidth = Bandwidth::bytes_per_second(50);
  placement.node_reduction.enabled = true;
  placement.fabric_reduction.enabled = true;
  return placement;
}

Placement uneven(const std::vector<std::int32_t>& counts) {
  Placement placement = even(static_cast<std::int32_t>(counts.size()), 0);
  placement.first_rank = {0};
  for (const std::int32_t count : counts) {
    placement.gpus_per_node = std::max(placement.gpus_per_node, count);
    placement.first_rank.push_back(placement.first_rank.back() + count);
  }
  return placement;
}

std::vector<Rank> all_of(const Placement& placement) {
  std::vector<Rank> ranks(static_cast<std::size_t>(placement.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The numbers of GPUs of the nodes.
std::vector<std::int32_t> counts_of(const Placement& placement) {
  std::vector<std::int32_t> counts;
  for (std::int32_t node = 0; node < placement.nodes; ++node) counts.push_back(placement.gpus_of(node));
  return counts;
}

using Counts = std::vector<std::int32_t>;
using Ranks = std::vector<Rank>;

TEST_SUITE("sim/model") {
  TEST_CASE("Placement finds the node of a rank where nodes are uneven") {
    const Placement placement = uneven({2, 2, 1, 5});
    std::vector<std::int32_t> nodes;
    for (Rank rank = 0; rank < placement.ranks(); ++rank) nodes.push_back(placement.node_of(rank));
    CHECK(nodes == std::vector<std::int32_t>{0, 0, 1, 1, 2, 3, 3, 3, 3, 3});
    CHECK(placement.ranks() == 10);
    CHECK(counts_of(placement) == Counts{2, 2, 1, 5});
  }

  TEST_CASE("The part of all ranks is the whole, by number or not") {
    Placement torus = even(12, 2);
    torus.fabric = FabricKind::torus;
    torus.dimensions = {3, 4};
    torus.node_rings = {{0, 1}};
    Placement more_nics = even(2, 2, 8);
    for (const Placement& whole : {torus, more_nics, even(1, 8, 0), uneven({8, 8, 4})})
      for (const bool by_number : {false, true}) {
        const PartPlacement part = part_of(whole, all_of(whole), by_number);
        CHECK(part.rank_map == all_of(whole));
        CHECK(part.placement.first_rank == whole.first_rank);
        CHECK(part.placement.nodes == whole.nodes);
        CHECK(part.placement.gpus_per_node == whole.gpus_per_node);
        CHECK(part.placement.nics_per_node == whole.nics_per_node);
        CHECK(part.placement.fabric == whole.fabric);
        CHECK(part.placement.interconnect == whole.interconnect);
        CHECK(part.placement.dimensions == whole.dimensions);
        CHECK(part.placement.node_rings == whole.node_rings);
        CHECK(part.placement.node_bandwidth == whole.node_bandwidth);
        CHECK(part.placement.fabric_bandwidth == whole.fabric_bandwidth);
        CHECK(part.placement.node_reduction.enabled);
        CHECK(part.placement.fabric_reduction.enabled);
      }
  }

  TEST_CASE("A part round robin over the nodes is single GPUs by number, and whole nodes otherwise") {
    const Placement whole = even(2, 4, 2);
    const Ranks round_robin = {0, 4, 1, 5, 2, 6, 3, 7};
    const PartPlacement flat = part_of(whole, round_robin, true);
    CHECK(flat.rank_map == round_robin);
    CHECK(flat.placement.nodes == 8);
    CHECK(flat.placement.gpus_per_node == 1);
    CHECK(flat.placement.is_even());
    CHECK(flat.placement.nics_per_node == 1);
    CHECK(flat.placement.node_bandwidth == whole.node_bandwidth);
    const PartPlacement nodes = part_of(whole, round_robin, false);
    CHECK(nodes.rank_map == all_of(whole));
    CHECK(counts_of(nodes.placement) == Counts{4, 4});
    CHECK(nodes.placement.nics_per_node == 2);
  }

  TEST_CASE("A part keeps its nodes by number where each node's ranks follow each other") {
    const PartPlacement part = part_of(even(3, 4), {9, 8, 0, 1, 2, 4}, true);
    CHECK(part.rank_map == Ranks{9, 8, 0, 1, 2, 4});
    CHECK(counts_of(part.placement) == Counts{2, 3, 1});
    CHECK(part.placement.gpus_per_node == 3);
    CHECK_FALSE(part.placement.is_even());
    // A node that comes twice is no node.
    CHECK(part_of(even(3, 4), {0, 1, 4, 2}, true).placement.nodes == 4);
  }

  TEST_CASE("A part of some ranks is grouped by its nodes, which drop out where they hold none") {
    const PartPlacement pairs = part_of(even(4, 8, 8), {26, 8, 9, 27}, false);
    CHECK(pairs.rank_map == Ranks{8, 9, 26, 27});
    CHECK(counts_of(pairs.placement) == Counts{2, 2});
    CHECK(pairs.placement.is_even());
    CHECK(pairs.placement.nics_per_node == 2);
    const PartPlacement odd = part_of(even(4, 8, 4), {0, 1, 2, 3, 17, 31}, false);
    CHECK(counts_of(odd.placement) == Counts{4, 1, 1});
    CHECK(odd.placement.nics_per_node == 2);
    // Of uneven nodes an even part.
    const PartPlacement same = part_of(uneven({1, 3, 2}), {2, 1, 4, 5}, false);
    CHECK(counts_of(same.placement) == Counts{2, 2});
    CHECK(same.placement.is_even());
    const PartPlacement one = part_of(even(4, 8), {13}, false);
    CHECK(one.placement.ranks() == 1);
    CHECK(one.placement.nodes == 1);
  }

  TEST_CASE("A part knows the grid only where all its nodes are there in their order") {
    Placement whole = even(6, 2);
    whole.fabric = FabricKind::torus;
    whole.dimensions = {3, 2};
    CHECK(part_of(whole, {0, 2, 4, 6, 8, 10}, true).placement.dimensions == Counts{3, 2});
    const Placement some = part_of(whole, {0, 1, 2, 3}, true).placement;
    CHECK(some.dimensions.empty());
    CHECK(some.fabric == FabricKind::custom);
    CHECK(part_of(whole, {2, 0, 4, 6, 8, 10}, true).placement.dimensions.empty());
    CHECK(part_of(whole, {2, 0, 4, 6, 8, 10}, false).placement.dimensions == Counts{3, 2});
    whole.fabric = FabricKind::hypercube;
    whole.dimensions.clear();
    CHECK(part_of(whole, {0, 2, 4}, false).placement.fabric == FabricKind::custom);
    CHECK(part_of(even(6, 2), {0, 2, 4}, false).placement.fabric == FabricKind::single_switch);
  }

  TEST_CASE("A part has the rings of a node where its nodes are whole and by number") {
    Placement whole = even(2, 4);
    whole.node_rings = {{0, 1, 2, 3}, {3, 1, 0, 2}};
    CHECK(part_of(whole, {4, 5, 6, 7}, true).placement.node_rings == whole.node_rings);
    CHECK(part_of(whole, {7, 5, 6, 4}, false).placement.node_rings == whole.node_rings);
    CHECK(part_of(whole, {7, 5, 6, 4}, true).placement.node_rings.empty());
    CHECK(part_of(whole, {4, 5, 6}, false).placement.node_rings.empty());
  }

  TEST_CASE("Any part groups its ranks as the whole does, and no two groups share a node") {
    Random random(7);
    const Placement whole = uneven({3, 1, 4, 2, 2});
    for (int i = 0; i < 300; ++i) {
      Ranks ranks = all_of(whole);
      for (std::size_t left = ranks.size(); left > 1; --left)
        std::swap(ranks[left - 1], ranks[static_cast<std::size_t>(random.below(left))]);
      ranks.resize(1 + static_cast<std::size_t>(random.below(ranks.size())));
      for (const bool by_number : {false, true}) {
        const PartPlacement part = part_of(whole, ranks, by_number);
        if (by_number) CHECK(part.rank_map == ranks);
        REQUIRE(part.placement.ranks() == static_cast<std::int32_t>(ranks.size()));
        for (Rank a = 0; a < part.placement.ranks(); ++a)
          for (Rank b = 0; b < a; ++b) {
            const bool together = part.placement.node_of(a) == part.placement.node_of(b);
            const bool same_node = whole.node_of(part.rank_map[static_cast<std::size_t>(a)]) ==
                                   whole.node_of(part.rank_map[static_cast<std::size_t>(b)]);
            const bool flat = by_number && part.placement.gpus_per_node == 1;
            if (together != same_node) CHECK((flat && same_node));
          }
      }
    }
  }

  TEST_CASE("A part of ranks that are twice or not there is refused") {
    CHECK_THROWS_AS(part_of(even(2, 2), {0, 1, 0}, true), InternalError);
    CHECK_THROWS_AS(part_of(even(2, 2), {4}, false), InternalError);
    CHECK_THROWS_AS(part_of(even(2, 2), {}, false), InternalError);
  }
}

}  // namespace
}  // namespace collsim
