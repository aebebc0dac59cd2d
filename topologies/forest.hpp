// pack_forest(): spanning trees that load the links of a cluster as evenly as its tightest cut allows.
#pragma once

#include <cstdint>
#include <variant>

#include "sim/model/collective.hpp"
#include "sim/model/forest.hpp"
#include "sim/model/topology.hpp"

namespace collsim::topologies {

constexpr std::int32_t forest_ranks_max = 64;

// For all_gather, reduce_scatter, all_reduce, broadcast and reduce. Depends on the kind and root of the
// collective, not on its size: one forest serves all sizes. Impossible: another kind, more than
// forest_ranks_max ranks.
std::variant<Forest, Impossible> pack_forest(const Topology& topology, CollectiveKind kind, Rank root = 0);

}  // namespace collsim::topologies
