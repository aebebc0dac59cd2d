#include <doctest/doctest.h>

#include <set>

#include "tests/topologies/reference.hpp"
#include "tests/topologies/shapes.hpp"
#include "topologies/graph.hpp"
#include "topologies/kinds.hpp"
#include "topologies/measures.hpp"

namespace collsim::testing {
namespace {

TEST_SUITE("topologies") {
  TEST_CASE("Measures of a cluster count its parts") {
    const auto facts = topologies::measure(built(tree_of(FabricKind::fat_tree, 2, 8, 4, 4, 2)));
    CHECK(facts.ranks == 16);
    CHECK(facts.nodes == 4);
    CHECK(facts.nics == 8);
    REQUIRE(facts.switches.size() == 3);
    CHECK(facts.switches[0].name == "nvswitch");
    CHECK(facts.switches[0].count == 4);
    CHECK(facts.switches[1].name == "leaf");
    CHECK(facts.switches[1].count == 2);
    CHECK(facts.switches[2].name == "spine");
    CHECK(facts.switches[2].count == 4);
    CHECK(facts.cables == 16 + 16 + 8 + 2 * 4);
    CHECK(facts.links == 2 * facts.cables);
    CHECK(static_cast<std::int64_t>(facts.bisection) == 4 * 50'000'000'000);
    CHECK(facts.diameter == 6);
    CHECK(facts.latency_max == Duration::nanoseconds(2 * 1000 + 4 * 250));
  }

  TEST_CASE("Measures of a torus are its closed forms") {
    for (const std::vector<int>& sides : {std::vector{4}, {4, 3}, {6, 3, 2}, {8, 5}}) {
      ClusterSpec cluster = fabric_of(FabricKind::torus, 1);
      cluster.fabric.dimensions = {sides.rbegin(), sides.rend()};  // halved along the longest, the last
      const auto facts = topologies::measure(built(cluster));
      std::int32_t diameter = 0;
      std::int64_t across = 2 * 50'000'000'000;
      for (std::size_t k = 0; k < sides.size(); ++k) {
        diameter += sides[k] / 2;
        if (k > 0) across *= sides[k];
      }
      CHECK(facts.diameter == diameter);
      CHECK(static_cast<std::int64_t>(facts.bisection) == across);
    }
  }

  TEST_CASE("Measures of one rank are zero") {
    const auto facts = topologies::measure(built(fabric_of(FabricKind::single_switch, 1)));
    CHECK(facts.ranks == 1);
    CHECK(static_cast<std::int64_t>(facts.bisection) == 0);
    CHECK(facts.diameter == 0);
  }

  TEST_CASE("Graph says where there is no path") {
    const std::vector<Link> links = {
        {VertexId(0), VertexId(1), Bandwidth::gigabytes_per_second(1), Duration::nanoseconds(5)}};
    const topologies::Graph graph(3, links);
    CHECK(graph.hops(VertexId(0)) == std::vector<std::int32_t>{0, 1, -1});
    CHECK(graph.latencies(VertexId(0)) ==
          std::vector<Duration>{Duration(), Duration::nanoseconds(5), topologies::Graph::unreached_latency});
  }

  TEST_CASE("Kinds are listed once each, with a summary") {
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const topologies::KindInfo& kind : topologies::kinds()) {
      CHECK(seen.emplace(kind.key, kind.name).second);
      CHECK(!kind.summary.empty());
    }
    CHECK(seen.size() == 6 + 11);
  }
}

}  // namespace
}  // namespace collsim::testing
