// The all-reduce algorithms, one source file each. Registry entries point here.
//
// Each is a pure function. One rank gives the empty schedule. REQUIRES: the options have passed
// check_options(), the size is a whole number of elements.
#pragma once

#include "algorithms/registry.hpp"

namespace collsim::algorithms {

ScheduleOrReason ring(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options);
ScheduleOrReason double_binary_tree(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options);
ScheduleOrReason binomial_tree(const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options);
ScheduleOrReason cascade(const Collective& collective, const Placement& placement,
                         const AlgorithmOptions& options);
ScheduleOrReason two_shot(const Collective& collective, const Placement& placement,
                          const AlgorithmOptions& options);
ScheduleOrReason nvls(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options);
ScheduleOrReason sharp(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options);

}  // namespace collsim::algorithms
