// What a cluster tells of itself: its placement, its name, the names of its vertices.
#pragma once

#include <string>
#include <vector>

#include "sim/model/cluster.hpp"
#include "sim/model/placement.hpp"
#include "topologies/node_layout.hpp"
#include "topologies/sites.hpp"

namespace collsim::topologies {

// Of unlike nodes: the number of GPUs is the largest, that of NICs and the bandwidths are the smallest; nodes
// of one GPU, which has no interconnect, do not count for that. Nodes reduce only if all do, within the
// narrowest limits. REQUIRES: the cluster is completed() and has passed check()
Placement placement_of(const ClusterSpec& cluster);

// "4 x dgx-h100 on fat_tree", "2 x 8 GPUs (nvswitch) + 1 x 1 GPU on switch, 2 sites"
std::string topology_name(const ClusterSpec& cluster);

// Names where the default does not fit: node switches of unlike interconnects, and the switches of sites
// ("site1/leaf0", "site1/border"); elsewhere "". Empty where the default always fits. `sites` may be null.
std::vector<std::string> vertex_names(const ClusterSpec& cluster, const Wiring& wiring, const Sites* sites);

}  // namespace collsim::topologies
