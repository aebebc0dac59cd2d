// Small hand-made topologies for tests: exactly the networks that closed forms assume.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/model/topology.hpp"

namespace collsim::testing {

struct Level {
  std::int32_t members;
  Duration alpha;
  Bandwidth bandwidth;
};

// Rank digits (level 0 least significant); every ordered pair of ranks that differ in one digit only has
// `parallel` links of that level to itself, chosen by channel. One level = a dedicated link per ordered pair.
Topology pair_network(const std::vector<Level>& levels, std::int32_t parallel = 1);

// One port a rank: a link into and a link out of one non-blocking switch, each with half of alpha.
Topology port_network(std::int32_t ranks, Duration alpha, Bandwidth bandwidth, GpuSpec gpu = {});

inline Duration ps(std::int64_t count) { return Duration::picoseconds(count); }
inline Bandwidth rate_of(std::int64_t bytes_per_second) {
  return Bandwidth::bytes_per_second(bytes_per_second);
}

}  // namespace collsim::testing
