// Entries of the registry: levels of a cluster, and switches that reduce.
#include "algorithms/levels.hpp"
#include "algorithms/registry.hpp"

namespace collsim::algorithms {

std::vector<AlgorithmInfo> entries_of_levels_and_switches() {
  using enum CollectiveKind;
  const std::vector<CollectiveKind> reduces = {all_reduce};
  const std::vector<CollectiveKind> halves = {all_reduce, reduce_scatter, all_gather};
  return {
      {"hierarchical",
       "",
       "inside the nodes, between them along rails or by leaders, and inside again",
       "Horovod's hierarchical all-reduce; UCC cl/hier; NCCL's PXN for all-to-all",
       {all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all},
       {"channels", "slices", "slots", "channel_bandwidth", "form"},
       false,
       {"rails", "leader"},
       &hierarchical},
      {"cascade",
       "",
       "a reduce-scatter at every level of the cluster and the all-gathers back",
       "Cho et al., BlueConnect, MLSys 2019; Rashidi et al., Themis, ISCA 2022",
       halves,
       {"channels", "slices", "slots", "channel_bandwidth", "levels", "level_bandwidths", "form"},
       true,
       {"fixed", "reversed", "themis"},
       &cascade},
      {"torus_bucket",
       "",
       "copies of the cascade along every dimension of a torus, both ways round",
       "Jain and Sabharwal, ICS 2010",
       halves,
       {"channels", "slices", "slots", "channel_bandwidth", "levels"},
       false,
       {},
       &torus_bucket},
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
