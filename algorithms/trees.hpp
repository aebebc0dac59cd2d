// Trees, direct exchanges and parameter servers. One source file each; the registry's entries point here.
//
// Each is a pure function. One rank gives the empty schedule, or a copy where the collective is not in place.
// REQUIRES: make_schedule() has checked the request: options in range, a collective that the entry lists, its
// size and root.
#pragma once

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

ScheduleOrReason double_binary_tree(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options);
ScheduleOrReason binomial_tree(const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options);
ScheduleOrReason knomial_tree(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options);
ScheduleOrReason kary_tree(const Collective& collective, const Placement& placement,
                           const AlgorithmOptions& options);
ScheduleOrReason chain(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options);
ScheduleOrReason one_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options);
ScheduleOrReason two_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options);
ScheduleOrReason direct(const Collective& collective, const Placement& placement,
                        const AlgorithmOptions& options);
ScheduleOrReason parameter_server(const Collective& collective, const Placement& placement,
                                  const AlgorithmOptions& options);
ScheduleOrReason van_de_geijn(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options);

}  // namespace collsim::algorithms
