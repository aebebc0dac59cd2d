// Entries of the registry: trees, direct exchanges and parameter servers.
#include "algorithms/registry.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {
namespace {

using Kind = CollectiveKind;

std::vector<AlgorithmInfo> entries_of_trees() {
  const std::vector<Kind> both_ways = {Kind::all_reduce, Kind::broadcast, Kind::reduce};
  const std::vector<Kind> whole_and_parts = {Kind::all_reduce, Kind::broadcast, Kind::reduce,
                                             Kind::scatter,    Kind::gather,    Kind::barrier};
  return {
      {"double_binary_tree",
       "tree",
       "two binary trees, each reduces and broadcasts half, pipelined in slices",
       "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; NCCL src/graph/trees.cc",
       {Kind::all_reduce, Kind::broadcast, Kind::reduce, Kind::barrier},
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       {},
       &double_binary_tree},
      {"binomial_tree",
       "",
       "reduce to a root and broadcast along a binomial tree",
       "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005",
       whole_and_parts,
       {"channel_bandwidth", "root"},
       true,
       {},
       &binomial_tree,
       true},
      {"knomial_tree",
       "",
       "a binomial tree of any radix: fewer rounds, more messages a rank and round",
       "UCC, src/components/tl/ucp",
       whole_and_parts,
       {"channel_bandwidth", "root", "radix"},
       false,
       {},
       &knomial_tree,
       true},
      {"kary_tree",
       "",
       "a complete tree of any radix, pipelined in slices",
       "Open MPI, ompi/mca/coll/base",
       both_ways,
       {"slices", "slots", "channel_bandwidth", "root", "radix"},
       false,
       {},
       &kary_tree,
       true},
      {"chain",
       "",
       "a pipeline from rank to rank, in slices, one or more channels",
       "NCCL src/device/broadcast.h and reduce.h",
       {Kind::broadcast, Kind::reduce, Kind::all_reduce},
       {"channels", "slices", "slots", "channel_bandwidth", "order", "root"},
       false,
       {},
       &chain},
      {"van_de_geijn",
       "",
       "broadcast as scatter and all-gather, reduce as reduce-scatter and gather",
       "Barnett et al., SHPCC 1994; Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005",
       {Kind::broadcast, Kind::reduce},
       {"slots", "channel_bandwidth"},
       false,
       {"ring", "doubling"},
       &van_de_geijn,
       true},
  };
}

std::vector<AlgorithmInfo> entries_of_direct() {
  return {
      {"one_shot",
       "",
       "everyone sends all that it has to all others at once",
       "TensorRT-LLM and FlashInfer one-shot all-reduce",
       {Kind::all_reduce, Kind::all_gather, Kind::barrier},
       {"channel_bandwidth"},
       false,
       {},
       &one_shot,
       true},
      {"two_shot",
       "",
       "direct reduce-scatter and direct all-gather between all pairs",
       "TensorRT-LLM and FlashInfer two-shot all-reduce",
       {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather},
       {"channel_bandwidth"},
       true,
       {},
       &two_shot,
       true},
      {"direct",
       "",
       "every message straight to where it is wanted, all at once",
       "NVIDIA/nccl-tests src/alltoall.cu, sendrecv.cu, scatter.cu, gather.cu; Open MPI, ompi/mca/coll/basic",
       {Kind::all_to_all, Kind::send_recv, Kind::scatter, Kind::gather, Kind::broadcast, Kind::reduce},
       {"channel_bandwidth"},
       false,
       {},
       &direct,
       true},
      {"parameter_server",
       "",
       "all push to servers among the ranks, which add up and send the sums back",
       "Li et al., OSDI 2014",
       {Kind::all_reduce},
       {"channel_bandwidth", "servers"},
       false,
       {"central", "sharded"},
       &parameter_server,
       true},
  };
}

}  // namespace

std::vector<AlgorithmInfo> entries_of_trees_and_direct() {
  std::vector<AlgorithmInfo> entries = entries_of_trees();
  for (AlgorithmInfo& info : entries_of_direct()) entries.push_back(std::move(info));
  return entries;
}

}  // namespace collsim::algorithms
