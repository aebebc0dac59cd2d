// Options that were asked for and have no effect in the form of an algorithm that a cluster gets.
#pragma once

#include <string_view>
#include <vector>

#include "sim/model/algorithm_options.hpp"
#include "sim/model/schedule.hpp"

namespace collsim::algorithms {

// Notes those of `names` ("slots", "channel_bandwidth", ...) that `options` sets in schedule.unused_options.
void note_unused(Schedule& schedule, const AlgorithmOptions& options,
                 const std::vector<std::string_view>& names);

}  // namespace collsim::algorithms
