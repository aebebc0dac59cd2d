// Binomial tree (Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005; far-first order of the sends): broadcast,
// reduce, scatter and gather, and an all-reduce as a reduce and a broadcast, the whole vector at a time.
//
// ceil(log2 N) rounds. A broadcast over one port a rank takes max over v of S/B * (ceil(log2 N) - trailing
// zeros of v) + latency * (ones of v). The tree itself is that of nomial.hpp with radix 2.
#include "algorithms/nomial.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {

ScheduleOrReason binomial_tree(const Collective& collective, const Placement& placement,
                               const AlgorithmOptions& options) {
  return nomial_tree("binomial_tree", 2, collective, placement, options);
}

}  // namespace collsim::algorithms
