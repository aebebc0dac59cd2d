// The clusters that stand for any cluster of so many ranks, where the user names none.
#pragma once

#include <vector>

#include "sim/model/placement.hpp"
#include "sim/model/topology.hpp"

namespace collsim::program {

// Nodes of the largest divisor up to 8, one node, nodes of one GPU; a NIC a GPU, and all switches reduce. The
// preferred one first: what cannot run on it may run on the next. REQUIRES: ranks >= 1
std::vector<Placement> ideal_clusters(std::int32_t ranks);

// All ranks on one switch, for what is made for a topology.
Topology one_switch(std::int32_t ranks);

}  // namespace collsim::program
