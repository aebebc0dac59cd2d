// What a run would take, in words, before it starts.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/units.hpp"
#include "sim/execution/simulation.hpp"

namespace collsim::program {

// "34,359,476,224"
std::string grouped_text(std::int64_t number);

// "45 s", "12 min", "7 h", "3 days": a whole number of the largest unit of which there are at least two,
// rounded to the nearest.
std::string rough_time_text(std::int64_t seconds);

// "about 45 s (34,359,476,224 messages, 8,192 of 262,144 streams, sweeps)"; how many streams are run, of how
// many. `runs`: so many, which `estimate.seconds` are of all of.
std::string forecast_text(const Estimate& estimate, std::int64_t runs = 1);

// "ring, 1 GiB: about 45 s (...)", a whole line.
std::string notice_text(const std::string& algorithm, Bytes size, const Estimate& estimate,
                        std::int64_t runs = 1);

}  // namespace collsim::program
