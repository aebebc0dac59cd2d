// The outcome of a run as an exit code, and of a proof.
#pragma once

#include <cstddef>
#include <vector>

#include "experiments/program.hpp"
#include "sim/model/proof.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

// `impossible_max`: so many points may be impossible without the outcome being negative.
ExitCode outcome_of(const std::vector<Point>& points, std::size_t impossible_max);

// A proof that was not made, because of what it would cost.
bool is_undecided(const Proof& proof);

}  // namespace collsim::program
