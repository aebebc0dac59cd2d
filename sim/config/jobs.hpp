// The jobs of an experiment, from the checked values of `jobs` and of the keys that they fall back to.
#pragma once

#include <vector>

#include "sim/config/bind.hpp"

namespace collsim::config {

// `ranks` are those of the experiment. The result says what all jobs together are at most.
Extent bind_jobs(const Value& root, std::int64_t ranks, const Registries& registries, Findings& findings,
                 std::vector<JobSpec>& jobs);

// Of the keys of a map that describes a collective: those that the kind makes nothing of.
void warn_useless_keys(const Value& map, const std::string& path, CollectiveKind kind, Findings& findings);

}  // namespace collsim::config
