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

  TEST_CASE("A fat tree has no switches above a single leaf or a single pod") {
    const auto switches_of = [](const ClusterSpec& cluster) {
      std::string counts;
      for (const topologies::SwitchCount& entry : topologies::measure(built(cluster)).switches)
        counts += entry.name + " " + std::to_string(entry.count) + " ";
      return counts;
    };
    const auto plain = [&](int levels, std::int32_t nodes) {
      return switches_of(tree_of(FabricKind::fat_tree, levels, 8, nodes, 1, 0));
    };
    CHECK(plain(2, 4) == "leaf 1 ");
    CHECK(plain(2, 5) == "leaf 2 spine 4 ");
    CHECK(plain(3, 4) == "leaf 1 ");
    CHECK(plain(3, 16) == "leaf 4 spine 4 ");
    CHECK(plain(3, 17) == "leaf 5 spine 8 core 16 ");  // the last pod is partly filled
    CHECK(switches_of(tree_of(FabricKind::rail_fat_tree, 3, 8, 4, 4, 4)) == "nvswitch 4 leaf 4 spine 4 ");
    CHECK(switches_of(tree_of(FabricKind::rail_fat_tree, 3, 8, 5, 4, 4)) ==
          "nvswitch 5 leaf 8 spine 8 core 16 ");
  }

  // A switch that only some ways lead over carries something; one that none lead over is not built.
  TEST_CASE("Every switch of a tree lies on a way between two endpoints") {
    for (const ClusterSpec& cluster : tree_shapes()) {
      CAPTURE(text_of(cluster));
      const Topology topology = built(cluster);
      const std::vector<std::int32_t> from_first = hops_from(topology, VertexId(0), any_link);
      for (std::uint32_t i = 0; i < topology.vertex_count(); ++i) {
        if (topology.vertex(VertexId(i)).kind != VertexKind::fabric_switch || cluster.nodes == 1) continue;
        std::set<VertexId> below;
        for (const Link& link : topology.links())
          if (link.source == VertexId(i)) below.insert(link.target);
        CAPTURE(topology.vertex_name(VertexId(i)));
        CHECK(from_first[i] > 0);
        CHECK(below.size() >= 2);
      }
    }
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

  TEST_CASE("A node that is alone has no fabric, and its NICs join nothing") {
    for (const FabricKind kind : {FabricKind::fat_tree, FabricKind::ring, FabricKind::full_mesh}) {
      ClusterSpec cluster = cluster_of(kind, 1, 8, 3);  // GPUs 3 and 4 share a NIC
      cluster.fabric.radix = 8;
      const Topology topology = built(cluster);
      CHECK(topology.name() == "1 x 8 GPUs (nvswitch)");
      const auto facts = topologies::measure(topology);
      REQUIRE(facts.switches.size() == 1);
      CHECK(facts.switches[0].name == "nvswitch");
      CHECK(facts.nics == 3);
      CHECK(static_cast<std::int64_t>(facts.bisection) == 4 * 100'000'000'000);
      CHECK(facts.diameter == 2);
      cluster.node.interconnect.kind = InterconnectKind::ring;
      CHECK(topologies::measure(built(cluster)).diameter == 4);
      cluster.node.interconnect.kind = InterconnectKind::none;  // then its GPUs meet over the fabric alone
      CHECK(built(cluster).placement().fabric == kind);
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
    CHECK(seen.size() == 7 + 11);
  }
}

}  // namespace
}  // namespace collsim::testing
