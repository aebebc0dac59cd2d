// Binder: checked values become an Experiment; rules that join several keys are checked here.
//
// Bounds      What it accepts keeps every sum of bytes and every simulated time within int64: ranks, sizes,
//             bandwidths and latencies are bounded together.
#pragma once

#include "sim/config/checker.hpp"
#include "sim/config/experiment.hpp"

namespace collsim::config {

// REQUIRES: `root` was checked without an error. The result counts only if `diagnostics` has no error after.
Experiment experiment_from(const Value& root, const Registries& registries, const Places& places,
                           Diagnostics& diagnostics);

}  // namespace collsim::config
