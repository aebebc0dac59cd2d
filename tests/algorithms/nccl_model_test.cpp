// NCCL's cost model against NCCL's own numbers.
#include "algorithms/nccl_model.hpp"

#include <doctest/doctest.h>

#include <set>

#include "algorithms/registry.hpp"
#include "tests/algorithms/ideal_placement.hpp"

using namespace collsim;
using namespace collsim::algorithms;
using collsim::testing::ideal_placement;

namespace {

constexpr auto all_reduce = CollectiveKind::all_reduce;
constexpr auto all_gather = CollectiveKind::all_gather;
constexpr auto ring = NcclAlgorithm::ring;
constexpr auto tree = NcclAlgorithm::tree;
constexpr auto ll = NcclProtocol::ll;
constexpr auto ll128 = NcclProtocol::ll128;
constexpr auto simple = NcclProtocol::simple;

// 8 Hopper GPUs on an NVSwitch: 24 channels of 20 GB/s.
NcclSystem one_node() {
  NcclSystem system;
  system.ranks = 8;
  system.nodes = 1;
  system.generation = NcclGeneration::hopper;
  system.ring = {24, 20, 20};
  system.tree = system.ring;
  system.same_channels = true;
  return system;
}

// 4 nodes of 8 Hopper GPUs: 8 channels of 48 GB/s.
NcclSystem four_nodes() {
  NcclSystem system = one_node();
  system.ranks = 32;
  system.nodes = 4;
  system.ring = {8, 48, 48};
  system.tree = system.ring;
  system.heads = 8;
  return system;
}

double time_of(const NcclSystem& system, NcclAlgorithm algorithm, NcclProtocol protocol, std::int64_t bytes,
               CollectiveKind kind = all_reduce) {
  return nccl_time(system, kind, algorithm, protocol, Bytes(bytes)).value_or(-1);
}

constexpr std::int64_t mib = 1 << 20;

Placement h100(std::int32_t nodes) {
  Placement placement = ideal_placement(nodes, 8, 8);
  placement.node_bandwidth = Bandwidth::bytes_per_second(450'000'000'000);
  placement.fabric_bandwidth = Bandwidth::bytes_per_second(50'000'000'000);
  placement.fabric_reduction.enabled = false;
  return placement;
}

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(4e-6); }

}  // namespace

TEST_CASE("In one node the times are those of NCCL's formulas") {
  const NcclSystem system = one_node();
  CHECK(nccl_cost(system, all_reduce, ring, simple).latency == near(56.0));
  CHECK(nccl_cost(system, all_reduce, ring, simple).bandwidth == near(274.285714));
  CHECK(time_of(system, ring, simple, 256 * mib) == near(1034.6709));
  CHECK(time_of(system, ring, ll, 16 << 10) == near(15.2033));
  CHECK(time_of(system, ring, ll128, mib) == near(44.7554));
  CHECK(time_of(system, tree, ll, 16 << 10) == near(15.6028));
}

TEST_CASE("Over four nodes the times are those of NCCL's formulas") {
  const NcclSystem system = four_nodes();
  CHECK(time_of(system, ring, simple, 256 * mib) == near(1750.3307));
  CHECK(time_of(system, tree, simple, 256 * mib) == near(2191.6612));
  CHECK(time_of(system, tree, ll128, mib) == near(80.5657));
  CHECK(time_of(system, ring, ll, 16 << 10) == near(80.3561));
  CHECK(time_of(system, tree, ll, 16 << 10) == near(37.4947));
  // 8.4 + 56 steps of max(3.4, 3 * 1) + 6 of 14, all by 1.4 where it is large.
  CHECK(nccl_cost(system, all_reduce, ring, simple).latency == near(282.8));
  CHECK(time_of(system, ring, simple, 64) == near(282.8 + 64 / (1000 * 384 * 32.0 / 62)));
}

TEST_CASE("The choice is the least of all times, and NCCL's order decides ties") {
  for (const NcclSystem& system : {one_node(), four_nodes()})
    for (std::int64_t bytes = 1; bytes <= 1024 * mib; bytes *= 2) {
      const auto choice = nccl_choice(system, all_reduce, Bytes(bytes));
      REQUIRE(choice.has_value());
      for (const NcclAlgorithm algorithm : {tree, ring})
        for (const NcclProtocol protocol : {ll, ll128, simple})
          CHECK(choice->time <= time_of(system, algorithm, protocol, bytes));
      CHECK(choice->time == time_of(system, choice->algorithm, choice->protocol, bytes));
    }
  CHECK(nccl_choice(four_nodes(), all_reduce, Bytes(1024))->algorithm == tree);
  CHECK(nccl_choice(four_nodes(), all_reduce, Bytes(1024))->protocol == ll);
  CHECK(nccl_choice(four_nodes(), all_reduce, Bytes(1024 * mib))->algorithm == ring);
  CHECK(nccl_choice(four_nodes(), all_reduce, Bytes(1024 * mib))->protocol == simple);
}

TEST_CASE("Other collectives have the algorithms that NCCL has for them") {
  NcclSystem system = four_nodes();
  CHECK(time_of(system, tree, simple, mib, all_gather) == -1);
  CHECK(time_of(system, tree, simple, mib, CollectiveKind::broadcast) == -1);
  CHECK_FALSE(nccl_choice(system, CollectiveKind::all_to_all, Bytes(mib)).has_value());
  CHECK_FALSE(nccl_choice(system, CollectiveKind::barrier, Bytes(0)).has_value());
  // (31 - 3) * 3.4 + 3 * 14 + 8.4; 384 * 32 / 31.
  CHECK(nccl_cost(system, all_gather, ring, simple).latency == near(145.6));
  CHECK(nccl_cost(system, all_gather, ring, simple).bandwidth == near(384 * 32.0 / 31));
  // One hop of the network where all channels have one order, else a chunk a step.
  CHECK(nccl_cost(system, CollectiveKind::broadcast, ring, simple).latency == near(8.4 + 14));
  system.same_channels = false;
  CHECK(nccl_cost(system, CollectiveKind::reduce, ring, ll).latency == near(6.6 + 32 * 2.7));
  CHECK(nccl_cost(system, CollectiveKind::reduce, ring, simple).latency == near(8.4 + 32 * 14));
  // PAT: one GPU a node, whose hops between nodes are those of a tree.
  CHECK(time_of(system, NcclAlgorithm::pat, simple, mib, all_gather) == -1);
  system.ranks = 4;
  CHECK(nccl_cost(system, all_gather, NcclAlgorithm::pat, simple).latency == near(8 + 2 * 4 + 4 * 2.8));
  CHECK(nccl_cost(system, all_gather, NcclAlgorithm::pat, simple).bandwidth == near(384 * 0.75));
}

TEST_CASE("Switches that reduce are used where NCCL uses them") {
  NcclSystem system = one_node();
  system.multicast = true;
  system.nvls = {8, 40, 60};
  // 40 * 0.85 * 7/8 * 2 a channel, 8 channels, 8/14 of it.
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::nvls, simple).bandwidth == near(272));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::nvls, simple).latency == near(25));
  CHECK(time_of(system, NcclAlgorithm::nvls_tree, simple, mib) == -1);
  CHECK(time_of(system, NcclAlgorithm::collnet_direct, simple, mib) == -1);

  system = four_nodes();
  system.multicast = true;
  system.nvls = {8, 40, 48};
  CHECK(time_of(system, NcclAlgorithm::nvls, simple, mib) == -1);  // needs the fabric to reduce
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::nvls_tree, simple).latency == near(25 + 4 * 20.9));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::nvls_tree, simple).bandwidth ==
        near(8 * 45.5 * 32 / 62));
  system.collnet = true;
  system.collnet_graph = system.ring;
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::nvls, simple).latency == near(25 + 18));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::nvls, simple).bandwidth == near(8 * 48 * 32.0 / 62));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::collnet_chain, simple).latency ==
        near(2 * 7 * 2.8 + 30));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::collnet_chain, simple).bandwidth == near(192));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::collnet_direct, simple).latency ==
        near(2 * (3.7 + 7 * 0.4) + 31));
  CHECK(nccl_cost(system, all_reduce, NcclAlgorithm::collnet_direct, simple).bandwidth ==
        near(384 * 0.85 / 2));
  CHECK(nccl_cost(system, all_gather, NcclAlgorithm::collnet_direct, simple).bandwidth == near(8 * 43.2));
  system.heads = 4;
  CHECK(time_of(system, NcclAlgorithm::collnet_direct, simple, mib, all_gather) == -1);
}

TEST_CASE("AMD hosts and PCI change what NCCL believes") {
  NcclSystem system = four_nodes();
  system.cpu = NcclCpu::amd;
  // Each step inside a node costs the host's 3 * 2 us.
  CHECK(nccl_cost(system, all_reduce, ring, simple).latency == near(8.4 + 56 * 6 + 6 * 14));
  CHECK(nccl_cost(system, all_reduce, ring, ll).bandwidth == near(19 * 32.0 / 62));
  system.nvlink = false;
  CHECK(time_of(system, ring, ll128, mib) == -1);
  CHECK(nccl_cost(system, all_reduce, tree, ll).latency == near(6.8 + 2 * (7 * 1.0 + 2 * 5.0)));
}

TEST_CASE("What NCCL's search finds is derived from the cluster") {
  const auto hopper = NcclGeneration::hopper;
  const NcclSystem node = nccl_system(h100(1), hopper, NcclCpu::intel, std::nullopt);
  // 18 links of 20.6 GB/s hold 6 channels of 60, which become 12 of 30.
  CHECK(node.ring.channels == 12);
  CHECK(node.ring.intra == near(30));
  CHECK(node.nvls.channels == 8);
  CHECK(node.nvls.intra == near(40));
  CHECK(node.nvls.inter == near(60));
  CHECK(nccl_cost(node, all_reduce, NcclAlgorithm::nvls, simple).bandwidth == near(272));
  CHECK(nccl_choice(node, all_reduce, Bytes(256 * mib))->algorithm == NcclAlgorithm::nvls);

  const NcclSystem cluster = nccl_system(h100(4), hopper, NcclCpu::intel, std::nullopt);
  CHECK(cluster.ring.channels == 8);
  CHECK(cluster.ring.inter == near(45));  // 8 * 48 is more than NVLink holds
  CHECK(cluster.nvls.intra == near(40));
  CHECK(cluster.nvls.inter == near(48));
  CHECK(cluster.heads == 8);

  Placement a100 = h100(1);
  a100.node_bandwidth = Bandwidth::bytes_per_second(300'000'000'000);
  const NcclSystem ampere = nccl_system(a100, NcclGeneration::ampere, NcclCpu::amd, std::nullopt);
  CHECK(ampere.ring.channels == 12);
  CHECK(ampere.ring.intra == near(20));
  CHECK(nccl_cost(ampere, all_reduce, NcclAlgorithm::nvls, simple).bandwidth == 0);

  const NcclSystem forced = nccl_system(h100(4), hopper, NcclCpu::intel, 16);
  CHECK(forced.ring.channels == 16);
  CHECK(forced.ring.inter == near(22.5));
}

TEST_CASE("Clusters without channels are no cluster for NCCL, and no crash") {
  Placement placement = ideal_placement(2, 4, 0);
  placement.fabric_bandwidth = Bandwidth::bytes_per_second(1'000);
  const NcclSystem system = nccl_system(placement, NcclGeneration::volta, NcclCpu::intel, std::nullopt);
  CHECK(system.ring.channels == 0);
  CHECK_FALSE(nccl_choice(system, all_reduce, Bytes(mib)).has_value());
}

TEST_CASE("Presets name the generation of their GPUs") {
  CHECK(nccl_generation_of_preset("dgx-v100") == NcclGeneration::volta);
  CHECK(nccl_generation_of_preset("dgx2") == NcclGeneration::volta);
  CHECK(nccl_generation_of_preset("dgx-a100") == NcclGeneration::ampere);
  CHECK(nccl_generation_of_preset("dgx-h100") == NcclGeneration::hopper);
  CHECK(nccl_generation_of_preset("gb200-nvl72") == NcclGeneration::blackwell);
  CHECK_FALSE(nccl_generation_of_preset("mi300x").has_value());
  CHECK_FALSE(nccl_generation_of_preset("").has_value());
  CHECK(nccl_cpu_of_preset("dgx-a100") == NcclCpu::amd);
  CHECK(nccl_cpu_of_preset("dgx-h100") == NcclCpu::intel);
}

TEST_CASE("Every algorithm of NCCL has a counterpart that does its collectives") {
  std::set<std::string_view> names;
  for (const NcclAlgorithm algorithm :
       {tree, ring, NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain, NcclAlgorithm::nvls,
        NcclAlgorithm::nvls_tree, NcclAlgorithm::pat}) {
    names.insert(name_of(algorithm));
    CAPTURE(name_of(algorithm));
    for (const int nodes : {1, 4}) CHECK(find(registry_name_of(algorithm, nodes)) != nullptr);
  }
  CHECK(names.size() == 7);
  CHECK(registry_name_of(NcclAlgorithm::nvls, 1) == "nvls");
  CHECK(registry_name_of(NcclAlgorithm::nvls, 4) == "sharp");
}

TEST_CASE("Protocols put their flags on the wire") {
  CHECK(nccl_wire_bytes(simple, Bytes(1000)) == Bytes(1000));
  CHECK(nccl_wire_bytes(ll, Bytes(1000)) == Bytes(2000));
  CHECK(nccl_wire_bytes(ll128, Bytes(1500)) == Bytes(1600));
  CHECK(nccl_wire_bytes(ll128, Bytes(1)) == Bytes(2));
  CHECK(nccl_wire_bytes(ll128, Bytes(0)) == Bytes(0));
}
