// k-nomial tree: the binomial tree with k - 1 new ranks a holder and round, as in UCC
// (openucx/ucc, src/components/tl/ucp, knomial collectives with a radix).
//
// ceil(log_k N) rounds: fewer latencies than a binomial tree, more messages that share a port. With all of
// its own links a round takes latency + S/B. The tree itself is that of nomial.hpp.
#include "algorithms/nomial.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

constexpr std::int32_t radix_default = 4;

}  // namespace

ScheduleOrReason knomial_tree(const Collective& collective, const Placement& placement,
                              const AlgorithmOptions& options) {
  const std::int32_t radix = options.radix.value_or(radix_default);
  if (radix < 2) return Impossible{"radix is " + std::to_string(radix) + "; it must be at least 2"};
  return nomial_tree("knomial_tree", radix, collective, placement, options);
}

}  // namespace collsim::algorithms
