// Valiant's routing: over a drawn place in between, minimally before and after it, so that any pattern of
// traffic looks like a random one (Valiant and Brebner, STOC 1981; on dragonflies by a group: Kim, Dally,
// Scott, Abts, ISCA 2008).
//
// Where the two halves cross, the loop between is cut out: a message passes no point twice.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.hpp"

namespace collsim::topologies {

constexpr std::int64_t valiant_step = -1;  // Decision::step of the place in between

// Appends the links of `hops`, which begin at point `source`, without those between two visits of a point.
// O(hops * log hops)
void append_without_loops(std::int64_t source, const std::vector<Hop>& hops, std::vector<LinkId>& links);

}  // namespace collsim::topologies
