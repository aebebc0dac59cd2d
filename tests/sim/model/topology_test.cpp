#include "sim/model/topology.hpp"

#include <doctest/doctest.h>

#include "sim/core/check.hpp"

namespace collsim {
namespace {

constexpr Bandwidth fast = Bandwidth::gigabytes_per_second(1);

// Two GPUs of one node and a switch, without routes.
Topology::Parts parts_of(std::vector<Link> links) {
  Topology::Parts parts;
  parts.placement.gpus_per_node = 2;
  parts.placement.interconnect = InterconnectKind::nvswitch;
  parts.vertices = {
      {VertexKind::gpu, 0, 0, 0}, {VertexKind::gpu, 0, 0, 1}, {VertexKind::node_switch, 0, 0, 0}};
  parts.links = std::move(links);
  return parts;
}

Link link_of(int source, int target, Bandwidth bandwidth = fast, Duration latency = {}) {
  return {VertexId(source), VertexId(target), bandwidth, latency};
}

std::string vertex_name(const Vertex& vertex, InterconnectKind interconnect, FabricKind fabric) {
  Topology::Parts parts;
  parts.placement.interconnect = interconnect;
  parts.placement.fabric = fabric;
  parts.vertices = {{VertexKind::gpu, 0, 0, 0}, vertex};
  return Topology(std::move(parts)).vertex_name(VertexId(1));
}

TEST_SUITE("sim/model") {
  TEST_CASE("Topology names vertices by kind, level and place") {
    using enum InterconnectKind;
    CHECK(vertex_name({VertexKind::gpu, 0, 2, 3}, nvswitch, FabricKind::none) == "node2/gpu3");
    CHECK(vertex_name({VertexKind::nic, 0, 2, 1}, nvswitch, FabricKind::none) == "node2/nic1");
    CHECK(vertex_name({VertexKind::node_switch, 0, 2, 0}, nvswitch, FabricKind::none) == "node2/nvswitch0");
    CHECK(vertex_name({VertexKind::node_switch, 0, 2, 1}, pcie, FabricKind::none) == "node2/pcie_switch1");
    CHECK(vertex_name({VertexKind::node_switch, 0, 2, -1}, pcie, FabricKind::none) == "node2/pcie_root");
    CHECK(vertex_name({VertexKind::node_switch, 0, 2, 0}, shared_memory, FabricKind::none) ==
          "node2/memory_in");
    CHECK(vertex_name({VertexKind::node_switch, 0, 2, 1}, shared_memory, FabricKind::none) ==
          "node2/memory_out");
    CHECK(vertex_name({VertexKind::fabric_switch, 1, -1, 4}, none, FabricKind::fat_tree) == "leaf4");
    CHECK(vertex_name({VertexKind::fabric_switch, 2, -1, 1}, none, FabricKind::rail_fat_tree) == "spine1");
    CHECK(vertex_name({VertexKind::fabric_switch, 3, -1, 0}, none, FabricKind::fat_tree) == "core0");
    CHECK(vertex_name({VertexKind::fabric_switch, 1, -1, 0}, none, FabricKind::single_switch) == "switch0");
    CHECK(vertex_name({VertexKind::fabric_switch, 1, -1, 7}, none, FabricKind::torus) == "router7");
  }

  TEST_CASE("A reduction in a shared memory is rounded up as bytes copied, its rate down") {
    const auto rate = [](std::int64_t value) { return Bandwidth::bytes_per_second(value); };
    const SharedMemory memory{LinkId(0), rate(15), rate(12)};
    CHECK(memory.reduction(Bytes(0)) == Bytes(0));
    CHECK(memory.reduction(Bytes(1)) == Bytes(2));
    CHECK(memory.reduction(Bytes(4)) == Bytes(5));
    CHECK(memory.reduction(rate(8)) == rate(10));
    CHECK(memory.reduction(rate(9)) == rate(11));
    const SharedMemory fast{LinkId(0), rate(2), rate(std::int64_t{1} << 50)};
    CHECK(fast.reduction(Bytes(1)) == Bytes(1));
    CHECK(fast.reduction(rate(1)) == rate(1));
    const SharedMemory slow{LinkId(0), rate(std::int64_t{1} << 50), rate(1)};
    CHECK(slow.reduction(Bytes(1 << 12)) == Bytes(std::int64_t{1} << 62));
    CHECK_THROWS_AS(slow.reduction(Bytes((1 << 12) + 1)), InternalError);
    CHECK(slow.reduction(rate(std::int64_t{1} << 40)) == rate(std::int64_t{1} << 62));
  }

  TEST_CASE("Topology prefers names that it was given") {
    Topology::Parts parts = parts_of({});
    parts.vertex_names = {"a", "b", "hub"};
    CHECK(Topology(std::move(parts)).vertex_name(VertexId(2)) == "hub");
  }

  TEST_CASE("Topology numbers parallel links, wherever they stand in the list") {
    const Topology topology(
        parts_of({link_of(0, 1), link_of(2, 0), link_of(1, 0), link_of(0, 1), link_of(0, 2), link_of(0, 1)}));
    CHECK(topology.link_name(LinkId(0)) == "node0/gpu0 -> node0/gpu1#1");
    CHECK(topology.link_name(LinkId(1)) == "node0/nvswitch0 -> node0/gpu0");
    CHECK(topology.link_name(LinkId(2)) == "node0/gpu1 -> node0/gpu0");
    CHECK(topology.link_name(LinkId(3)) == "node0/gpu0 -> node0/gpu1#2");
    CHECK(topology.link_name(LinkId(4)) == "node0/gpu0 -> node0/nvswitch0");
    CHECK(topology.link_name(LinkId(5)) == "node0/gpu0 -> node0/gpu1#3");
  }

  TEST_CASE("Topology refuses parts that break its invariants") {
    CHECK_THROWS_AS(Topology(parts_of({link_of(0, 3)})), InternalError);
    CHECK_THROWS_AS(Topology(parts_of({link_of(3, 0)})), InternalError);
    CHECK_THROWS_AS(Topology(parts_of({link_of(1, 1)})), InternalError);
    CHECK_THROWS_AS(Topology(parts_of({link_of(0, 1, Bandwidth())})), InternalError);
    CHECK_THROWS_AS(Topology(parts_of({link_of(0, 1, fast, Duration::picoseconds(-1))})), InternalError);
    Topology::Parts parts = parts_of({});
    parts.vertices[1].kind = VertexKind::nic;
    CHECK_THROWS_AS(Topology(std::move(parts)), InternalError);
    parts = parts_of({});
    parts.placement.gpus_per_node = 4;
    CHECK_THROWS_AS(Topology(std::move(parts)), InternalError);
    parts = parts_of({});
    parts.vertex_names = {"a"};
    CHECK_THROWS_AS(Topology(std::move(parts)), InternalError);
  }

  TEST_CASE("Topology says that nothing reduces where it has no rule for it") {
    const Topology topology(parts_of({}));
    const auto result =
        topology.aggregation({AggregationScope::node, AggregationMode::all_reduce, {0, 1}, 0, 0});
    REQUIRE(std::holds_alternative<Impossible>(result));
    CHECK(std::get<Impossible>(result).reason ==
          "nothing in the cluster reduces (cluster.node.interconnect.reduction and cluster.fabric.reduction "
          "are not "
          "set)");
  }

  TEST_CASE("Kinds are named as in experiment files") {
    CHECK(std::string(name_of(InterconnectKind::hybrid_cube_mesh)) == "hybrid_cube_mesh");
    CHECK(std::string(name_of(FabricKind::single_switch)) == "switch");
    CHECK(std::string(name_of(FabricKind::rail_fat_tree)) == "rail_fat_tree");
  }
}

}  // namespace
}  // namespace collsim
