// Recursive doubling: in round j a rank exchanges all that it has with the rank that differs in bit j
// (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; MPICH allreduce_intra_recursive_doubling). With a radix k
// it is recursive multiplying: k - 1 peers a round (Open UCX UCC, tl/ucp allreduce_knomial.c).
//
// All-reduce  the whole vector in each of log_k N rounds (full_vector_exchange.hpp); a barrier is an
//             all-reduce of nothing.
// All-gather  what a rank has so far (butterfly_exchange.hpp).
// Form        fold: where N is no power, the extra ranks are the even ones below 2e (MPICH). proxy: the odd
//             ones (UCC). Parts are always folded as butterfly.hpp says.
// Streams     One receives and adds; one for each message to a peer.
// Time        on a port a rank: log_k N (latency + (k-1) S/B); with a link a pair S/B a round.
#include "algorithms/butterfly_exchange.hpp"
#include "algorithms/exchanges.hpp"
#include "algorithms/full_vector_exchange.hpp"

namespace collsim::algorithms {

ScheduleOrReason recursive_doubling(const Collective& collective, const Placement& placement,
                                    const AlgorithmOptions& options) {
  if (auto wrong = check_radix(options)) return *wrong;
  const std::int32_t ranks = placement.ranks();
  if (ranks == 1) return empty_schedule("recursive_doubling", collective, 1);
  const bool gathers = collective.kind == CollectiveKind::all_gather;
  const FoldKind whole = options.form == "proxy" ? FoldKind::odd_extras : FoldKind::even_extras;
  // The all-gather goes the rounds of a reduce-scatter back, so the nearest peers come first there, too.
  const auto butterfly = std::make_shared<const Butterfly>(
      ranks, options.radix.value_or(2), gathers ? DigitOrder::descending : DigitOrder::ascending,
      gathers ? FoldKind::positions : whole);
  const ButterflyPlan plan{"recursive_doubling", {butterfly}, true};
  return gathers ? exchange_in_butterflies(plan, collective, placement, options)
                 : exchange_full_vectors(plan, collective, placement, options);
}

}  // namespace collsim::algorithms
