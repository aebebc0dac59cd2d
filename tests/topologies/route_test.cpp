// Every route of every small shape, against breadth-first search over the links.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"

namespace collsim::testing {
namespace {

void check_routes(const ClusterSpec& cluster) {
  const std::string shape = text_of(cluster);
  CAPTURE(shape);
  const Topology topology = built(cluster, 7);
  const Topology again = built(cluster, 7);
  for (Rank source = 0; source < topology.ranks(); ++source) {
    const ShortestRoutes shortest(topology, cluster, source);
    for (Rank target = 0; target < topology.ranks(); ++target) {
      if (source == target) continue;
      for (std::int32_t channel = 0; channel < 3; ++channel) {
        CAPTURE(source);
        CAPTURE(target);
        CAPTURE(channel);
        const std::vector<LinkId> route = route_of(topology, source, target, channel);
        REQUIRE(path_fault(topology, source, target, route) == "");
        REQUIRE(route == route_of(again, source, target, channel));
        REQUIRE(route.size() == shortest.to(target).links);
      }
    }
  }
}

TEST_SUITE("topologies") {
  TEST_CASE("Routes inside a node are shortest paths for every interconnect") {
    for (const ClusterSpec& cluster : node_shapes()) check_routes(cluster);
  }
  TEST_CASE(
      "Routes on switches and fat trees are shortest paths, also where leaves and pods are part-filled") {
    for (const ClusterSpec& cluster : tree_shapes()) check_routes(cluster);
  }
  TEST_CASE("Routes on tori and meshes are shortest paths, also on sides of 1 and 2") {
    for (const ClusterSpec& cluster : grid_shapes()) check_routes(cluster);
  }
  TEST_CASE("Routes on dragonflies take at most one global cable and are shortest among those") {
    for (const ClusterSpec& cluster : dragonfly_shapes()) check_routes(cluster);
  }
  TEST_CASE("Routes on full meshes, hypercubes and custom links are shortest paths") {
    for (const ClusterSpec& cluster : direct_shapes()) check_routes(cluster);
  }

  TEST_CASE("Fat tree routes go up by the digits of the target's endpoint number") {
    // Radix 4: d = u = 2, pods of 2 leaves, 16 endpoints.
    const Topology topology = built(tree_of(FabricKind::fat_tree, 3, 4, 16, 1, 0));
    for (Rank target = 4; target < 16; ++target) {
      CAPTURE(target);
      const std::int32_t spine = target % 2;
      const std::int32_t core = spine * 2 + target / 2 % 2;
      const std::int32_t pod = target / 4;
      CHECK(names_of(topology, route_of(topology, 0, target)) ==
            std::vector<std::string>{"leaf0", "spine" + std::to_string(spine), "core" + std::to_string(core),
                                     "spine" + std::to_string(2 * pod + spine),
                                     "leaf" + std::to_string(target / 2),
                                     "node" + std::to_string(target) + "/gpu0"});
    }
    CHECK(names_of(topology, route_of(topology, 0, 3)) ==
          std::vector<std::string>{"leaf0", "spine1", "leaf1", "node3/gpu0"});
  }

  TEST_CASE("Fat tree without oversubscription gives every permutation of d-mod-k shift its own links") {
    // Shift permutations are free of conflicts under d-mod-k (Zahavi 2012).
    const Topology topology = built(tree_of(FabricKind::fat_tree, 3, 4, 16, 1, 0));
    for (Rank shift = 1; shift < 16; ++shift) {
      CAPTURE(shift);
      std::set<LinkId> used;
      for (Rank source = 0; source < 16; ++source)
        for (const LinkId id : route_of(topology, source, (source + shift) % 16))
          CHECK(used.insert(id).second);
    }
  }

  TEST_CASE("Rail fat tree puts NIC i of neighbouring nodes on one leaf") {
    // d = 4, so nodes 0-3 share a leaf per rail and nodes 4-5 another: leaves 2i and 2i + 1.
    const Topology topology = built(tree_of(FabricKind::rail_fat_tree, 2, 8, 6, 4, 4));
    for (std::int32_t rail = 0; rail < 4; ++rail) {
      CAPTURE(rail);
      const std::string nic = "/nic" + std::to_string(rail);
      CHECK(names_of(topology, route_of(topology, rail, 12 + rail)) ==
            std::vector<std::string>{"node0" + nic, "leaf" + std::to_string(2 * rail), "node3" + nic,
                                     "node3/gpu" + std::to_string(rail)});
      CHECK(names_of(topology, route_of(topology, rail, 20 + rail))[3] ==
            "leaf" + std::to_string(2 * rail + 1));
    }
  }

  TEST_CASE("GPU g of G uses NIC floor(g n / G)") {
    const Topology topology = built(cluster_of(FabricKind::single_switch, 2, 5, 3));
    const std::vector<std::int32_t> nic_of = {0, 0, 1, 1, 2};
    for (Rank gpu = 0; gpu < 5; ++gpu)
      CHECK(names_of(topology, route_of(topology, gpu, 5 + gpu)) ==
            std::vector<std::string>{"node0/nic" + std::to_string(nic_of[static_cast<std::size_t>(gpu)]),
                                     "switch0",
                                     "node1/nic" + std::to_string(nic_of[static_cast<std::size_t>(gpu)]),
                                     "node1/gpu" + std::to_string(gpu)});
  }

  TEST_CASE("Torus routes correct x first, the shorter way round, ties in the + direction") {
    ClusterSpec cluster = fabric_of(FabricKind::torus, 1);
    cluster.fabric.dimensions = {4, 3};
    const Topology topology = built(cluster);
    const auto nodes_of = [&](Rank source, Rank target) {
      std::vector<std::int32_t> nodes;
      for (const LinkId id : route_of(topology, source, target))
        nodes.push_back(topology.vertex(topology.link(id).target).node);
      return nodes;
    };
    CHECK(nodes_of(0, 2) == std::vector<std::int32_t>{1, 2});     // two either way: +
    CHECK(nodes_of(0, 3) == std::vector<std::int32_t>{3});        // round the end
    CHECK(nodes_of(0, 11) == std::vector<std::int32_t>{3, 11});   // x, then y backwards
    CHECK(nodes_of(3, 5) == std::vector<std::int32_t>{0, 1, 5});  // two either way: + over the end
  }

  TEST_CASE("NVSwitch planes take the channels in turn and share the bandwidth of a GPU") {
    ClusterSpec cluster = node_of(InterconnectKind::nvswitch, 3);
    cluster.node.interconnect.planes = 3;
    cluster.node.interconnect.bandwidth = Bandwidth::bytes_per_second(100);
    const Topology topology = built(cluster);
    std::int64_t whole = 0;
    for (std::int32_t channel = 0; channel < 3; ++channel) {
      const auto route = route_of(topology, 0, 2, channel);
      CHECK(names_of(topology, route)[0] == "node0/nvswitch" + std::to_string(channel));
      whole += topology.link(route[0]).bandwidth.bytes_per_second();
    }
    CHECK(whole == 100);
  }

  TEST_CASE("ECMP routes reach every shortest path and depend on the seed") {
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 3, 6, 54, 1, 0);
    cluster.routing.kind = RoutingKind::ecmp;
    const Topology topology = built(cluster, 1);
    std::set<std::vector<LinkId>> paths;
    for (std::int32_t channel = 0; channel < 400; ++channel) paths.insert(route_of(topology, 0, 53, channel));
    CHECK(paths.size() == 9);  // 3 spines, 3 ports each
    ClusterSpec torus = fabric_of(FabricKind::torus, 1);
    torus.fabric.dimensions = {4, 4};
    torus.routing.kind = RoutingKind::ecmp;
    const Topology wrapped = built(torus, 1);
    paths.clear();
    for (std::int32_t channel = 0; channel < 2000; ++channel) paths.insert(route_of(wrapped, 0, 10, channel));
    CHECK(paths.size() == 24);  // 6 orders of two x and two y steps, four pairs of directions
    const Topology other = built(torus, 2);
    std::int32_t different = 0;
    for (std::int32_t channel = 0; channel < 100; ++channel)
      different += route_of(other, 0, 10, channel) != route_of(wrapped, 0, 10, channel);
    CHECK(different > 50);
  }
}

}  // namespace
}  // namespace collsim::testing
