// The cuts of a cluster, as facts for lower bounds: counted over the links, in O(links) a cut.
#pragma once

#include <vector>

#include "sim/model/topology.hpp"
#include "topologies/fabric.hpp"

namespace collsim::topologies {

// What a cut is counted on: vertices in the order GPUs, node switches, NICs, fabric switches.
struct CutInput {
  const Wiring* wiring = nullptr;
  std::int32_t nodes = 1;
  std::int32_t gpus_per_node = 1;
  std::int32_t nics_per_node = 0;
  std::int64_t switches_per_node = 0;
  std::size_t first_fabric_switch = 0;
  Bandwidth nic_bandwidth;
  Bandwidth fabric_bandwidth;
  Cable interior_end = 0;    // cables below lie inside nodes
  bool uses_fabric = false;  // false: nothing leaves a node (one node with an interconnect)
};

// "rank", then the groupings of the fabric; only those with at least two groups.
std::vector<Cut> cuts_of(const CutInput& input, const std::vector<Grouping>& groupings);

}  // namespace collsim::topologies
