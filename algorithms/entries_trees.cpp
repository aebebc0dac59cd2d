// Entries of the registry: trees, direct exchanges and parameter servers.
#include "algorithms/registry.hpp"
#include "algorithms/trees.hpp"

namespace collsim::algorithms {

std::vector<AlgorithmInfo> entries_of_trees_and_direct() {
  const std::vector<CollectiveKind> reduces = {CollectiveKind::all_reduce};
  return {
      {"double_binary_tree",
       "tree",
       "two binary trees, each reduces and broadcasts half, pipelined in slices",
       "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009; NCCL src/graph/trees.cc",
       reduces,
       {"channels", "slices", "slots", "channel_bandwidth", "order"},
       true,
       {},
       &double_binary_tree},
      {"binomial_tree",
       "",
       "reduce to a root and broadcast along a binomial tree",
       "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005",
       reduces,
       {"slots", "channel_bandwidth", "root"},
       true,
       {},
       &binomial_tree},
      {"two_shot",
       "",
       "direct reduce-scatter and direct all-gather between all pairs",
       "TensorRT-LLM and FlashInfer two-shot all-reduce",
       reduces,
       {"slots", "channel_bandwidth"},
       true,
       {},
       &two_shot},
  };
}

}  // namespace collsim::algorithms
