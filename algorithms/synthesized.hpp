// Synthesized: the schedule of a forest that was packed for the cluster at hand. Not in the registry, since
// it needs more than a Placement.
#pragma once

#include "algorithms/registry.hpp"
#include "sim/model/forest.hpp"

namespace collsim::algorithms {

// What the registry's entry would say. `make` is null.
AlgorithmInfo synthesized_info();

// Options: slices, slots, channel_bandwidth. One rank gives the empty schedule. Impossible: options out of
// range, a collective that the forest was not packed for, parts that are no whole number of elements.
ScheduleOrReason synthesized(const Collective& collective, const Placement& placement,
                             const AlgorithmOptions& options, const Forest& forest);

}  // namespace collsim::algorithms
