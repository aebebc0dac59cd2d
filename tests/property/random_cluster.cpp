#include "tests/property/random_cluster.hpp"

#include <algorithm>
#include <array>

#include "sim/core/random.hpp"

namespace collsim::testing {
namespace {

int from_to(Random& random, int least, int most) {
  return least + static_cast<int>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}
bool chance(Random& random, int percent) { return from_to(random, 1, 100) <= percent; }

// Rates that divide nothing evenly, so that roundings show.
Bandwidth random_bandwidth(Random& random) {
  return Bandwidth::bytes_per_second(1'000'000'007 * std::int64_t{from_to(random, 1, 400)});
}
Duration random_latency(Random& random) { return Duration::nanoseconds(from_to(random, 0, 3000)); }

ReductionSpec random_reduction(Random& random) {
  ReductionSpec reduction;
  reduction.enabled = chance(random, 70);
  if (!reduction.enabled) return reduction;
  if (chance(random, 30)) reduction.bandwidth = random_bandwidth(random);
  if (chance(random, 30)) reduction.operations = from_to(random, 1, 3);
  if (chance(random, 20)) reduction.radix = from_to(random, 2, 8);
  return reduction;
}

NodeSpec random_node(Random& random) {
  using enum InterconnectKind;
  constexpr std::array kinds = {none, nvswitch, nvswitch,         full_mesh,
                                ring, pcie,     hybrid_cube_mesh, shared_memory};
  NodeSpec node;
  node.interconnect.kind = kinds[random.below(kinds.size())];
  node.gpus = node.interconnect.kind == hybrid_cube_mesh ? 8 : from_to(random, 1, 8);
  node.interconnect.bandwidth = random_bandwidth(random);
  node.interconnect.latency = random_latency(random);
  if (node.interconnect.kind == nvswitch) {
    node.interconnect.reduction = random_reduction(random);
    node.interconnect.planes = from_to(random, 1, 3);
  }
  if (node.interconnect.kind == pcie) node.interconnect.gpus_per_switch = from_to(random, 1, 4);
  if (node.interconnect.kind == shared_memory) {
    node.interconnect.total = random_bandwidth(random);
    if (chance(random, 50)) node.interconnect.reduce_total = random_bandwidth(random);
  }
  node.nics.count = from_to(random, 0, node.gpus);
  node.nics.bandwidth = random_bandwidth(random);
  node.nics.latency = random_latency(random);
  if (chance(random, 30)) node.gpu.reduce_bandwidth = random_bandwidth(random);
  if (chance(random, 30)) node.gpu.send_overhead = random_latency(random);
  if (chance(random, 30)) node.gpu.receive_overhead = random_latency(random);
  return node;
}

void set_trees(Random& random, FabricSpec& fabric) {
  fabric.levels = from_to(random, 1, 3);
  fabric.oversubscription_numerator = from_to(random, 1, 2);
  fabric.radix = 6 * from_to(random, 1, 4);
}

void set_grid(Random& random, ClusterSpec& cluster) {
  cluster.nodes = 1;
  for (int side = from_to(random, 1, 3); side > 0; --side) {
    cluster.fabric.dimensions.push_back(from_to(random, 1, 4));
    if (cluster.nodes * cluster.fabric.dimensions.back() > 8) cluster.fabric.dimensions.back() = 1;
    cluster.nodes *= cluster.fabric.dimensions.back();
  }
}

void set_links(Random& random, ClusterSpec& cluster) {
  const auto add = [&](int from, int to) {
    CustomLink link{from, to, std::nullopt, std::nullopt};
    if (chance(random, 50)) link.bandwidth = random_bandwidth(random);
    if (chance(random, 50)) link.latency = random_latency(random);
    cluster.fabric.links.push_back(link);
  };
  for (int node = 1; node < cluster.nodes; ++node) add(from_to(random, 0, node - 1), node);
  for (int more = from_to(random, 0, cluster.nodes); more > 0; --more) {
    const int from = from_to(random, 0, cluster.nodes - 1);
    const int to = from_to(random, 0, cluster.nodes - 1);
    if (from != to) add(from, to);
  }
}

void set_shape(Random& random, ClusterSpec& cluster) {
  FabricSpec& fabric = cluster.fabric;
  switch (fabric.kind) {
    case FabricKind::none:
      cluster.nodes = 1;
      break;
    case FabricKind::fat_tree:
    case FabricKind::rail_fat_tree:
      set_trees(random, fabric);
      break;
    case FabricKind::torus:
    case FabricKind::mesh:
      set_grid(random, cluster);
      break;
    case FabricKind::dragonfly:
      fabric.dragonfly_routers = from_to(random, 1, 3);
      fabric.dragonfly_nodes = from_to(random, 1, 2);
      fabric.dragonfly_global_links = from_to(random, 1, 3);
      break;
    case FabricKind::hypercube:
      cluster.nodes = 1 << from_to(random, 0, 3);
      break;
    case FabricKind::custom:
      set_links(random, cluster);
      break;
    case FabricKind::single_switch:
    case FabricKind::ring:
    case FabricKind::full_mesh:
      break;
  }
}

}  // namespace

ClusterSpec random_cluster(std::uint64_t seed) {
  using enum FabricKind;
  constexpr std::array kinds = {none,  none, none,      single_switch, fat_tree, fat_tree,  rail_fat_tree,
                                torus, mesh, dragonfly, hypercube,     ring,     full_mesh, custom};
  constexpr std::array can_reduce = {single_switch, fat_tree, rail_fat_tree};
  Random random(seed);
  ClusterSpec cluster;
  cluster.nodes = from_to(random, 1, 8);
  cluster.node = random_node(random);
  cluster.fabric.kind = kinds[random.below(kinds.size())];
  cluster.fabric.bandwidth = random_bandwidth(random);
  cluster.fabric.latency = random_latency(random);
  if (chance(random, 30)) cluster.routing.kind = RoutingKind::ecmp;
  if (std::find(can_reduce.begin(), can_reduce.end(), cluster.fabric.kind) != can_reduce.end())
    cluster.fabric.reduction = random_reduction(random);
  set_shape(random, cluster);
  return cluster;
}

}  // namespace collsim::testing
