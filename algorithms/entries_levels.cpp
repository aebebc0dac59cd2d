// Entries of the registry: levels of a cluster, and switches that reduce.
#include "algorithms/levels.hpp"
#include "algorithms/registry.hpp"

namespace collsim::algorithms {

std::vector<AlgorithmInfo> entries_of_levels_and_switches() {
  const std::vector<CollectiveKind> reduces = {CollectiveKind::all_reduce};
  return {
      {"cascade",
       "",
       "a reduce-scatter at every level of the cluster and the all-gathers back",
       "Cho et al., BlueConnect, MLSys 2019",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "levels"},
       true,
       {},
       &cascade},
      {"nvls",
       "",
       "all-reduce by the switches inside one node",
       "NVIDIA/nccl-tests pull request 239 (bytes a link carries)",
       reduces,
       {"channels", "slices"},
       true,
       {},
       &nvls},
      {"sharp",
       "",
       "all-reduce by the switches of the fabric, one tree a rail",
       "Graham et al., COM-HPC 2016 and ISC 2020",
       reduces,
       {"slices", "slots", "channel_bandwidth"},
       true,
       {},
       &sharp},
  };
}

}  // namespace collsim::algorithms
