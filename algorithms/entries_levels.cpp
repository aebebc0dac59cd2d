// Entries of the registry: levels of a cluster, and switches that reduce.
#include <utility>

#include "algorithms/levels.hpp"
#include "algorithms/registry.hpp"

namespace collsim::algorithms {

namespace {

using enum CollectiveKind;

std::vector<AlgorithmInfo> entries_of_levels() {
  const std::vector<CollectiveKind> halves = {all_reduce, reduce_scatter, all_gather};
  return {
      {"hierarchical",
       "",
       "inside the nodes, between them along rails or by leaders, and inside again",
       "Horovod's hierarchical all-reduce; UCC cl/hier; NCCL's PXN for all-to-all",
       {all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all, barrier},
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
  };
}

std::vector<AlgorithmInfo> entries_of_switches() {
  const std::vector<CollectiveKind> switched = {all_reduce, reduce_scatter, all_gather,
                                                broadcast,  reduce,         barrier};
  return {
      {"nvls",
       "",
       "the switches inside one node add and multicast",
       "NVIDIA/nccl-tests pull request 239 (bytes a link carries)",
       switched,
       {"channels", "slices"},
       true,
       {},
       &nvls},
      {"nvls_tree",
       "",
       "the switches inside the nodes, double binary trees between them",
       "NCCL src/device/all_reduce.h and src/graph/trees.cc; NVIDIA/nccl issue 1649",
       {all_reduce, barrier},
       {"slices", "slots", "channel_bandwidth"},
       false,
       {},
       &nvls_tree},
      {"collnet_direct",
       "",
       "to the GPU of each NIC, through the fabric's switches, and back, by direct messages",
       "NCCL src/transport/coll_net.cc and src/graph/connect.cc",
       switched,
       {"slices", "slots", "channel_bandwidth"},
       false,
       {},
       &collnet_direct},
      {"collnet_chain",
       "",
       "along a chain to the GPU of each NIC, through the fabric's switches, and back",
       "NCCL src/device/all_reduce.h",
       {all_reduce, barrier},
       {"slices", "slots", "channel_bandwidth"},
       false,
       {},
       &collnet_chain},
      {"sharp",
       "",
       "the switches of the fabric add and multicast, one tree a rail",
       "Graham et al., COM-HPC 2016 and ISC 2020",
       switched,
       {"slices", "slots", "channel_bandwidth"},
       true,
       {},
       &sharp},
  };
}

}  // namespace

std::vector<AlgorithmInfo> entries_of_levels_and_switches() {
  std::vector<AlgorithmInfo> entries = entries_of_levels();
  for (AlgorithmInfo& info : entries_of_switches()) entries.push_back(std::move(info));
  return entries;
}

}  // namespace collsim::algorithms
