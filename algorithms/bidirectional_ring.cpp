// Bidirectional ring: two rings that run against each other, each with half of the vector; the ring of a
// torus row (Jain and Sabharwal, ICS 2010).
//
// Each direction is the ring of ring.cpp. Where the links of both directions are the ring's own, 2(N-1)
// (latency + S/(2 N B)) for an all-reduce. Bytes out of a rank: 2(N-1)/N of the vector, in two directions.
#include "algorithms/exchanges.hpp"
#include "algorithms/ring_schedule.hpp"

namespace collsim::algorithms {

ScheduleOrReason bidirectional_ring(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("bidirectional_ring", collective, 1);
  return exchange_around_rings("bidirectional_ring", collective, placement, options,
                               options.channels.value_or(1), 2);
}

}  // namespace collsim::algorithms
