// Levels of a cluster, and switches that reduce. One source file each; the registry's entries point here.
//
// Each is a pure function. One rank gives the empty schedule. REQUIRES: make_schedule() has checked the
// request: options in range, a collective that the entry lists, its size and root.
#pragma once

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

ScheduleOrReason cascade(const Collective& collective, const Placement& placement,
                         const AlgorithmOptions& options);
ScheduleOrReason hierarchical(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options);
ScheduleOrReason torus_bucket(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options);
ScheduleOrReason nvls(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options);
ScheduleOrReason nvls_tree(const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options);
ScheduleOrReason collnet_direct(const Collective& collective, const Placement& placement,
                                const AlgorithmOptions& options);
ScheduleOrReason collnet_chain(const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options);
ScheduleOrReason sharp(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options);

}  // namespace collsim::algorithms
