// Every way to ask for a cluster that cannot be, with the whole message.
#include <doctest/doctest.h>

#include <limits>

#include "tests/topologies/reference.hpp"

namespace collsim::testing {
namespace {

std::string error_of(const ClusterSpec& cluster) {
  const auto result = topologies::build(cluster);
  const auto* error = std::get_if<topologies::BuildError>(&result);
  return error == nullptr ? "" : error->key + ": " + error->message + "; expected " + error->expected;
}

ClusterSpec grid(FabricKind kind, std::vector<int> sides, std::int32_t nodes = 1) {
  ClusterSpec cluster = fabric_of(kind, nodes);
  cluster.fabric.dimensions = std::move(sides);
  return cluster;
}

ClusterSpec custom(std::int32_t nodes, std::vector<CustomLink> links) {
  ClusterSpec cluster = fabric_of(FabricKind::custom, nodes);
  cluster.fabric.links = std::move(links);
  return cluster;
}

ClusterSpec dragonfly(std::int32_t nodes, int routers, int on_router, int global_links) {
  ClusterSpec cluster = fabric_of(FabricKind::dragonfly, nodes);
  cluster.fabric.dragonfly_routers = routers;
  cluster.fabric.dragonfly_nodes = on_router;
  cluster.fabric.dragonfly_global_links = global_links;
  return cluster;
}

TEST_SUITE("topologies") {
  TEST_CASE("Build refuses counts that are not positive") {
    CHECK(error_of(fabric_of(FabricKind::ring, 0)) ==
          "cluster.nodes: the number of nodes is 0; expected a whole number of at least 1");
    CHECK(error_of(node_of(InterconnectKind::nvswitch, -3)) ==
          "cluster.node.gpus: the number of GPUs in a node is -3; expected a whole number of at least 1");
    CHECK(error_of(cluster_of(FabricKind::ring, 2, 2, -1)) ==
          "cluster.node.nics.count: the number of NICs is -1; expected a whole number of at least 0");
    ClusterSpec pcie = node_of(InterconnectKind::pcie, 4);
    pcie.node.interconnect.gpus_per_switch = 0;
    CHECK(
        error_of(pcie) ==
        "cluster.node.interconnect.gpus_per_switch: the number of GPUs under a PCIe switch is 0; expected a "
        "whole number of at least 1");
    ClusterSpec planes = node_of(InterconnectKind::nvswitch, 4);
    planes.node.interconnect.planes = 0;
    CHECK(error_of(planes) ==
          "cluster.node.interconnect.planes: the number of switch planes is 0; expected a whole number of at "
          "least 1");
  }

  TEST_CASE("Build refuses bandwidths and latencies that are missing or negative") {
    ClusterSpec cluster = cluster_of(FabricKind::ring, 2, 2, 1);
    cluster.node.interconnect.bandwidth = Bandwidth();
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.bandwidth: the interconnect of a node has no bandwidth; expected a "
          "bandwidth "
          "such as 50 GB/s");
    cluster = cluster_of(FabricKind::ring, 2, 2, 1);
    cluster.node.nics.bandwidth = Bandwidth();
    CHECK(error_of(cluster) ==
          "cluster.node.nics.bandwidth: a NIC has no bandwidth; expected a bandwidth such as 50 GB/s");
    cluster.node.nics.bandwidth = Bandwidth::bytes_per_second(-1);
    CHECK(
        error_of(cluster) ==
        "cluster.node.nics.bandwidth: a NIC has a negative bandwidth; expected a bandwidth such as 50 GB/s");
    cluster = fabric_of(FabricKind::ring, 2);
    cluster.fabric.bandwidth = Bandwidth();
    CHECK(error_of(cluster) ==
          "cluster.fabric.bandwidth: the fabric has no bandwidth; expected a bandwidth such as 50 GB/s");
    cluster = fabric_of(FabricKind::ring, 2);
    cluster.fabric.latency = Duration::picoseconds(-1);
    CHECK(error_of(cluster) ==
          "cluster.fabric.latency: the fabric has a negative latency; expected a latency such as 500 ns");
    cluster = fabric_of(FabricKind::ring, 2);
    cluster.node.gpu.reduce_bandwidth = Bandwidth();
    CHECK(error_of(cluster) ==
          "cluster.node.gpu.reduce_bandwidth: a GPU has no bandwidth; expected a bandwidth such as 50 GB/s");
    cluster.node.gpu = {};
    cluster.node.gpu.send_overhead = Duration::picoseconds(-1);
    CHECK(
        error_of(cluster) ==
        "cluster.node.gpu.send_overhead: a GPU has a negative send_overhead; expected a duration such as 500 "
        "ns");
  }

  TEST_CASE("Build refuses nodes that do not hold together") {
    CHECK(error_of(node_of(InterconnectKind::hybrid_cube_mesh, 4)) ==
          "cluster.node.gpus: a hybrid_cube_mesh has 8 GPUs, not 4; expected 8");
    CHECK(error_of(node_of(InterconnectKind::hybrid_cube_mesh, 1)) ==
          "cluster.node.gpus: a hybrid_cube_mesh has 8 GPUs, not 1; expected 8");
    CHECK(error_of(node_of(InterconnectKind::none, 8)) ==
          "cluster.node.interconnect: 8 GPUs have neither an interconnect nor a fabric; expected an "
          "interconnect "
          "or a fabric");
    CHECK(error_of(node_of(InterconnectKind::full_mesh, 1025)) ==
          "cluster.node.gpus: a full_mesh of 1025 GPUs in one node is too large; expected at most 1024");
    CHECK(error_of(cluster_of(FabricKind::ring, 2, 2, 3)) ==
          "cluster.node.nics.count: 3 NICs for 2 GPUs leave some without a GPU, since every GPU uses one; "
          "expected "
          "at most 2");
    ClusterSpec planes = node_of(InterconnectKind::ring, 4);
    planes.node.interconnect.planes = 2;
    CHECK(error_of(planes) ==
          "cluster.node.interconnect.planes: an interconnect of kind ring has no switch planes; expected "
          "planes "
          "only with kind nvswitch");
    planes = node_of(InterconnectKind::nvswitch, 4);
    planes.node.interconnect.planes = 9;
    planes.node.interconnect.bandwidth = Bandwidth::bytes_per_second(8);
    CHECK(
        error_of(planes) ==
        "cluster.node.interconnect.planes: 9 planes leave less than one byte per second each; expected fewer "
        "planes");
  }

  TEST_CASE("Build refuses a shared memory without a total, and a total without one") {
    ClusterSpec cluster = node_of(InterconnectKind::shared_memory, 4);
    cluster.node.interconnect.total.reset();
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.total: the memory that the ranks of a node share has no bandwidth; "
          "expected a bandwidth such as 50 GB/s");
    cluster = node_of(InterconnectKind::shared_memory, 4);
    cluster.node.interconnect.reduce_total = Bandwidth::bytes_per_second(-1);
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.reduce_total: the memory that the ranks of a node share has a negative "
          "bandwidth; expected a bandwidth such as 50 GB/s");
    cluster = node_of(InterconnectKind::shared_memory, 4);
    cluster.node.interconnect.reduction.enabled = true;
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.reduction: an interconnect or fabric of kind shared_memory has no "
          "switches that reduce; expected reduction only with kind nvswitch");
    cluster = node_of(InterconnectKind::pcie, 4);
    cluster.node.interconnect.reduce_total = Bandwidth::gigabytes_per_second(1);
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.reduce_total: an interconnect of kind pcie has no shared memory; "
          "expected reduce_total only with kind shared_memory");
    cluster.node.interconnect.total = Bandwidth::gigabytes_per_second(1);
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.total: an interconnect of kind pcie has no shared memory; expected "
          "total only with kind shared_memory");
  }

  TEST_CASE("Build refuses reduction where no switch reduces, and impossible limits") {
    ClusterSpec cluster = node_of(InterconnectKind::full_mesh, 4);
    cluster.node.interconnect.reduction.enabled = true;
    CHECK(error_of(cluster) ==
          "cluster.node.interconnect.reduction: an interconnect or fabric of kind full_mesh has no switches "
          "that "
          "reduce; expected reduction only with kind nvswitch");
    cluster = grid(FabricKind::torus, {2, 2});
    cluster.fabric.reduction.enabled = true;
    CHECK(error_of(cluster) ==
          "cluster.fabric.reduction: an interconnect or fabric of kind torus has no switches that reduce; "
          "expected "
          "reduction only with kind switch, fat_tree or rail_fat_tree");
    cluster = node_of(InterconnectKind::nvswitch, 4);
    cluster.fabric.reduction.enabled = true;
    CHECK(error_of(cluster) ==
          "cluster.fabric.reduction: an interconnect or fabric of kind none has no switches that reduce; "
          "expected "
          "reduction only with kind switch, fat_tree or rail_fat_tree");
    cluster = fabric_of(FabricKind::single_switch, 4);
    cluster.fabric.reduction.enabled = true;
    cluster.fabric.reduction.radix = 1;
    CHECK(
        error_of(cluster) ==
        "cluster.fabric.reduction.radix: the radix of a reducing switch is 1; expected a whole number of at "
        "least 2");
    cluster.fabric.reduction.radix = 2;
    cluster.fabric.reduction.operations = 0;
    CHECK(error_of(cluster) ==
          "cluster.fabric.reduction.operations: the number of operations in flight is 0; expected a whole "
          "number "
          "of at least 1");
    cluster.fabric.reduction.operations = 1;
    cluster.fabric.reduction.bandwidth = Bandwidth();
    CHECK(
        error_of(cluster) ==
        "cluster.fabric.reduction.bandwidth: the reduction has no bandwidth; expected a bandwidth such as 50 "
        "GB/s");
    cluster.fabric.reduction.bandwidth = std::nullopt;
    cluster.fabric.reduction.message_size_max = Bytes(0);
    CHECK(error_of(cluster) ==
          "cluster.fabric.reduction.message_size_max: the largest aggregation has no bytes; expected a size "
          "such "
          "as 1 GiB");
  }

  TEST_CASE("Build refuses several nodes without a fabric and clusters past every limit") {
    ClusterSpec cluster = node_of(InterconnectKind::nvswitch, 8);
    cluster.nodes = 2;
    CHECK(error_of(cluster) ==
          "cluster.fabric: 2 nodes have no fabric between them; expected a fabric, or 1 node");
    CHECK(error_of(fabric_of(FabricKind::ring, std::numeric_limits<std::int32_t>::max())) ==
          "cluster.nodes: 2147483647 nodes of 1 GPU are more than the limit of 16777216 GPUs; expected a "
          "smaller "
          "cluster");
    CHECK(error_of(fabric_of(FabricKind::full_mesh, 131'072)) ==
          "cluster.nodes: 131072 GPUs joined like this need about 8590131200 cables, more than the limit of "
          "33554432; expected a smaller cluster");
  }

  TEST_CASE("Build refuses fat trees whose numbers do not fit") {
    CHECK(error_of(tree_of(FabricKind::fat_tree, 2, 8, 16, 8, 8)) ==
          "cluster.fabric.radix: 16 nodes of 8 NICs need 128 ports, a 2-level fat_tree of radix 8 has 32; "
          "expected "
          "a radix of at least 16");
    CHECK(error_of(tree_of(FabricKind::fat_tree, 1, 8, 9, 1, 0)) ==
          "cluster.fabric.radix: 9 nodes need 9 ports, a 1-level fat_tree of radix 8 has 8; expected a radix "
          "of "
          "at least 9");
    CHECK(error_of(tree_of(FabricKind::fat_tree, 3, 4, 17, 1, 0)) ==
          "cluster.fabric.radix: 17 nodes need 17 ports, a 3-level fat_tree of radix 4 has 16; expected a "
          "radix of "
          "at least 6");
    CHECK(error_of(tree_of(FabricKind::rail_fat_tree, 2, 4, 3, 3, 3)) ==
          "cluster.fabric.radix: 3 nodes of 3 NICs need 9 ports, a 2-level rail_fat_tree of radix 4 has 8; "
          "expected "
          "a radix of at least 6");
    CHECK(
        error_of(tree_of(FabricKind::rail_fat_tree, 2, 8, 1, 9, 9)) ==
        "cluster.fabric.radix: 1 node of 9 NICs need 9 leaf switches, since every NIC number starts on a new "
        "one; a 2-level rail_fat_tree of radix 8 has 8; expected a radix of at least 10");
    ClusterSpec cluster = tree_of(FabricKind::fat_tree, 2, 7, 2, 1, 0);
    CHECK(error_of(cluster) ==
          "cluster.fabric.radix: 7 ports with an oversubscription of 1:1 do not split into whole numbers of "
          "ports "
          "down and up; expected a multiple of 2");
    cluster = tree_of(FabricKind::fat_tree, 2, 64, 2, 1, 0);
    cluster.fabric.oversubscription_numerator = 6;
    cluster.fabric.oversubscription_denominator = 4;
    CHECK(error_of(cluster) ==
          "cluster.fabric.radix: 64 ports with an oversubscription of 6:4 do not split into whole numbers of "
          "ports "
          "down and up; expected a multiple of 5");
    cluster.fabric.oversubscription_denominator = 0;
    CHECK(error_of(cluster) ==
          "cluster.fabric.oversubscription: the oversubscription is not positive; expected a number above 0, "
          "such "
          "as 1 or 2");
    CHECK(error_of(tree_of(FabricKind::fat_tree, 4, 8, 2, 1, 0)) ==
          "cluster.fabric.levels: a fat tree of 4 levels; expected 1, 2 or 3");
    CHECK(
        error_of(tree_of(FabricKind::fat_tree, 2, 0, 2, 1, 0)) ==
        "cluster.fabric.radix: the switches of the fat tree have 0 ports; expected a radix from 2 to 65536");
  }

  TEST_CASE("Build refuses grids and hypercubes of the wrong size") {
    CHECK(error_of(grid(FabricKind::torus, {})) ==
          "cluster.fabric.dimensions: a torus has no dimensions; expected a list such as [4, 4, 4]");
    CHECK(error_of(grid(FabricKind::mesh, {4, 0})) ==
          "cluster.fabric.dimensions: a side of the mesh is 0; expected a whole number of at least 1");
    CHECK(error_of(grid(FabricKind::torus, {4, 4}, 8)) ==
          "cluster.nodes: the dimensions make 16 nodes, not 8; expected 16, or no nodes at all");
    CHECK(error_of(grid(FabricKind::torus, {4, 4}, 16)) == "");
    CHECK(error_of(grid(FabricKind::torus, {65536, 65536, 65536})) ==
          "cluster.fabric.dimensions: the torus has more than 16777216 nodes; expected smaller sides");
    CHECK(error_of(fabric_of(FabricKind::hypercube, 12)) ==
          "cluster.nodes: a hypercube cannot have 12 nodes; expected a power of two, such as 8 or 16");
  }

  TEST_CASE("Build refuses dragonflies whose groups cannot all be joined") {
    CHECK(error_of(dragonfly(4, 0, 1, 1)) ==
          "cluster.fabric.routers: the number of routers in a group is 0; expected a whole number of at "
          "least 1");
    CHECK(error_of(dragonfly(4, 1, 0, 1)) ==
          "cluster.fabric.nodes_per_router: the number of nodes on a router is 0; expected a whole number of "
          "at "
          "least 1");
    CHECK(error_of(dragonfly(4, 1, 1, -1)) ==
          "cluster.fabric.global_links: the number of global links of a router is -1; expected a whole "
          "number of "
          "at least 0");
    CHECK(
        error_of(dragonfly(24, 2, 2, 2)) ==
        "cluster.fabric.global_links: 24 nodes make 6 groups, a group with 4 global links reaches 4 others; "
        "expected at least 3 global links a router");
    CHECK(error_of(dragonfly(20, 2, 2, 2)) == "");
  }

  TEST_CASE("Build refuses custom links that lead nowhere") {
    const auto none = std::nullopt;
    CHECK(error_of(custom(3, {{0, 3, none, none}})) ==
          "cluster.fabric.links[0].to: there is no node 3; expected a node from 0 to 2");
    CHECK(error_of(custom(3, {{0, 1, none, none}, {-1, 1, none, none}})) ==
          "cluster.fabric.links[1].from: there is no node -1; expected a node from 0 to 2");
    CHECK(error_of(custom(3, {{1, 1, none, none}})) ==
          "cluster.fabric.links[0]: the link joins node 1 to itself; expected two different nodes");
    CHECK(error_of(custom(4, {{0, 1, none, none}, {2, 3, none, none}})) ==
          "cluster.fabric.links: no links lead from node 0 to node 2; expected links that connect all nodes");
    CHECK(
        error_of(custom(2, {{0, 1, Bandwidth(), none}})) ==
        "cluster.fabric.links[0].bandwidth: the link has no bandwidth; expected a bandwidth such as 50 GB/s");
    CHECK(error_of(custom(2, {{0, 1, none, Duration::picoseconds(-1)}})) ==
          "cluster.fabric.links[0].latency: the link has a negative latency; expected a latency such as 500 "
          "ns");
    CHECK(error_of(custom(4097, {})) ==
          "cluster.nodes: a custom fabric of 4097 nodes is too large; expected at most 4096");
    ClusterSpec own = custom(2, {{0, 1, Bandwidth::gigabytes_per_second(1), none}});
    own.fabric.bandwidth = Bandwidth();
    CHECK(error_of(own) == "");  // every link states its own
  }

  TEST_CASE("Build takes a single GPU without looking at its interconnect") {
    ClusterSpec cluster = node_of(InterconnectKind::nvswitch, 1);
    cluster.node.interconnect.bandwidth = Bandwidth();
    const Topology topology = built(cluster);
    CHECK(topology.vertex_count() == 1);
    CHECK(topology.link_count() == 0);
    CHECK(topology.latency_max() == Duration());
  }
}

}  // namespace
}  // namespace collsim::testing
