// The forms of hierarchical that are no rings at every level.
#pragma once

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

// REQUIRES: all_reduce, broadcast or reduce; at least two ranks
Schedule hierarchical_by_leaders(const Collective& collective, const Placement& placement,
                                 const AlgorithmOptions& options);
Schedule rail_aligned_all_to_all(const Collective& collective, const Placement& placement,
                                 const AlgorithmOptions& options);

}  // namespace collsim::algorithms
