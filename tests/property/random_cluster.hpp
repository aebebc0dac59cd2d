// Random clusters and random options, the same for the same seed on every machine.
#pragma once

#include <cstdint>

#include "sim/core/random.hpp"
#include "sim/model/algorithm_options.hpp"
#include "sim/model/cluster.hpp"

namespace collsim::testing {

// Up to 64 ranks, of every kind of interconnect and fabric. Not every one can be built.
ClusterSpec random_cluster(std::uint64_t seed);

// Options that the algorithm with these keys takes, each given or left to itself.
AlgorithmOptions random_options(Random& random, const std::vector<std::string_view>& keys,
                                std::int32_t ranks);

}  // namespace collsim::testing
