// Rabenseifner: recursive halving and doubling (Rabenseifner, ICCS 2004; Thakur, Rabenseifner, Gropp, IJHPCA
// 19(1), 2005; MPICH allreduce_intra_reduce_scatter_allgather), and its halves: the reduce-scatter by
// recursive halving and the all-gather by recursive doubling. With a radix k it is UCC's
// scatter-reduce-all-gather (Open UCX UCC, tl/ucp allreduce_sra_knomial.c).
//
// Round j of log2 N: a rank sends half of what it is responsible for to the rank that differs in one bit and
// adds the other half of that rank's; the all-gather goes back the same way (butterfly_exchange.hpp).
// Form        doubling: distances 1, 2, 4, .. on the way in, so that the largest messages go to the nearest
//             (MPICH's all-reduce). halving: the farthest first; parts are in the order of ranks (MPICH's
//             reduce-scatter and all-gather).
// Time        on a port a rank: 2 log2 N latencies + 2(N-1)/N S/B, for each half one half. With extras, one
//             message of S more before and after.
#include "algorithms/butterfly_exchange.hpp"
#include "algorithms/exchanges.hpp"

namespace collsim::algorithms {

ScheduleOrReason rabenseifner(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options) {
  if (auto wrong = check_radix(options)) return *wrong;
  if (placement.ranks() == 1) return empty_schedule("rabenseifner", collective, 1);
  const DigitOrder order = options.form == "halving" ? DigitOrder::descending : DigitOrder::ascending;
  const FoldKind fold = in_parts(collective.kind) ? FoldKind::positions : FoldKind::even_extras;
  const auto butterfly =
      std::make_shared<const Butterfly>(placement.ranks(), options.radix.value_or(2), order, fold);
  return exchange_in_butterflies({"rabenseifner", {butterfly}, false}, collective, placement, options);
}

}  // namespace collsim::algorithms
