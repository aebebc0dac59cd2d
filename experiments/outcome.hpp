// The outcome of a run as an exit code.
#pragma once

#include <cstddef>
#include <vector>

#include "experiments/program.hpp"
#include "sim/report/point.hpp"

namespace collsim::program {

// `impossible_max`: so many points may be impossible without the outcome being negative.
ExitCode outcome_of(const std::vector<Point>& points, std::size_t impossible_max);

}  // namespace collsim::program
