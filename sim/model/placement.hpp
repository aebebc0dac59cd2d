// Placement: what an algorithm may know of a cluster: how many ranks, how they are grouped, and what can
// reduce.
//
// Ranks are numbered node by node: rank = node * gpus_per_node + gpu. A Topology publishes its Placement;
// algorithms see nothing else of it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/id.hpp"
#include "sim/core/units.hpp"
#include "sim/model/cluster.hpp"

namespace collsim {

struct Placement {
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 1;
  std::int32_t nics_per_node = 0;
  InterconnectKind interconnect = InterconnectKind::none;
  FabricKind fabric = FabricKind::none;
  std::vector<std::int32_t> dimensions;  // torus, mesh: node number = x + A * (y + B * z)
  Bandwidth node_bandwidth;              // of a GPU into the interconnect, one direction; 0 = no interconnect
  Bandwidth fabric_bandwidth;      // of a GPU's share of its node's links into the fabric; 0 = no fabric
  ReductionSpec node_reduction;    // the switches of a node can reduce (NVLS)
  ReductionSpec fabric_reduction;  // the switches of the fabric can reduce (SHARP)
  // Link-disjoint Hamiltonian rings inside a node of a mesh-like interconnect, as orders of GPU numbers;
  // empty on a switch, where every order is as good.
  std::vector<std::vector<std::int32_t>> node_rings;

  std::int32_t ranks() const { return nodes * gpus_per_node; }
};

}  // namespace collsim
