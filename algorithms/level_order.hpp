// In which order every chunk takes the levels of a cluster, so that no level is busier than the others:
// Themis (Rashidi et al., ISCA 2022), as in its scheduler (astra-sim, system/scheduling/OfflineGreedy.cc).
//
// Each level has a load: what the chunks so far keep it busy for. Chunk by chunk the levels are taken by
// increasing load (equal loads by number), and every level on the way is loaded with (p - 1) / p of what is
// left of the chunk, divided by its bandwidth, which leaves 1 / p of it. Where the loads differ by less than
// what a sixteenth of a chunk would put on the least loaded level, the chunk takes the levels by number.
// An all-reduce or all-gather is planned as its reduce-scatter and goes back in the opposite order.
//
// Exact       Loads are compared as fractions of integers.
// Complexity  O(chunks * levels * log levels)
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.hpp"

namespace collsim::algorithms {

struct BalancedOrders {
  std::vector<std::vector<std::int32_t>> orders;  // [chunk]
  // [level]: how much the level carries a rank in the reduce-scatters of all chunks, a chunk being as much as
  // there are ranks. The load of a level is this by its bandwidth.
  std::vector<std::int64_t> carried;
};

// `bandwidths`: of a rank at each level, in any common unit. REQUIRES: as many as levels, each positive and
// below 2^62; the product of levels is below 2^31; at most 2^16 chunks
BalancedOrders balanced_orders(const std::vector<std::int32_t>& levels,
                               const std::vector<std::int64_t>& bandwidths, std::int32_t chunks);

}  // namespace collsim::algorithms
