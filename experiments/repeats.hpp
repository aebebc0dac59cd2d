// Repeats: the points of several seeds become points with quantiles.
#pragma once

#include <vector>

#include "sim/report/point.hpp"

namespace collsim::program {

// [seed][point] -> [point]. A point is that of the run that took the median, by nearest rank; its quantiles,
// and the medians of the healthy run, of each condition and of the job alone are over all seeds. If a run is
// not ok, the point is the first such one. REQUIRES: at least one seed, the same questions for each
std::vector<Point> over_seeds(const std::vector<std::vector<Point>>& runs, std::uint64_t first_seed);

}  // namespace collsim::program
