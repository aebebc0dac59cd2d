// 131,072 ranks: built whole, looked at in a few places.
#include <doctest/doctest.h>

#include "tests/topologies/reference.hpp"

namespace collsim::testing {
namespace {

void check_some_routes(const Topology& topology, std::size_t links_max) {
  for (Rank source = 5; source < topology.ranks(); source += 16'411)
    for (Rank target = 3; target < topology.ranks(); target += 9'973) {
      if (source == target) continue;
      std::vector<LinkId> route;
      topology.route(source, target, 1, route);
      CHECK(path_fault(topology, source, target, route) == "");
      CHECK(route.size() <= links_max);
    }
}

const Cut& cut_of(const Topology& topology, const std::string& name) {
  for (const Cut& cut : topology.cuts())
    if (cut.name == name) return cut;
  FAIL("no cut " << name);
  return topology.cuts()[0];
}

TEST_SUITE("topologies") {
  TEST_CASE("Build makes a fat tree of 131,072 GPUs with as many NICs") {
    // Radix 128: d = u = 64, 64 * 64 * 128 = 524,288 ports.
    const Topology topology = built(tree_of(FabricKind::fat_tree, 3, 128, 16'384, 8, 8));
    CHECK(topology.ranks() == 131'072);
    // GPUs and NICs, node switches, 2,048 leaves, 32 pods of 64 spines, 4,096 cores.
    CHECK(topology.vertex_count() == 2 * 131'072 + 16'384 + 2'048 + 2'048 + 4'096);
    CHECK(topology.link_count() == 2 * (3 * 131'072 + 2 * 131'072));
    CHECK(topology.latency_max() == Duration::nanoseconds(2 * 1000 + 6 * 250));
    CHECK(cut_of(topology, "pod").groups == 32);
    CHECK(cut_of(topology, "bisection").smallest_exit == Int128{65'536} * 50'000'000'000);
    check_some_routes(topology, 8);
  }
  TEST_CASE("Build makes a rail fat tree of 131,072 GPUs with as many NICs") {
    const Topology topology = built(tree_of(FabricKind::rail_fat_tree, 3, 128, 16'384, 8, 8));
    CHECK(topology.latency_max() == Duration::nanoseconds(2 * 1000 + 6 * 250));
    check_some_routes(topology, 8);
  }
  TEST_CASE("Build makes a torus of 64 x 64 x 32") {
    ClusterSpec cluster = fabric_of(FabricKind::torus, 1);
    cluster.fabric.dimensions = {64, 64, 32};
    const Topology topology = built(cluster);
    CHECK(topology.ranks() == 131'072);
    CHECK(topology.link_count() == 6 * 131'072);
    CHECK(topology.latency_max() == Duration::nanoseconds((32 + 32 + 16) * 250));
    CHECK(cut_of(topology, "bisection").smallest_exit == Int128{2 * 64 * 32} * 50'000'000'000);
    check_some_routes(topology, 80);
  }
}

}  // namespace
}  // namespace collsim::testing
