// Ring: a reduce-scatter and an all-gather around a ring (Patarasuk and Yuan, JPDC 69(2), 2009), in the order
// of NCCL's runRing (src/device/all_reduce.h, reduce_scatter.h, all_gather.h), or one of the two alone.
//
// N blocks. In step k = 0 .. 2N-3 the rank at position i sends block (i - 1 - k) mod N to position i + 1 and
// receives block (i - 2 - k) mod N from position i - 1; the steps 0 .. N-2 reduce, the others overwrite.
// A reduce-scatter is the first half: position i ends with block i. An all-gather is the second: it begins
// with block i. A barrier is an all-gather of nothing. Broadcast and reduce run along the ring cut at the
// root, slice by slice (chain.cpp; NCCL src/device/broadcast.h, reduce.h).
// A send of step k waits for the receive of step k - 1 of the same slice. Sends and receives run in separate
// streams: one that alternates them would deadlock with more slices than slots.
// Bytes out of a rank: 2(N-1)/N of the vector, half of it for one phase.
#include "algorithms/exchanges.hpp"
#include "algorithms/ring_schedule.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {

ScheduleOrReason ring(const Collective& collective, const Placement& placement,
                      const AlgorithmOptions& options) {
  if (placement.ranks() == 1) return empty_schedule("ring", collective, 1);
  if (has_root(collective.kind)) {
    ScheduleOrReason made = chain(collective, placement, options);
    if (auto* schedule = std::get_if<Schedule>(&made)) schedule->algorithm = "ring";
    return made;
  }
  const auto rings = static_cast<std::int32_t>(placement.node_rings.size());
  const std::int32_t channels = options.channels.value_or(channels_automatic(placement, rings));
  return exchange_around_rings("ring", collective, placement, options, channels, 1);
}

}  // namespace collsim::algorithms
