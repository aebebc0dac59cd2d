#include "topologies/node_rings.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/topologies/reference.hpp"

namespace collsim::testing {
namespace {

// Every ring visits every GPU, its steps are single links, and ring i on channel i shares none with another.
void check_rings(InterconnectKind kind, std::int32_t gpus, std::size_t expected, bool disjoint = true) {
  CAPTURE(name_of(kind));
  CAPTURE(gpus);
  const Topology topology = built(node_of(kind, gpus));
  const auto& rings = topology.placement().node_rings;
  CHECK(rings.size() == expected);
  std::set<LinkId> used;
  for (std::size_t ring = 0; ring < rings.size(); ++ring) {
    CAPTURE(ring);
    std::vector<std::int32_t> sorted = rings[ring];
    std::sort(sorted.begin(), sorted.end());
    REQUIRE(sorted.size() == static_cast<std::size_t>(gpus));
    for (std::int32_t gpu = 0; gpu < gpus; ++gpu) REQUIRE(sorted[static_cast<std::size_t>(gpu)] == gpu);
    for (std::size_t i = 0; i < rings[ring].size(); ++i) {
      std::vector<LinkId> route;
      topology.route(rings[ring][i], rings[ring][(i + 1) % rings[ring].size()],
                     static_cast<std::int32_t>(ring), route);
      if (!disjoint) continue;
      REQUIRE(route.size() == 1);
      CHECK(used.insert(route[0]).second);
    }
  }
}

TEST_SUITE("topologies") {
  TEST_CASE("Rings of a node are Hamiltonian and share no link, for every size of mesh and ring") {
    for (std::int32_t gpus = 2; gpus <= 33; ++gpus) {
      const auto count = static_cast<std::size_t>(gpus);
      const std::size_t in_mesh = gpus == 2 ? 1 : gpus == 8 ? 7 : gpus % 2 == 1 ? count - 1 : count - 2;
      check_rings(InterconnectKind::full_mesh, gpus, in_mesh);
      check_rings(InterconnectKind::ring, gpus, gpus == 2 ? 1 : 2);
      check_rings(InterconnectKind::pcie, gpus, 1, false);
      check_rings(InterconnectKind::nvswitch, gpus, 0);
    }
    CHECK(built(node_of(InterconnectKind::full_mesh, 1)).placement().node_rings.empty());
  }
  TEST_CASE("Rings of the hybrid cube mesh use all 48 directed NVLinks once") {
    check_rings(InterconnectKind::hybrid_cube_mesh, 8, 6);
    CHECK(built(node_of(InterconnectKind::hybrid_cube_mesh, 8)).link_count() == 48);
  }
}

}  // namespace
}  // namespace collsim::testing
