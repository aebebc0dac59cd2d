// A schedule executed on exact sets of contributions, operation by operation, in a random order: the slow
// reference for what a schedule computes. It uses the schedule and its layout and nothing of the proofs.
#pragma once

#include <cstdint>
#include <string>

#include "sim/model/schedule.hpp"

namespace collsim::testing {

// What is wrong with the schedule ("rank 3, block 2 of region 0: holds 0 1 1, should hold 0 1 2"), or an
// empty text. A race shows only in some orders, so ask for several seeds.
std::string exact_failure(const Schedule& schedule, std::uint64_t seed);

}  // namespace collsim::testing
