// Every small shape of every kind, for tests that hold for all of them.
#pragma once

#include <vector>

#include "sim/model/cluster.hpp"

namespace collsim::testing {

std::vector<ClusterSpec> node_shapes();  // one node of every interconnect, 1 to 9 GPUs
std::vector<ClusterSpec> tree_shapes();  // switches, fat trees, rails; part-filled leaves and pods
std::vector<ClusterSpec> grid_shapes();  // tori, meshes and rings, sides 1 to 7
std::vector<ClusterSpec> dragonfly_shapes();
std::vector<ClusterSpec> direct_shapes();  // full meshes, hypercubes, custom links
std::vector<ClusterSpec> all_shapes();

}  // namespace collsim::testing
