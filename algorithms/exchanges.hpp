// Rings and recursive exchanges. One source file each; the registry's entries point here.
//
// Each is a pure function. One rank gives the empty schedule, or a copy where the collective is not in place.
// REQUIRES: make_schedule() has checked the request: options in range, a collective that the entry lists, its
// size and root.
#pragma once

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

ScheduleOrReason ring(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options);
ScheduleOrReason bidirectional_ring(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options);
ScheduleOrReason segmented_ring(const Collective& collective, const Placement& placement,
                                const AlgorithmOptions& options);
ScheduleOrReason recursive_doubling(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options);
ScheduleOrReason rabenseifner(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options);
ScheduleOrReason halving_doubling(const Collective& collective, const Placement& placement,
                                  const AlgorithmOptions& options);
ScheduleOrReason bcube(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options);
ScheduleOrReason swing(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options);
ScheduleOrReason bruck(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options);
ScheduleOrReason pat(const Collective& collective, const Placement& placement,
                     const AlgorithmOptions& options);
ScheduleOrReason pairwise(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options);

}  // namespace collsim::algorithms
