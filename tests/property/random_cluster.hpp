// Random clusters, the same for the same seed on every machine.
#pragma once

#include <cstdint>

#include "sim/model/cluster.hpp"

namespace collsim::testing {

// Up to 64 ranks, of every kind of interconnect and fabric. Not every one can be built.
ClusterSpec random_cluster(std::uint64_t seed);

}  // namespace collsim::testing
