// Conservation: what holds for the bytes of the links after every run, whatever the network model. Counted
// from the schedules and the links' ends alone: no routes, no code of the executor.
#pragma once

#include <string>
#include <vector>

#include "sim/execution/simulation.hpp"

namespace collsim::testing {

// What is wrong with result.link_bytes, or "" if nothing is:
//   - no link carried more than its bandwidth allows in the time of the run (not looked at where conditions
//     change links);
//   - what leaves a switch or NIC is what entered it; what leaves a GPU less what entered it is what its rank
//     sent less what it received (not looked at where schedules aggregate, or conditions change routes; for
//     GPUs, not beyond 20,000 operations).
// A run that did not end has nothing to be held to.
std::string conservation_fault(const Topology& topology, const std::vector<Job>& jobs,
                               const RunResult& result, const Conditions& conditions = {});

}  // namespace collsim::testing
