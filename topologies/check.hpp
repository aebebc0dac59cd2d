// Checks of a ClusterSpec: everything that a person can get wrong, before anything is built.
#pragma once

#include <optional>

#include "topologies/build.hpp"
#include "topologies/fat_tree.hpp"

namespace collsim::topologies {

// A cluster with its implied values filled in: nodes from dimensions; an interconnect, which a single GPU
// does not need, removed there.
ClusterSpec completed(const ClusterSpec& cluster);

// The first thing that is wrong, or nothing. REQUIRES: cluster is completed()
std::optional<BuildError> check(const ClusterSpec& cluster);

std::int32_t endpoints_per_node(const ClusterSpec& cluster);

// The shape of the tree that `fabric` asks for. REQUIRES: check() found nothing
FatTreeShape tree_shape(const FabricSpec& fabric, std::int64_t endpoints);

}  // namespace collsim::topologies
