// Checks of a ClusterSpec's routing: what fits which fabric.
#pragma once

#include <optional>

#include "topologies/build.hpp"

namespace collsim::topologies {

constexpr int paths_max = 4096;  // routes of a connection

// The first thing that is wrong, or nothing. REQUIRES: cluster is completed() (check.hpp)
std::optional<BuildError> check_routing(const ClusterSpec& cluster);

}  // namespace collsim::topologies
