#include "sim/report/description.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "tests/sim/report/sample_points.hpp"

namespace collsim {

TEST_SUITE_BEGIN("report");

namespace {

class NoRoutes : public RouteRule {
 public:
  void route(Rank, Rank, std::int32_t, std::vector<LinkId>&) const override {}
};

// Two nodes of two GPUs on a switch each, a NIC a node, one leaf between; two cables from the first NIC.
Topology two_nodes() {
  Topology::Parts parts;
  parts.name = "two nodes";
  parts.placement.nodes = 2;
  parts.placement.gpus_per_node = 2;
  parts.placement.nics_per_node = 1;
  parts.placement.interconnect = InterconnectKind::nvswitch;
  parts.placement.fabric = FabricKind::fat_tree;
  parts.vertices = {
      {VertexKind::gpu, 0, 0, 0}, {VertexKind::gpu, 0, 0, 1},         {VertexKind::gpu, 0, 1, 0},
      {VertexKind::gpu, 0, 1, 1}, {VertexKind::node_switch, 0, 0, 0}, {VertexKind::node_switch, 0, 1, 0},
      {VertexKind::nic, 0, 0, 0}, {VertexKind::nic, 0, 1, 0},         {VertexKind::fabric_switch, 1, -1, 0}};
  const auto cable = [&](int a, int b, Bandwidth bandwidth) {
    parts.links.push_back({VertexId(a), VertexId(b), bandwidth, Duration::nanoseconds(500)});
    parts.links.push_back({VertexId(b), VertexId(a), bandwidth, Duration::nanoseconds(500)});
  };
  const Bandwidth fast = Bandwidth::gigabytes_per_second(100);
  const Bandwidth slow = Bandwidth::bytes_per_second(12'500'000'000);
  cable(0, 4, fast);
  cable(1, 4, fast);
  cable(2, 5, fast);
  cable(3, 5, fast);
  cable(4, 6, slow);
  cable(5, 7, slow);
  cable(6, 8, slow);
  cable(6, 8, slow);
  cable(7, 8, slow);
  parts.routes = std::make_shared<NoRoutes>();
  parts.cuts = {{"node", 2, 25'000'000'000, 12'500'000'000}};
  parts.latency_max = Duration::microseconds(3);
  return Topology(std::move(parts));
}

}  // namespace

TEST_CASE("describe counts what a cluster is made of") {
  const Description description = describe(two_nodes());
  CHECK(description.ranks == 4);
  CHECK(description.nodes == 2);
  CHECK(description.nics == 2);
  REQUIRE(description.switches.size() == 2);
  CHECK(description.switches[0].kind == "nvswitch");
  CHECK(description.switches[0].count == 2);
  CHECK(description.switches[1].kind == "leaf");
  CHECK(description.switches[1].count == 1);
  CHECK(description.links == 18);
  CHECK(!description.diameter_links);
  CHECK(!description.bisection);
  CHECK(describe(cable_topology()).bisection == Int128{1'000'000'000});
}

TEST_CASE("description_text shows counts, cuts and bounds") {
  Collective collective;
  collective.bytes = Bytes(1'000'000);
  // Two ranks: the contribution of each crosses the cable once: 1 MB at 1 GB/s.
  Description description = describe(cable_topology());
  description.bounds.push_back({collective, lower_bound(collective, cable_topology())});
  description.diameter_links = 1;
  CHECK(description_text(description) ==
        "# 2 nodes on \"a cable\"\n"
        "ranks                2\n"
        "nodes                2\n"
        "NICs                 0\n"
        "switches             0\n"
        "cables               1 (2 links)\n"
        "bisection bandwidth  1.00 GB/s each way\n"
        "diameter             1 link, 0.10 us between the farthest ranks\n"
        "\n"
        "cut        groups  exit of all  exit of the weakest\n"
        "rank            2    2.00 GB/s            1.00 GB/s\n"
        "bisection       2    2.00 GB/s            1.00 GB/s\n"
        "\n"
        "size (B)  lower bound of all_reduce (us)  because of\n"
        " 1000000                         1000.00  rank\n");
}

TEST_CASE("description_json has the same facts, exact") {
  CHECK(description_json(describe(cable_topology()), "0.1.0") == R"({
  "collsim": "0.1.0",
  "cluster": "2 nodes on \"a cable\"",
  "ranks": 2,
  "nodes": 2,
  "nics": 0,
  "switches": {},
  "cables": 1,
  "links": 2,
  "bisection_bytes_per_s": 1000000000,
  "diameter_links": null,
  "latency_max_ps": 100000,
  "cuts": [
    {
      "name": "rank",
      "groups": 2,
      "total_exit_bytes_per_s": 2000000000,
      "smallest_exit_bytes_per_s": 1000000000
    },
    {
      "name": "bisection",
      "groups": 2,
      "total_exit_bytes_per_s": 2000000000,
      "smallest_exit_bytes_per_s": 1000000000
    }
  ],
  "bounds": []
}
)");
}

TEST_CASE("dot_text draws a vertex once, a cable once, and names with quotes safely") {
  CHECK(dot_text(cable_topology()) == R"(graph "2 nodes on \"a cable\"" {
  subgraph "cluster_node0" {
    label="node0";
    "node0/gpu0" [shape=box];
  }
  subgraph "cluster_node1" {
    label="node1";
    "node1/gpu0" [shape=box];
  }
  "node0/gpu0" -- "node1/gpu0" [label="1 GB/s, 100 ns"];
}
)");
}

TEST_CASE("dot_text draws parallel cables each, and switches outside the nodes") {
  const std::string text = dot_text(two_nodes());
  std::size_t edges = 0;
  for (std::size_t at = text.find(" -- "); at != std::string::npos; at = text.find(" -- ", at + 1)) ++edges;
  CHECK(edges == 9);
  CHECK(text.find("\n  \"leaf0\" [shape=ellipse];\n") != std::string::npos);
  CHECK(text.find("[label=\"12.5 GB/s, 500 ns\"];\n") != std::string::npos);
}

TEST_CASE("dot_text draws a link without its way back as an arrow") {
  Topology::Parts parts;
  parts.name = "one way";
  parts.placement.nodes = 2;
  parts.vertices = {{VertexKind::gpu, 0, 0, 0}, {VertexKind::gpu, 0, 1, 0}};
  parts.links = {{VertexId(1), VertexId(0), Bandwidth::gigabytes_per_second(1), Duration()}};
  parts.routes = std::make_shared<NoRoutes>();
  CHECK(dot_text(Topology(std::move(parts)))
            .find("  \"node1/gpu0\" -- \"node0/gpu0\" [label=\"1 GB/s, 0 ns\", dir=forward];\n") !=
        std::string::npos);
}

TEST_SUITE_END();

}  // namespace collsim
