// Cuts and the largest latency of every small shape, against counts and searches over the links.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"
#include "topologies/measures.hpp"

namespace collsim::testing {
namespace {

constexpr std::int64_t giga = 1'000'000'000;

std::string cut_text(const Cut& cut) {
  return cut.name + ": " + std::to_string(cut.groups) + " groups, total " +
         std::to_string(static_cast<std::int64_t>(cut.total_exit / giga)) + " GB/s, smallest " +
         std::to_string(static_cast<std::int64_t>(cut.smallest_exit / giga)) + " GB/s";
}

std::string cuts_text(const Topology& topology) {
  std::string text;
  for (const Cut& cut : topology.cuts()) text += cut_text(cut) + "\n";
  return text;
}

const Cut* find_cut(const Topology& topology, const std::string& name) {
  for (const Cut& cut : topology.cuts())
    if (cut.name == name) return &cut;
  return nullptr;
}

// The least bandwidth around the ranks of a group over all choices of other vertices to include: a
// brute-force minimum cut. REQUIRES: few vertices that are no GPU
std::int64_t least_exit(const Topology& topology, const std::function<bool(Rank)>& in_group) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const std::size_t others = topology.vertex_count() - ranks;
  REQUIRE(others <= 15);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t choice = 0; choice < (1U << others); ++choice) {
    const auto inside = [&](VertexId id) {
      if (id.value < ranks) return in_group(static_cast<Rank>(id.value));
      return (choice >> (id.value - ranks) & 1U) != 0;
    };
    std::int64_t exit = 0;
    for (const Link& link : topology.links())
      if (inside(link.source) && !inside(link.target)) exit += link.bandwidth.bytes_per_second();
    least = std::min(least, exit);
  }
  return least;
}

// Groups ranks by `group_of` and compares the cut with brute force.
void check_cut(const ClusterSpec& cluster, const std::string& name,
               const std::function<Rank(Rank)>& group_of) {
  const Topology topology = built(cluster);
  std::map<Rank, std::int64_t> exits;
  for (Rank rank = 0; rank < topology.ranks(); ++rank) {
    const Rank group = group_of(rank);
    if (exits.count(group) == 0)
      exits[group] = least_exit(topology, [&](Rank other) { return group_of(other) == group; });
  }
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  CAPTURE(name);
  const Cut* const cut = find_cut(topology, name);
  REQUIRE(cut != nullptr);
  std::int64_t total = 0;
  std::int64_t smallest = exits.begin()->second;
  for (const auto& [group, exit] : exits) total += exit, smallest = std::min(smallest, exit);
  CHECK(cut->groups == static_cast<std::int64_t>(exits.size()));
  CHECK(static_cast<std::int64_t>(cut->total_exit) == total);
  CHECK(static_cast<std::int64_t>(cut->smallest_exit) == smallest);
}

TEST_SUITE("topologies") {
  TEST_CASE("Cuts are the minimum cuts that brute force finds") {
    check_cut(node_of(InterconnectKind::hybrid_cube_mesh, 8), "rank", [](Rank r) { return r; });
    check_cut(node_of(InterconnectKind::full_mesh, 5), "rank", [](Rank r) { return r; });
    check_cut(node_of(InterconnectKind::pcie, 6), "rank", [](Rank r) { return r; });
    for (const auto& [gpus, nics] : {std::pair{4, 2}, {5, 3}, {3, 1}, {2, 2}}) {
      const ClusterSpec cluster = cluster_of(FabricKind::single_switch, 3, gpus, nics);
      check_cut(cluster, "node", [g = gpus](Rank r) { return r / g; });
      ClusterSpec narrow = cluster;  // the cables of the GPUs bind, not those of the NICs
      narrow.node.nics.bandwidth = Bandwidth::gigabytes_per_second(20);
      check_cut(narrow, "node", [g = gpus](Rank r) { return r / g; });
    }
    for (const std::int32_t nodes : {3, 4, 6, 7, 9}) {  // radix 6: leaves of 3, the last part-filled
      const ClusterSpec cluster = tree_of(FabricKind::fat_tree, 2, 6, nodes, 1, 0);
      check_cut(cluster, "rank", [](Rank r) { return r; });
      if (nodes > 3) check_cut(cluster, "leaf", [](Rank r) { return r / 3; });
    }
    ClusterSpec thin = tree_of(FabricKind::fat_tree, 2, 6, 10, 1, 0);
    thin.fabric.oversubscription_numerator = 2;  // leaves of 4 with 2 cables up
    check_cut(thin, "leaf", [](Rank r) { return r / 4; });
    check_cut(tree_of(FabricKind::rail_fat_tree, 2, 4, 3, 2, 2), "leaf", [](Rank r) { return r / 4; });
    ClusterSpec grid = cluster_of(FabricKind::torus, 1, 2, 0, InterconnectKind::none);
    grid.fabric.dimensions = {3, 2};
    check_cut(grid, "node", [](Rank r) { return r / 2; });
    check_cut(grid, "x planes", [](Rank r) { return r / 2 % 3; });
    check_cut(grid, "y planes", [](Rank r) { return r / 6; });
  }

  TEST_CASE("The cut of shared memories counts what all ranks of a node together get through") {
    ClusterSpec node = node_of(InterconnectKind::shared_memory, 4);  // 100 GB/s a rank, 250 GB/s together
    CHECK(cuts_text(built(node)) ==
          "rank: 4 groups, total 400 GB/s, smallest 100 GB/s\n"
          "memory: 4 groups, total 250 GB/s, smallest 100 GB/s\n");
    node.node.interconnect.total = Bandwidth::gigabytes_per_second(60);
    CHECK(cuts_text(built(node)) ==
          "rank: 4 groups, total 400 GB/s, smallest 100 GB/s\n"
          "memory: 4 groups, total 60 GB/s, smallest 60 GB/s\n");
    node.node.interconnect.total = Bandwidth::gigabytes_per_second(400);
    CHECK(cuts_text(built(node)) == "rank: 4 groups, total 400 GB/s, smallest 100 GB/s\n");
    // Each of 3 nodes: 250 GB/s through the memory and 4 * 200 GB/s over NICs.
    const Topology three =
        built(cluster_of(FabricKind::single_switch, 3, 4, 4, InterconnectKind::shared_memory));
    const Cut* const cut = find_cut(three, "memory");
    REQUIRE(cut != nullptr);
    CHECK(static_cast<std::int64_t>(cut->total_exit / giga) == 3 * 1'050);
    CHECK(static_cast<std::int64_t>(cut->smallest_exit / giga) == 300);
    CHECK(static_cast<std::int64_t>(find_cut(three, "node")->smallest_exit / giga) == 200);
  }

  TEST_CASE("Cuts of a grid count its planes and its halves") {
    ClusterSpec torus = fabric_of(FabricKind::torus, 1);
    torus.fabric.dimensions = {4, 2, 1};
    CHECK(cuts_text(built(torus)) ==
          "rank: 8 groups, total 1200 GB/s, smallest 150 GB/s\n"
          "node: 8 groups, total 1200 GB/s, smallest 150 GB/s\n"
          "x planes: 4 groups, total 800 GB/s, smallest 200 GB/s\n"
          "bisection: 2 groups, total 400 GB/s, smallest 200 GB/s\n"
          "y planes: 2 groups, total 400 GB/s, smallest 200 GB/s\n"
          "y bisection: 2 groups, total 400 GB/s, smallest 200 GB/s\n");
    ClusterSpec mesh = fabric_of(FabricKind::mesh, 1);
    mesh.fabric.dimensions = {3, 3};
    CHECK(cuts_text(built(mesh)) ==
          "rank: 9 groups, total 1200 GB/s, smallest 100 GB/s\n"
          "node: 9 groups, total 1200 GB/s, smallest 100 GB/s\n"
          "x planes: 3 groups, total 600 GB/s, smallest 150 GB/s\n"
          "bisection: 2 groups, total 300 GB/s, smallest 150 GB/s\n"
          "y planes: 3 groups, total 600 GB/s, smallest 150 GB/s\n"
          "y bisection: 2 groups, total 300 GB/s, smallest 150 GB/s\n");
  }

  TEST_CASE("Cuts of fat trees follow leaves and pods, those of a dragonfly routers and groups") {
    // Radix 4, 3:1 is not needed: d = u = 2; 16 endpoints fill 4 pods.
    CHECK(cuts_text(built(tree_of(FabricKind::fat_tree, 3, 4, 15, 1, 0))) ==
          "rank: 15 groups, total 750 GB/s, smallest 50 GB/s\n"
          "node: 15 groups, total 750 GB/s, smallest 50 GB/s\n"
          "leaf: 8 groups, total 750 GB/s, smallest 50 GB/s\n"
          "pod: 4 groups, total 750 GB/s, smallest 150 GB/s\n"
          "bisection: 2 groups, total 700 GB/s, smallest 350 GB/s\n");
    ClusterSpec thin = tree_of(FabricKind::fat_tree, 3, 6, 32, 1, 0);
    thin.fabric.oversubscription_numerator = 2;  // d = 4, u = 2: pods of 16 with 4 cables to the cores
    CHECK(cuts_text(built(thin)) ==
          "rank: 32 groups, total 1600 GB/s, smallest 50 GB/s\n"
          "node: 32 groups, total 1600 GB/s, smallest 50 GB/s\n"
          "leaf: 8 groups, total 800 GB/s, smallest 100 GB/s\n"
          "pod: 2 groups, total 400 GB/s, smallest 200 GB/s\n"
          "bisection: 2 groups, total 400 GB/s, smallest 200 GB/s\n");
    ClusterSpec dragonfly = fabric_of(FabricKind::dragonfly, 12);
    dragonfly.fabric.dragonfly_routers = 2;
    dragonfly.fabric.dragonfly_nodes = 2;
    dragonfly.fabric.dragonfly_global_links = 1;
    CHECK(cuts_text(built(dragonfly)) ==
          "rank: 12 groups, total 600 GB/s, smallest 50 GB/s\n"
          "node: 12 groups, total 600 GB/s, smallest 50 GB/s\n"
          "router: 6 groups, total 600 GB/s, smallest 100 GB/s\n"
          "group: 3 groups, total 300 GB/s, smallest 100 GB/s\n"
          "bisection: 2 groups, total 200 GB/s, smallest 100 GB/s\n");
    ClusterSpec rails = tree_of(FabricKind::rail_fat_tree, 3, 4, 4, 2, 2);
    CHECK(cuts_text(built(rails)) ==
          "rank: 8 groups, total 2400 GB/s, smallest 300 GB/s\n"
          "node: 4 groups, total 400 GB/s, smallest 100 GB/s\n"
          "leaf: 2 groups, total 400 GB/s, smallest 200 GB/s\n"
          "bisection: 2 groups, total 400 GB/s, smallest 200 GB/s\n");
  }

  TEST_CASE("One node with an interconnect counts nothing that leaves it") {
    ClusterSpec cluster = cluster_of(FabricKind::single_switch, 1, 4, 4);
    CHECK(cuts_text(built(cluster)) == "rank: 4 groups, total 400 GB/s, smallest 100 GB/s\n");
    CHECK(built(cluster).latency_max() == Duration::nanoseconds(1000));
    CHECK(built(fabric_of(FabricKind::ring, 1)).cuts().empty());
  }

  TEST_CASE("Every cut is one of the links: no group can leave faster than all its ranks together") {
    for (const ClusterSpec& cluster : all_shapes()) {
      const std::string shape = text_of(cluster);
      CAPTURE(shape);
      const Topology topology = built(cluster);
      if (topology.ranks() == 1) {
        CHECK(topology.cuts().empty());
        continue;
      }
      REQUIRE(!topology.cuts().empty());
      CHECK(topology.cuts()[0].name == "rank");
      for (const Cut& cut : topology.cuts()) {
        CAPTURE(cut.name);
        CHECK(cut.groups >= 2);
        CHECK(cut.smallest_exit > 0);
        // What each rank gets through a memory by itself, all together need not.
        const bool alone = cut.smallest_exit * cut.groups <= cut.total_exit;
        CHECK((alone || cut.name == "memory"));
        CHECK(cut.smallest_exit <= cut.total_exit);
        CHECK(cut.total_exit <= topology.cuts()[0].total_exit);
      }
    }
  }

  TEST_CASE(
      "Bisections are never below the maximum flow between their halves, and equal it on regular fabrics") {
    for (const ClusterSpec& cluster : all_shapes()) {
      const std::string shape = text_of(cluster);
      CAPTURE(shape);
      const Topology topology = built(cluster);
      const Cut* const cut = find_cut(topology, "bisection");
      if (cut == nullptr || cluster.fabric.kind == FabricKind::torus ||
          cluster.fabric.kind == FabricKind::mesh)
        continue;  // a grid is halved along one dimension, not by rank number
      const Rank half = topology.placement().nodes / 2 * topology.placement().gpus_per_node;
      std::vector<VertexId> low;
      std::vector<VertexId> high;
      for (Rank rank = 0; rank < topology.ranks(); ++rank)
        (rank < half ? low : high).push_back(VertexId(rank));
      const auto flow = static_cast<std::int64_t>(topologies::maximum_flow(topology, low, high));
      const auto exit = static_cast<std::int64_t>(cut->smallest_exit);
      CHECK(exit >= flow);
      if (cluster.fabric.kind != FabricKind::custom) CHECK(exit == flow);
    }
  }

  TEST_CASE("Largest latency is that of Dijkstra from every rank for every small shape") {
    for (const ClusterSpec& cluster : all_shapes()) {
      const std::string shape = text_of(cluster);
      CAPTURE(shape);
      const Topology topology = built(cluster);
      const bool stays_inside =
          topology.placement().nodes == 1 && topology.placement().interconnect != InterconnectKind::none;
      std::int64_t largest = 0;
      for (Rank source = 0; source < topology.ranks(); ++source) {
        const auto latency =
            latencies_from(topology, VertexId(source), stays_inside ? inside_node : any_link);
        for (Rank target = 0; target < topology.ranks(); ++target)
          largest = std::max(largest, latency[static_cast<std::size_t>(target)]);
      }
      REQUIRE(topology.latency_max() == Duration::picoseconds(largest));
    }
  }
}

}  // namespace
}  // namespace collsim::testing
