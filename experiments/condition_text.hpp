// Conditions in words, for the rows that say what each costs.
#pragma once

#include <string>

#include "sim/model/conditions.hpp"

namespace collsim::program {

// "leaf0 -> spine1 down at 1 ms, re-routed after 10 ms", "rank 3 at 50 % of its speed from the start"
std::string text_of(const FaultSpec& fault);
std::string text_of(const SkewSpec& skew);              // "ranks late: exponential of mean 10 us"
std::string jitter_text(const Distribution& jitter);    // "jitter: exponential of mean 100 ns"
std::string text_of(const BackgroundSpec& background);  // "background: 30 % of leaf0 -> spine*"

}  // namespace collsim::program
