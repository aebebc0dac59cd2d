#include "sim/model/bounds.hpp"

#include <limits>

namespace collsim {
namespace {

// work / capacity seconds in picoseconds, rounded down. `work` is in bytes, below 2^64 * ranks.
Duration time_at(Int128 work, Int128 capacity) {
  // work * 10^12 can pass 2^127 only above 10^26 bytes: split off whole seconds first, to be safe anyway.
  const Int128 seconds = work / capacity;
  const Int128 rest = (work % capacity) * picoseconds_per_second / capacity;
  const Int128 total = seconds * picoseconds_per_second + rest;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  return Duration::picoseconds(total > largest ? largest : static_cast<std::int64_t>(total));
}

// Nothing reduces on the way from one group to another unless switches outside all groups do. The switches
// of a node lie inside every group but the single rank.
bool reduces_outside(const Placement& placement, const Cut& cut) {
  return placement.fabric_reduction.enabled || (placement.node_reduction.enabled && cut.name == "rank");
}

Duration cut_time(const Placement& placement, const Cut& cut, Int128 bytes) {
  // The contribution of the worst-connected group must leave it once, however it is combined elsewhere.
  const Duration alone = time_at(bytes, cut.smallest_exit);
  if (reduces_outside(placement, cut)) return alone;
  const Duration together = time_at(2 * (cut.groups - 1) * bytes, cut.total_exit);
  return together > alone ? together : alone;
}

}  // namespace

LowerBound lower_bound(const Collective& collective, const Topology& topology) {
  const Int128 bytes = collective.bytes.count();
  if (topology.ranks() == 1 || bytes == 0) return {Duration(), "nothing to move"};
  LowerBound bound{topology.latency_max(), "latency"};
  for (const Cut& cut : topology.cuts()) {
    const Duration time = cut_time(topology.placement(), cut, bytes);
    if (time > bound.time) bound = {time, cut.name};
  }
  return bound;
}

}  // namespace collsim
