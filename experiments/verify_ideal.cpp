#include "experiments/verify_ideal.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "topologies/build.hpp"

namespace collsim::program {

namespace {

constexpr std::int32_t gpus_per_node_max = 8;

// Nodes of `gpus` GPUs with a NIC each, in which all switches reduce.
Placement ideal(std::int32_t ranks, std::int32_t gpus) {
  Placement placement;
  placement.nodes = ranks / gpus;
  placement.gpus_per_node = gpus;
  placement.nics_per_node = gpus;
  placement.interconnect = InterconnectKind::nvswitch;
  placement.fabric = placement.nodes > 1 ? FabricKind::fat_tree : FabricKind::none;
  placement.node_reduction.enabled = true;
  placement.fabric_reduction.enabled = placement.nodes > 1;
  return placement;
}

}  // namespace

std::vector<Placement> ideal_clusters(std::int32_t ranks) {
  std::int32_t gpus = std::min(ranks, gpus_per_node_max);
  while (ranks % gpus != 0) --gpus;
  return {ideal(ranks, gpus), ideal(ranks, ranks), ideal(ranks, 1)};
}

Topology one_switch(std::int32_t ranks) {
  ClusterSpec cluster;
  cluster.node.gpus = ranks;
  cluster.node.interconnect.kind = ranks > 1 ? InterconnectKind::nvswitch : InterconnectKind::none;
  cluster.node.interconnect.bandwidth = Bandwidth::gigabytes_per_second(1);
  return std::get<Topology>(topologies::build(cluster));
}

}  // namespace collsim::program
