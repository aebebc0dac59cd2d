// The cuts of a cluster, as facts for lower bounds: counted over the links, in O(links) a cut.
#pragma once

#include <vector>

#include "sim/model/topology.hpp"
#include "topologies/fabric.hpp"
#include "topologies/node_layout.hpp"

namespace collsim::topologies {

// What a cut is counted on.
struct CutInput {
  const Wiring* wiring = nullptr;
  const NodeLayout* layout = nullptr;
  std::vector<Bandwidth> nic_bandwidth;  // [group of the layout]
  Bandwidth fabric_bandwidth;
  const std::vector<SharedMemory>* memories = nullptr;  // [node], or empty
  bool uses_fabric = false;  // false: nothing leaves a node (one node with an interconnect)
};

// "rank"; "memory", where ranks share memories that let less through than their links: single ranks too, with
// what all of a node together get through its memory; then the groupings of the fabric. Only those with at
// least two groups.
std::vector<Cut> cuts_of(const CutInput& input, const std::vector<Grouping>& groupings);

}  // namespace collsim::topologies
