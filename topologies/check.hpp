// Checks of a ClusterSpec: everything that a person can get wrong, before anything is built.
#pragma once

#include <optional>
#include <vector>

#include "topologies/build.hpp"
#include "topologies/fat_tree.hpp"

namespace collsim::topologies {

// A cluster with its implied values filled in: nodes from dimensions or groups; one group made the node; an
// interconnect, which a single GPU does not need, removed there.
ClusterSpec completed(const ClusterSpec& cluster);

// The first thing that is wrong, or nothing. REQUIRES: cluster is completed()
std::optional<BuildError> check(const ClusterSpec& cluster);

// The groups of alike nodes; one where all are.
std::vector<NodeGroup> node_groups(const ClusterSpec& cluster);

// The shape of the tree that `fabric` asks for. REQUIRES: check() found nothing
FatTreeShape tree_shape(const FabricSpec& fabric, std::int64_t endpoints);

}  // namespace collsim::topologies
