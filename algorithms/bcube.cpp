// BCube: Gloo's all-reduce over base^m ranks (gloo/allreduce_bcube.h), in groups of `base` (here: radix).
//
// Step i = 0 .. m-1: the ranks that differ in digit i only, base^i apart, exchange parts: each adds up one of
// `base` parts of what it was responsible for. The steps back gather. Gloo demands base^m ranks; here the
// largest c * base^m with c < base take part and each other rank is stood in for by a neighbour
// (butterfly.hpp).
// Time        on a port a rank: 2 m latencies (one a round, its messages back to back) + 2(N-1)/N S/B.
#include "algorithms/butterfly_exchange.hpp"
#include "algorithms/exchanges.hpp"

namespace collsim::algorithms {

ScheduleOrReason bcube(const Collective& collective, const Placement& placement,
                       const AlgorithmOptions& options) {
  if (auto wrong = check_radix(options)) return *wrong;
  if (placement.ranks() == 1) return empty_schedule("bcube", collective, 1);
  const auto butterfly = std::make_shared<const Butterfly>(placement.ranks(), options.radix.value_or(2),
                                                           DigitOrder::ascending, FoldKind::even_extras);
  return exchange_in_butterflies({"bcube", {butterfly}, false}, collective, placement, options);
}

}  // namespace collsim::algorithms
