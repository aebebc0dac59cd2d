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
  bool uses_fabric = false;  // false: nothing leaves a node (one node with an interconnect)
};

// "rank", then the groupings of the fabric; only those with at least two groups.
std::vector<Cut> cuts_of(const CutInput& input, const std::vector<Grouping>& groupings);

}  // namespace collsim::topologies
