// Entries of the registry: rings and recursive exchanges.
#include "algorithms/exchanges.hpp"
#include "algorithms/registry.hpp"

namespace collsim::algorithms {

std::vector<AlgorithmInfo> entries_of_rings_and_exchanges() {
  const std::vector<CollectiveKind> reduces = {CollectiveKind::all_reduce};
  return {
      {"ring",
       "",
       "reduce-scatter and all-gather around a ring, one or more channels",
       "Patarasuk and Yuan, JPDC 69(2), 2009; NCCL src/device/all_reduce.h runRing",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       {},
       &ring},
  };
}

}  // namespace collsim::algorithms
