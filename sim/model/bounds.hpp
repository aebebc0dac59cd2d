// Lower bounds on the time of a collective on a cluster, whatever the algorithm.
//
// The maximum of: launch is not counted; the largest shortest-path latency between two ranks; for every cut
// of the topology, what must cross it. Without in-network reduction m groups must together send 2(m-1)S for
// an all-reduce (Patarasuk and Yuan, JPDC 69(2), 2009, applied to the groups as super-ranks), with it S each.
#pragma once

#include <string>

#include "sim/core/units.hpp"
#include "sim/model/collective.hpp"
#include "sim/model/topology.hpp"

namespace collsim {

struct LowerBound {
  Duration time;       // rounded down: no exact schedule can be faster
  std::string reason;  // "latency" or the name of the cut
};

LowerBound lower_bound(const Collective& collective, const Topology& topology);

}  // namespace collsim
